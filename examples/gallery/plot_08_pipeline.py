"""
How does it work in a pipeline?
===============================

As a transformer before any classifier. The transformer learns from all rows; the classifier after
it must see the labelled rows only, which ``LabeledOnly`` takes care of.
"""

import matplotlib.pyplot as plt
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sk_equivae import EquiVAETransformer
from sk_equivae.datasets import load_few_digits
from sk_equivae.model_selection import LabeledOnly

X, y, X_test, y_test = load_few_digits(n_per_class=10)
labeled = y >= 0
transformer = EquiVAETransformer(max_epochs=6, random_state=0)
pipeline = make_pipeline(transformer, LabeledOnly(LogisticRegression())).fit(X, y)
on_pixels = LogisticRegression(max_iter=1000).fit(X[labeled].reshape(100, -1), y[labeled])
scores = {
    "logistic regression on pixels": on_pixels.score(X_test.reshape(540, -1), y_test),
    "logistic regression on r": pipeline.score(X_test, y_test),
}

# %%
# The transformer can be taken out, and r can be used for anything:

r, r_test = pipeline[0].transform(X), pipeline[0].transform(X_test)
neighbors = KNeighborsClassifier(3).fit(r[labeled], y[labeled])
scores["nearest neighbours on r"] = neighbors.score(r_test, y_test)
for name, score in scores.items():
    print(f"{name:30} {score:.3f}")

# %%
fig, ax = plt.subplots(figsize=(6, 2.2), layout="constrained")
bars = ax.barh(list(scores), list(scores.values()), color=["#94a4a2", "#3f90da", "#3f90da"])
ax.bar_label(bars, fmt="%.3f", label_type="center", color="white")
ax.set(xlim=(0.8, 1), xlabel="test accuracy with 100 labels")
ax.invert_yaxis()
plt.show()

# %%
# The pipeline as scikit-learn shows it:

pipeline
