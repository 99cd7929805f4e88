"""
What about tables with missing values?
======================================

Rows of a table need no preprocessing. Here a third of the values of the wines is removed, and most
labels. The model classifies, fills in what is missing, and generates new wines.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sk_equivae import EquiVAEClassifier, EquiVAEImputer, SamplesDisplay
from sk_equivae.datasets import mask_labels

whole, kinds = load_wine(return_X_y=True, as_frame=True)
rng = np.random.RandomState(0)
frame = whole.mask(rng.uniform(size=whole.shape) < 1 / 3)
X, X_test, y, y_test = train_test_split(frame, kinds, stratify=kinds, random_state=0)
few = mask_labels(y, n_per_class=5, random_state=0)

model = EquiVAEClassifier(random_state=0).fit(X, few)
print(f"15 labels, a third of the values missing: accuracy {model.score(X_test, y_test):.3f}")

# %%
# Before training, labels were hidden from several classifiers, and each counts as much as it has
# earned by predicting them:

for name, row in model.evidence_.items():
    print(f"{name:20} weight {row['weight']:.2f}, accuracy {row['accuracy']:.2f}")

# %%
# Real wines beside generated ones, in their own units. A dash is a missing value.

SamplesDisplay.from_estimator(model, X_test, y_test, n_samples=3, random_state=0)
plt.show()

# %%
# Missing values filled in, beside what they were. ``EquiVAEImputer`` needs no labels.

imputer = EquiVAEImputer(max_epochs=60, random_state=0)
filled = imputer.fit_transform(frame)
gaps = frame.isna().to_numpy()
spread = whole.std().to_numpy()
error = (np.abs(filled.to_numpy() - whole.to_numpy()) / spread)[gaps].mean()
by_mean = (np.abs(whole.mean().to_numpy() - whole.to_numpy()) / spread)[gaps].mean()
print(f"mean error in standard deviations: {error:.2f}; by the mean of the column: {by_mean:.2f}")

fig, ax = plt.subplots(figsize=(4.2, 4), layout="constrained")
column = whole.columns.get_loc("flavanoids")
rows = gaps[:, column]
ax.scatter(whole["flavanoids"][rows], filled["flavanoids"][rows], c=kinds[rows], cmap="viridis")
ax.axline((2, 2), slope=1, color="grey", linestyle="--")
ax.set(xlabel="true", ylabel="filled in", title="Flavanoids that were removed")
plt.show()
