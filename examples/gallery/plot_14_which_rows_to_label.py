"""
Which rows should be labelled next?
===================================

Labels cost time, so spend it where the model is unsure. After 20 labels we ask for 20 more: of
random rows, of the rows whose two best classes are nearly as probable, or of two such rows for each
predicted class. The model judges the rows *before* it knows their labels.
"""

import matplotlib.pyplot as plt
import numpy as np
from sk_equivae import EquiVAEClassifier
from sk_equivae.datasets import load_few_digits, mask_labels

X, truth, X_test, y_test = load_few_digits(n_per_class=None)
y = mask_labels(truth, n_per_class=2, random_state=0)
model = EquiVAEClassifier(max_epochs=5, random_state=0).fit(X, y)
print(f"20 labels: accuracy {model.score(X_test, y_test):.3f}")

# %%
# The margin between the two best classes:

p = model.predict_proba(X)
second, first = np.sort(p, axis=1)[:, -2:].T
margin = np.where(y >= 0, np.inf, first - second)
order, predicted = margin.argsort(), p.argmax(axis=1)
of_each = np.concatenate([order[predicted[order] == code][:2] for code in range(10)])
ways = {
    "random": np.random.RandomState(0).choice(np.flatnonzero(y < 0), 20, replace=False),
    "least sure": order[:20],
    "least sure of each class": of_each,
}
for name, rows in ways.items():
    more = y.copy()
    more[rows] = truth[rows]
    again = EquiVAEClassifier(max_epochs=5, random_state=0).fit(X, more)
    print(f"20 more labels, {name}: accuracy {again.score(X_test, y_test):.3f}")

# %%
# The least sure rows of all are much alike, and say the same thing many times. Take some of each
# class. Below is what was asked for, with the predicted class:

fig, axes = plt.subplots(4, 10, figsize=(8, 4), layout="constrained")
for ax, row in zip(axes.flat, [*ways["least sure"], *of_each], strict=True):
    ax.imshow(X[row], cmap="gray_r")
    ax.set_title(f"{predicted[row]}?", fontsize="small")
    ax.set_axis_off()
fig.suptitle("Above: the least sure. Below: the least sure of each class.")
plt.show()
