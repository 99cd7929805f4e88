"""
How are parameters chosen with few labels?
==========================================

By cross-validation that tests on labelled rows only and trains on all unlabelled ones.
scikit-learn's own folds would test on rows that have no label. See :doc:`/choosing` for the whole
story.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV
from sk_equivae import EquiVAEClassifier
from sk_equivae.datasets import mask_labels
from sk_equivae.model_selection import SemiSupervisedKFold, labeled_scorer

X, kinds = load_wine(return_X_y=True)
y = mask_labels(kinds, n_per_class=8, random_state=0)
search = GridSearchCV(
    EquiVAEClassifier(max_epochs=30, random_state=0),
    {"latent_dim": [4, 16], "objective__label_weight": [0.3, 3.0]},
    cv=SemiSupervisedKFold(3),
    scoring=labeled_scorer("neg_log_loss"),
).fit(X, y)
print(search.best_params_)
unlabeled = y < 0
accuracy = np.mean(search.predict(X[unlabeled]) == kinds[unlabeled])
print(f"accuracy on the rows without a label: {accuracy:.3f}")

# %%
# Scores of so few labels are uncertain: look at their spread before you trust a difference.

means, errors = (search.cv_results_[f"{name}_test_score"] for name in ("mean", "std"))
names = [", ".join(f"{k.split('__')[-1]}={v}" for k, v in p.items())
         for p in search.cv_results_["params"]]  # fmt: skip
fig, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
ax.errorbar(means, range(4), xerr=errors, fmt="o", capsize=3)
ax.set_yticks(range(4), names)
ax.set(xlabel="negative log-loss of held-out labels", ylim=(-0.5, 3.5))
plt.show()
