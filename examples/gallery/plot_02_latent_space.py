"""
What do r and v look like?
==========================

The invariant representation r tells classes apart, and the equivariant one, v, describes what
varies within a class. Here v has only two dimensions, so that all of it can be drawn.
"""

import matplotlib.pyplot as plt
from sk_equivae import (
    EquiVAEClassifier,
    LatentGridDisplay,
    LatentSpaceDisplay,
    LatentUsageDisplay,
    Objective,
)
from sk_equivae.datasets import load_few_digits

X, y, X_test, y_test = load_few_digits(n_per_class=10)
model = EquiVAEClassifier(
    latent_dim=(16, 2), max_epochs=6, objective=Objective(kl_weight=0.2), random_state=0
).fit(X, y)

# %%
# Rows that the model has not seen, coloured by their true class. Unlabelled rows would be grey
# rings. With many classes the colours repeat with other markers.

LatentSpaceDisplay.from_estimator(model, X_test, y_test)
plt.show()

# %%
# A walk through v at a single class, within two standard deviations of what is usual there: the
# class stays, the handwriting changes.

LatentGridDisplay.from_estimator(model, label=2, n_steps=7)
plt.show()

# %%
# A walk through r, from class to class. The names stand where the prototypes are.

LatentGridDisplay.from_estimator(model, latent="invariant", n_steps=9)
plt.show()

# %%
# How much v tells about a row, in nats. A dimension below the dashed line is of no use. If all are
# below, see :doc:`/guide/troubleshooting`.

LatentUsageDisplay.from_estimator(model, X_test)
plt.show()
