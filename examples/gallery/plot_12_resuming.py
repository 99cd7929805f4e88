"""
What if training is stopped?
============================

With ``checkpoint`` the state of training is written after every epoch and every few minutes. Call
``fit`` again with the same data and parameters, and it goes on. The result is the same to the bit.
"""

from pathlib import Path
from tempfile import mkdtemp

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from skorch.callbacks import Callback
from sk_equivae import EquiVAEClassifier, TrainingHistoryDisplay
from sk_equivae.datasets import load_few_digits

X, y, X_test, y_test = load_few_digits(n_per_class=None)


class PowerCut(Callback):
    """Ends training in the third epoch, as a machine that is switched off would."""

    def on_epoch_begin(self, net, **kwargs):
        if len(net.history) == 3:
            raise RuntimeError("power cut")


path = Path(mkdtemp()) / "state"
model = EquiVAEClassifier(max_epochs=5, checkpoint=path, random_state=0)
try:
    clone(model).set_params(callbacks=[PowerCut()]).fit(X, y)
except RuntimeError as error:
    print(f"stopped: {error}; {path.stat().st_size / 1e6:.1f} MB are on disk")

# %%
resumed = model.fit(X, y)
print("epochs in the history:", [row["epoch"] for row in resumed.history_])
display = TrainingHistoryDisplay.from_estimator(resumed)
for ax in display.axes_:
    ax.axvline(2.5, color="grey", linestyle=":")  # stopped here
plt.show()

# %%
# The same without an accident:

undisturbed = EquiVAEClassifier(max_epochs=5, random_state=0).fit(X, y)
same = np.array_equal(resumed.predict_proba(X_test), undisturbed.predict_proba(X_test))
print(f"the same to the bit: {same}")
