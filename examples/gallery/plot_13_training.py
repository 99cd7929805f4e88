"""
Is training finished?
=====================

The bound and its two parts, and the accuracy, over the epochs. With many labels, early stopping
sets some aside and ends training when they no longer improve; dashed lines are of these rows.
"""

import matplotlib.pyplot as plt
from sk_equivae import EquiVAEClassifier, TrainingHistoryDisplay
from sk_equivae.datasets import load_few_digits

X, y, X_test, y_test = load_few_digits(n_per_class=None)
model = EquiVAEClassifier(
    max_epochs=20, early_stopping=True, n_iter_no_change=3, random_state=0
).fit(X, y)  # fmt: skip
print(f"{model.n_iter_} epochs, accuracy {model.score(X_test, y_test):.3f}")

# %%
TrainingHistoryDisplay.from_estimator(model)
plt.show()

# %%
# ``history_`` has every term by name:

for name, value in model.history_[-1].items():
    if name.startswith("train_") and not isinstance(value, list):
        print(f"{name:22} {value:10.3f}")
