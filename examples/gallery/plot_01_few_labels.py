"""
How many labels are enough?
===========================

Test errors on the digits with 3 and 10 labels of each digit, and all other images without a label,
beside two estimators of scikit-learn: one that uses the unlabelled images too, and one that does
not. The model is trained for a third of its usual time here; the
:doc:`results </generated/results>` are those of whole trainings.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import LabelSpreading
from sk_equivae import EquiVAEClassifier
from sk_equivae.datasets import load_few_digits

names = ["EquiVAE", "LabelSpreading", "logistic regression"]
numbers = [3, 10]
errors = np.zeros((3, 2))
for place, n_per_class in enumerate(numbers):
    X, y, X_test, y_test = load_few_digits(n_per_class)
    flat, flat_test = X.reshape(len(X), -1), X_test.reshape(len(X_test), -1)
    labeled = y >= 0
    model = EquiVAEClassifier(max_epochs=5, random_state=0).fit(X, y)
    spreading = LabelSpreading(kernel="knn", n_neighbors=7).fit(flat, y)
    plain = LogisticRegression(max_iter=1000).fit(flat[labeled], y[labeled])
    scores = model.score(X_test, y_test), spreading.score(flat_test, y_test)
    errors[:, place] = 100 * (1 - np.array([*scores, plain.score(flat_test, y_test)]))

for name, row in zip(names, errors, strict=True):
    print(f"{name:20}   30 labels: {row[0]:5.1f}%   100 labels: {row[1]:5.1f}%")

# %%
fig, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
for i, (name, row) in enumerate(zip(names, errors, strict=True)):
    ax.bar(np.arange(2) + 0.27 * (i - 1), row, width=0.25, label=name)
ax.set_xticks(range(2), [f"{10 * n} labels" for n in numbers])
ax.set(ylabel="test error, %", title=f"{len(X)} digits, few of them labelled")
ax.legend()
plt.show()
