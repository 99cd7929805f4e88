"""
Start
=====

Of 1257 images of handwritten digits, 100 have a label: ten of each digit. What can be learnt from
that? This page trains a model, and shows what it knows. It runs in about half a minute, and is a
notebook too: see the end of the page.

Install the library with its pictures first: ``pip install ".[plot]"``.
"""

# %%
# Data with few labels
# --------------------
#
# Labels are those of scikit-learn, with -1 for rows without one. X may be an array of images, a
# table, a DataFrame, or a folder of images read by :func:`sk_equivae.datasets.load_image_folder`.

from sk_equivae import EquiVAEClassifier
from sk_equivae.datasets import load_few_digits

X, y, X_test, y_test = load_few_digits(n_per_class=10)
print(f"{len(X)} images of {X.shape[1:]} pixels, {(y >= 0).sum()} with a label")

# %%
# Train and classify
# ------------------
#
# The defaults choose the rest: networks for images, the number of epochs, and how to learn from the
# rows without a label. ``random_state`` makes the result reproducible.

model = EquiVAEClassifier(random_state=0).fit(X, y)
accuracy = model.score(X_test, y_test)
print(f"accuracy on {len(X_test)} other images: {accuracy:.3f}")

# %%
# A plain classifier of the hundred labels, to compare:

from sklearn.linear_model import LogisticRegression

labeled = y >= 0
plain = LogisticRegression(max_iter=1000).fit(X[labeled].reshape(100, -1), y[labeled])
print(f"logistic regression on pixels: {plain.score(X_test.reshape(540, -1), y_test):.3f}")

# %%
# What it has learnt
# ------------------
#
# Every row gets two representations. *r* is what its class has in common: rows of a class lie
# together. *v* is how a row differs from others of its class: there, classes mix. The names of the
# classes stand at their *prototypes*.

import matplotlib.pyplot as plt
from sk_equivae import LatentSpaceDisplay

LatentSpaceDisplay.from_estimator(model, X_test, y_test)
plt.show()

# %%
# ``transform`` returns r for any other estimator, ``predict_proba`` the probabilities of the
# classes:

r = model.transform(X_test)
p = model.predict_proba(X_test[:1])
print(r.shape, p.round(2))

# %%
# Make new rows
# -------------
#
# The model generates rows of a class, here below real ones:

from sk_equivae import SamplesDisplay

SamplesDisplay.from_estimator(model, X_test, y_test, n_samples=3, random_state=0)
plt.show()

# %%
# Keep it
# -------
#
# One small file, without pickle, which any later version reads:

from pathlib import Path
from tempfile import mkdtemp

from sk_equivae import load

path = Path(mkdtemp()) / "digits.equivae"
model.save(path)
print(f"{path.stat().st_size / 1e6:.1f} MB, {load(path).score(X_test, y_test):.3f}")

# %%
# Look around
# -----------
#
# ``explore`` makes a page on which the model runs in the browser. In a notebook, and here, it shows
# itself: draw a digit and see its class, walk over the map of r and v, drag through styles.
# ``explore(model, "digits.html")`` writes it to a single file, which needs no network.

from sk_equivae import explore

explore(model, X=X_test, y=y_test, title="Digits")
