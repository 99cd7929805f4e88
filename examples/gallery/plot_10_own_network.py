"""
Can I bring my own network?
===========================

Any ``torch.nn.Module`` that maps a batch of rows to features can take the place of the
convolutions, with its weights, so a pre-trained one may be used as well. Callbacks of skorch can
follow the training.
"""

import matplotlib.pyplot as plt
from skorch.callbacks import Callback
from torch import nn
from sk_equivae import EquiVAEClassifier, Networks, TrainingHistoryDisplay
from sk_equivae.datasets import load_few_digits


class Body(nn.Module):
    """Two convolutions, flattened; `shape` is (channels, height, width)."""

    def __init__(self, shape):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(shape[0], 32, 3, padding=1), nn.ReLU(),
            nn.Conv2d(32, 64, 3, padding=1, stride=2), nn.ReLU(), nn.Flatten(),
        )  # fmt: skip

    def forward(self, x):
        return self.layers(x)


class Report(Callback):
    """Prints every second epoch."""

    def on_epoch_end(self, net, **kwargs):
        if len(net.history) % 2 == 0:
            row = net.history[-1]
            print(f"epoch {len(net.history)}: bound {row['train_elbo']:.1f} nats")


X, y, X_test, y_test = load_few_digits(n_per_class=10)
model = EquiVAEClassifier(
    networks=Networks(invariant_body=Body, posterior_body=Body),
    callbacks=[Report()],
    max_epochs=6,
    random_state=0,
).fit(X, y)
print(f"accuracy: {model.score(X_test, y_test):.3f}")
print(model.model_.module.invariant)

# %%
TrainingHistoryDisplay.from_estimator(model)
plt.show()
