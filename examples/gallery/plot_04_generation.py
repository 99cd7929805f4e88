"""
Are generated rows any good?
============================

Samples can look better than they are. Two checks: a classifier of real
images has to recognise them, and a classifier that has learnt from them has to recognise real ones.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVC
from sk_equivae import EquiVAEClassifier, Objective, SamplesDisplay
from sk_equivae.datasets import load_few_digits

X, y, X_test, y_test = load_few_digits(n_per_class=None)
model = EquiVAEClassifier(
    max_epochs=8, objective=Objective(kl_weight=0.2), random_state=0
).fit(X, y)  # fmt: skip

# %%
SamplesDisplay.from_estimator(model, X_test, y_test, n_samples=4, random_state=0)
plt.show()

# %%
# The judge is trained on real images.

judge = SVC().fit(X.reshape(len(X), -1), y)
made, labels = model.sample(1000, y=np.arange(1000) % 10, random_state=0)
print(f"real test images recognised: {judge.score(X_test.reshape(-1, 64), y_test):.3f}")
print(f"generated images recognised: {judge.score(made.reshape(-1, 64), labels):.3f}")

# %%
# The pupil is trained on generated images alone.

pupil = SVC().fit(made.reshape(-1, 64), labels)
print(f"taught by generated images: {pupil.score(X_test.reshape(-1, 64), y_test):.3f}")

# %%
# Variety: the standard deviation of the pixels within a class, of generated images relative to
# real ones. Below 1 they are more alike than real ones are; a smaller ``Objective(kl_weight=...)``
# raises it.

ratios = [made[labels == c].std(axis=0).mean() / X[y == c].std(axis=0).mean() for c in range(10)]
print(f"variety of generated images: {np.mean(ratios):.2f}")
