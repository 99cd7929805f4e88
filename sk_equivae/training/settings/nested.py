"""Nested settings that `set_params` and a grid search can reach."""

import inspect
from collections.abc import Callable
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator, clone


class NestedSettings(BaseEstimator):
    """Settings whose nested settings may be given by name.

    `set_params(objective__label_weight=2)` also works while `objective` is "auto": the name is
    first replaced by the settings that it stands for.
    """

    _named_settings: ClassVar[dict[str, dict[str, Callable[[], Any]]]] = {}

    def set_params(self, **params: Any) -> Self:
        """Set parameters; fields of nested settings as `name__field`.

        Parameters
        ----------
        **params : dict
            The parameters and their values.

        Returns
        -------
        self : object
            The object itself.
        """
        for name, named in self._named_settings.items():
            value = params.get(name, getattr(self, name))
            is_nested = any(key.startswith(f"{name}__") for key in params)
            if not is_nested or not isinstance(value, str):
                continue
            if value not in named:
                raise ValueError(
                    f"{name}={value!r} has no fields to set. Set {name} to one of {sorted(named)}, "
                    "or to an object with fields, first."
                )
            params[name] = named[value]()
        super().set_params(**params)
        return self

    def _get_params_html(self, *args: Any, **kwargs: Any) -> Any:
        """Return what the HTML view shows: fields of nested settings only where they were set."""
        shown, params = super()._get_params_html(*args, **kwargs), self.get_params()
        for name in [name for name in shown if "__" in name]:
            owner, _, field = name.rpartition("__")
            default = inspect.signature(type(params[owner])).parameters[field].default
            if repr(params[name]) == repr(default):
                del shown[name]
        return shown

    def _nested(self, name: str) -> Any:
        """Return a nested setting; a name is replaced by what it stands for."""
        value = getattr(self, name)
        return self._named_settings[name][value]() if isinstance(value, str) else value

    def _resolved(self, name: str) -> Any:
        """Return a copy of a nested setting, which training may change."""
        return clone(self._nested(name), safe=False)

    def _check(self) -> None:
        """Raise if a parameter, or a field of nested settings, is not valid."""
        self._validate_params()
        for name in self._named_settings:
            nested = getattr(self, name)
            if isinstance(nested, NestedSettings):
                nested._check()
            elif isinstance(nested, BaseEstimator):
                nested._validate_params()
