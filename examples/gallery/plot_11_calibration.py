"""
Can the probabilities be believed?
==================================

Of the rows that get a probability of 0.8, eight in ten should be right. With a model from few
labels the three rules of ``predict_with`` differ in this, though they share one training.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.metrics import log_loss
from sk_equivae import EquiVAEClassifier
from sk_equivae.datasets import load_few_digits

X, y, X_test, y_test = load_few_digits(n_per_class=3, test_size=0.5)
model = EquiVAEClassifier(max_epochs=6, random_state=0).fit(X, y)

fig, ax = plt.subplots(figsize=(4.6, 4.2), layout="constrained")
ax.plot([0, 1], [0, 1], color="grey", linestyle="--")
for rule in ("prototype", "posterior", "likelihood"):
    p = model.set_params(predict_with=rule).predict_proba(X_test)
    right = model.classes_[p.argmax(axis=1)] == y_test
    share, confidence = calibration_curve(right, p.max(axis=1), n_bins=8, strategy="quantile")
    ax.plot(confidence, share, "o-", label=rule)
    loss = log_loss(y_test, np.clip(p, 1e-12, 1))
    print(f"{rule:10}  accuracy {right.mean():.3f}   log-loss {loss:.3f}   "
          f"mean confidence {p.max(axis=1).mean():.3f}")  # fmt: skip
ax.set(xlabel="confidence", ylabel="share that is right", title="30 labels")
ax.legend(title="predict_with")
plt.show()

# %%
# Below the dashed line a rule is too sure of itself. Without the temperatures that ``fit`` learns,
# "likelihood" would be far below it: all pixels of a row speak for the same class, and the model
# takes them for independent witnesses.
