"""
Which rows does the model not know?
===================================

``score_samples`` is a bound on log p(x): how well the model can explain a row by any of its
classes. Rows of another kind get low scores, even where ``predict_proba`` is sure of itself.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score
from sk_equivae import EquiVAEClassifier
from sk_equivae.datasets import load_few_digits

X, y, X_test, y_test = load_few_digits(n_per_class=10)
model = EquiVAEClassifier(max_epochs=5, random_state=0).fit(X, y)

# %%
# Three kinds of unfamiliar rows: mirrored digits, digits with rows and columns swapped, and digits
# with shuffled pixels.

rng = np.random.RandomState(0)
pixels = rng.permutation(64)
strange = {
    "digits": X_test,
    "mirrored": X_test[:, :, ::-1],
    "transposed": X_test.transpose(0, 2, 1),
    "shuffled pixels": X_test.reshape(-1, 64)[:, pixels].reshape(-1, 8, 8),
}
scores = {name: model.score_samples(rows, random_state=0) for name, rows in strange.items()}
for name, rows in strange.items():
    confidence = model.predict_proba(rows).max(axis=1)
    known = np.repeat([1, 0], len(X_test))
    auc = roc_auc_score(known, np.concatenate([scores["digits"], scores[name]]))
    print(f"{name:20} mean confidence {confidence.mean():.2f}   told apart by score: {auc:.3f}")

# %%
# "Told apart" is the area under the ROC curve: 0.5 is chance, 1 is perfect.

fig, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
bins = np.linspace(*np.percentile(np.concatenate([*scores.values()]), [0.5, 100]), 50)
for name, values in scores.items():
    ax.hist(values, bins, histtype="step", linewidth=2, label=name)
ax.set(xlabel="bound on log p(x), nats", ylabel="rows", title="Low scores are unfamiliar rows")
ax.legend(loc="upper left")
plt.show()

# %%
# The real digits with the lowest scores:

lowest = scores["digits"].argsort()[:8]
fig, axes = plt.subplots(1, 8, figsize=(8, 1.4), layout="constrained")
for ax, row in zip(axes, lowest, strict=True):
    ax.imshow(X_test[row], cmap="gray_r")
    ax.set_title(f"a {y_test[row]}")
    ax.set_axis_off()
plt.show()
