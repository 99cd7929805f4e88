"""
Can one digit be written in the style of another?
=================================================

``transfer_style`` decodes r of one row with v of another. Style keeps its place *relative to its
class*: what is slanted for a one becomes what is slanted for a seven.
"""

import matplotlib.pyplot as plt
import numpy as np
from sk_equivae import EquiVAEClassifier, InterpolationDisplay, Objective, StyleTransferDisplay
from sk_equivae.datasets import load_few_digits

X, y, X_test, y_test = load_few_digits(n_per_class=None)
model = EquiVAEClassifier(
    max_epochs=8, objective=Objective(kl_weight=0.2), random_state=0
).fit(X, y)  # fmt: skip

# %%
# A row shows one class in many styles, a column one style in many classes.

content = X_test[[np.flatnonzero(y_test == digit)[0] for digit in (1, 3, 4, 7)]]
style = X_test[:8]
StyleTransferDisplay.from_estimator(model, content, style)
plt.show()

# %%
# Is the class kept? The model itself recognises it in most of the transferred images:

made = model.transfer_style(content, style, grid=True)
kept = model.predict(made.reshape(-1, 8, 8)).reshape(made.shape[:2]) == [[1], [3], [4], [7]]
print(f"class kept: {kept.mean():.0%}")

# %%
# A path from one image to another. Within a class r stays the same, and only v moves; the last two
# lines lead to another class, so that r moves too.

sevens, twos = X_test[y_test == 7], X_test[y_test == 2]
starts = np.concatenate([sevens[:2], sevens[:2]])
ends = np.concatenate([sevens[2:4], twos[:2]])
InterpolationDisplay.from_estimator(model, starts, ends)
plt.show()
