"""
Which rows should be labelled next?
===================================

Labels cost time, so spend it where the model is unsure. After 20 labels we ask for 20 more: of
random rows, or of those whose two best classes are nearly as probable. The model judges the rows
*before* it knows their labels.
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

p = np.sort(model.predict_proba(X), axis=1)
margin = np.where(y >= 0, np.inf, p[:, -1] - p[:, -2])
unsure = margin.argsort()[:20]
random = np.random.RandomState(0).choice(np.flatnonzero(y < 0), 20, replace=False)
for name, rows in {"random rows": random, "unsure rows": unsure}.items():
    more = y.copy()
    more[rows] = truth[rows]
    again = EquiVAEClassifier(max_epochs=5, random_state=0).fit(X, more)
    print(f"20 more labels, {name}: accuracy {again.score(X_test, y_test):.3f}")

# %%
# What it asked for:

fig, axes = plt.subplots(2, 10, figsize=(8, 2), layout="constrained")
for ax, row in zip(axes.flat, unsure, strict=True):
    ax.imshow(X[row], cmap="gray_r")
    ax.set_axis_off()
plt.show()
