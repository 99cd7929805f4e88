"""Saving and loading of fitted estimators. docs/archive.md describes the format."""

import platform
from pathlib import Path
from typing import Any, Self

import numpy as np
import sklearn
import torch
from sklearn.base import is_classifier

from .._version import __version__
from .._warnings import warn_user
from ..files.archive import Tensors, read_archive, write_archive
from ..files.errors import ArchiveError
from ..io.model import decode_model, encode_model
from ..io.values import decode_all, decode_labels, encode_all, encode_labels
from .imputing import ImputingEstimator

# What goes wrong with a file that is not as `save` has written it.
NOT_AS_WRITTEN = (
    LookupError, TypeError, ValueError, AttributeError, RuntimeError, ArithmeticError,
)  # fmt: skip
# Packages whose version could change a prediction.
VERSIONS = {
    "sk_equivae": __version__,
    "torch": torch.__version__,
    "scikit-learn": sklearn.__version__,
}


def to_archive(estimator: Any, path: Path) -> None:
    """Write a fitted estimator to a file."""
    manifest, tensors = encode_model(estimator.model_)
    names = getattr(estimator, "feature_names_in_", None)
    manifest |= {
        "estimator": type(estimator).__name__,
        "versions": {**VERSIONS, "python": platform.python_version()},
        "params": encode_all(estimator.get_params(deep=False)),
        "trained_with": encode_all(estimator._trained_with),
        "n_features_in": int(estimator.n_features_in_),
        "feature_names_in": None if names is None else encode_labels(np.asarray(names)),
        "history": [encode_all(row) for row in estimator.history_],
    }
    write_archive(path, manifest, tensors)


def from_archive(
    path: Path, classes: dict[str, type[Any]], objects: dict[str, Any], device: str
) -> Any:
    """Return the estimator that is stored in a file.

    Parameters
    ----------
    path : Path
        The file.
    classes : dict of str to type
        The estimator classes that the file may contain, by name.
    objects : dict of str to object
        Networks and other objects of the user, of which the file holds only names.
    device : str
        Device of the networks.

    Returns
    -------
    estimator : object
        The fitted estimator.
    """
    manifest, tensors = read_archive(path)
    try:
        estimator = _build(manifest, tensors, classes, objects, device)
        _warn_of_versions(manifest["versions"], path)
    except ArchiveError:
        raise
    except NOT_AS_WRITTEN as error:
        message = str(error).splitlines()[0] if str(error) else ""
        raise ArchiveError(
            f"{path} is damaged: {type(error).__name__} while it was read ({message[:200]})."
        ) from error
    return estimator


def _build(
    manifest: dict[str, Any],
    tensors: Tensors,
    classes: dict[str, type[Any]],
    objects: dict[str, Any],
    device: str,
) -> Any:
    if manifest["estimator"] not in classes:
        raise ArchiveError(
            f"The archive holds a {manifest['estimator']!r}; expected one of {sorted(classes)}."
        )
    _check_objects(manifest, objects)
    params = decode_all(manifest["params"], objects)
    estimator = classes[manifest["estimator"]](**params)
    estimator._check()
    estimator.model_ = decode_model(manifest, tensors, objects, device)
    estimator._trained_with = decode_all(manifest["trained_with"], objects)
    estimator.history_ = [decode_all(row, {}) for row in manifest["history"]]
    estimator.n_iter_ = len(estimator.history_)
    estimator.n_features_in_ = int(manifest["n_features_in"])
    if manifest["feature_names_in"] is not None:
        names = decode_labels(manifest["feature_names_in"], "feature_names_in")
        estimator.feature_names_in_ = names
    return estimator


def _check_objects(manifest: dict[str, Any], objects: dict[str, Any]) -> None:
    """Raise if a network of the user is missing; warn if another object is."""
    named = {
        f"networks.{name}": value["custom"]
        for name, value in manifest["sizes"].items()
        if isinstance(value, dict) and "custom" in value
    }
    missing = {name: value for name, value in named.items() if name not in objects}
    if missing:
        example = ", ".join(f"{name!r}: ..." for name in missing)
        raise ArchiveError(
            f"The archive was made with networks of your own: {missing}. Nothing is imported "
            f"from an archive; pass them as objects={{{example}}}."
        )
    for name, value in manifest["params"].items():
        if isinstance(value, dict) and "custom" in value and name not in objects:
            warn_user(
                f"The archive only names {name}={value['custom']}, which is None now. Pass it as "
                f"objects={{{name!r}: ...}} if you want to train on."
            )


