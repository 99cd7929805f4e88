"""
Which rows should be labelled next?
===================================

Labels cost time, so spend it where the model is unsure. After 20 labels we ask for 20 more: of
random rows, of the rows whose two best classes are nearly as probable, or of unsure rows that
differ from each other. The model judges the rows *before* it knows their labels.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sk_equivae import EquiVAEClassifier
from sk_equivae.datasets import load_few_digits, mask_labels

X, truth, X_test, y_test = load_few_digits(n_per_class=None)
y = mask_labels(truth, n_per_class=2, random_state=0)
model = EquiVAEClassifier(max_epochs=5, random_state=0).fit(X, y)
print(f"20 labels: accuracy {model.score(X_test, y_test):.3f}")

# %%
# Of the rows without a label, take the half with the smaller margin between the two best classes,
# divide it into 20 clusters of r, and ask for the row in the middle of each:

p = np.sort(model.predict_proba(X), axis=1)
margin = np.where(y >= 0, np.inf, p[:, -1] - p[:, -2])
order = margin.argsort()
half = order[: np.sum(y < 0) // 2]
r = model.transform(X[half])
distances = KMeans(20, n_init=3, random_state=0).fit_transform(r)
ways = {
    "random": np.random.RandomState(0).choice(np.flatnonzero(y < 0), 20, replace=False),
    "least sure": order[:20],
    "unsure, and different": half[distances.argmin(axis=0)],
}
for name, rows in ways.items():
    more = y.copy()
    more[rows] = truth[rows]
    again = EquiVAEClassifier(max_epochs=5, random_state=0).fit(X, more)
    print(f"20 more labels, {name}: accuracy {again.score(X_test, y_test):.3f}")

# %%
# This is one draw of 20 labels; another one can end differently by some points. Below is what was
# asked for. The least sure rows of all are much alike, and say the same thing many times.

fig, axes = plt.subplots(4, 10, figsize=(8, 3.6), layout="constrained")
rows = [*ways["least sure"], *ways["unsure, and different"]]
for ax, row in zip(axes.flat, rows, strict=True):
    ax.imshow(X[row], cmap="gray_r")
    ax.set_axis_off()
fig.suptitle("Above: the least sure. Below: unsure, and different.")
plt.show()
