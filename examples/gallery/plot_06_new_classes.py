"""
Can classes be added after training?
====================================

A prototype is the mean of a few rows, so ``add_classes`` needs five rows of a new class and no
training. The networks have never seen it, so do not expect the accuracy of the classes that they
were trained for.
"""

import matplotlib.pyplot as plt
import numpy as np
from sk_equivae import EquiVAEClassifier, LatentSpaceDisplay
from sk_equivae.datasets import load_few_digits

X, y, X_test, y_test = load_few_digits(n_per_class=None)
old = y < 8
model = EquiVAEClassifier(max_epochs=6, random_state=0).fit(X[old], y[old])
known = y_test < 8
print(f"digits 0 to 7: {model.score(X_test[known], y_test[known]):.3f}")

# %%
# Five eights and five nines turn up:

few = np.concatenate([np.flatnonzero(y == digit)[:5] for digit in (8, 9)])
model.add_classes(X[few], y[few])
print("classes:", model.classes_)
predicted = model.predict(X_test)
for name, rows in {"digits 0 to 7": known, "eights and nines": ~known}.items():
    print(f"{name}: {np.mean(predicted[rows] == y_test[rows]):.3f}")

# %%
LatentSpaceDisplay.from_estimator(model, X_test, y_test)
plt.show()

# %%
# When more rows of the new classes have come, train again with all of them.