def _warn_of_versions(made_with: Any, path: Path) -> None:
    """Warn if the archive was made with other versions, since predictions could differ."""
    other = {
        name: made_with.get(name) for name in VERSIONS if made_with.get(name) != VERSIONS[name]
    }
    if other:
        warn_user(
            f"{path} was made with {other}, and is read with "
            f"{ {name: VERSIONS[name] for name in other} }: predictions could differ a little."
        )


class StorableEstimator(ImputingEstimator):
    """Saving to a file, and loading."""

    def save(self, path: Any) -> None:
        """Write the fitted estimator to one file, without pickle.

        The file contains parameters, classes, networks and history, but no training data. It
        is written completely or not at all: after a crash an older file is still intact.

        Parameters
        ----------
        path : path-like
            The file, in an existing folder. Its name usually ends in ".equivae".

        See Also
        --------
        sk_equivae.load : Read the file.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from sklearn.datasets import load_iris
        >>> from sk_equivae import EquiVAEClassifier, load
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = EquiVAEClassifier(latent_dim=2, max_epochs=1, random_state=0).fit(X, y)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     clf.save(Path(folder) / "iris.equivae")
        ...     again = load(Path(folder) / "iris.equivae")
        >>> bool((again.predict(X) == clf.predict(X)).all())
        True
        """
        self._check_ready()
        to_archive(self, Path(path))

    def to_onnx(self, path: Any, what: str = "auto") -> None:
        """Write one ONNX graph, for use without Python and PyTorch.

        The graph takes rows as they were in `fit`: shape, units and dtype. Normalisation,
        networks and prototypes are inside, and the number of rows is free. It checks nothing:
        NaN, or rows on another scale, give what they give. Metadata of the graph hold the
        labels (`sk_equivae.classes`, JSON) and versions. Needs `pip install
        "sk-equivae[onnx]"`.

        Parameters
        ----------
        path : path-like
            The file, in a folder that exists; by custom its name ends in ".onnx".
        what : {"auto", "predict_proba", "transform", "novelty_function", "decode"}
            From X to `probabilities`, by the rule of `predict_with`; from X to `Z`, by
            `representation`; from X to `scores`, below 0 for rows of no class; or from `r` and
            `v`, in the dtype of the networks, to X. With
            `predict_with="likelihood"` the graph decodes each row for all classes at the same
            time: pass fewer rows at once if memory is short. "auto" is "predict_proba" for a
            classifier and "transform" for a transformer.

        See Also
        --------
        sk_equivae.onnx : Pipelines as ONNX graphs.
        """
        from ..io.onnx import write_onnx  # imports PyTorch's exporter, which takes a second

        self._check_ready()
        if what == "auto":
            what = "predict_proba" if is_classifier(self) else "transform"
        write_onnx(
            Path(path), self.model_, what, self.predict_with, self.representation, self.offset_
        )

    @classmethod
    def load(
        cls, path: Any, *, objects: dict[str, Any] | None = None, device: str = "auto"
    ) -> Self:
        """Read a fitted estimator from a file written by `save`.

        Reading a file neither executes code in it nor imports anything that it names.

        Parameters
        ----------
        path : path-like
            The file.
        objects : dict, default=None
            Your own networks and other objects, of which the file holds only names. For
            example `{"networks.invariant_body": Body}`.
        device : str, default="auto"
            Device of the networks: "cpu", "cuda", ... "auto" is the best available one.

        Returns
        -------
        estimator : object
            The fitted estimator. It has no `net_`, `evidence_`, `transduction_` or
            `transduction_proba_`.
        """
        return from_archive(Path(path), {cls.__name__: cls}, objects or {}, device)
