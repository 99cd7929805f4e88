"""Everything public is documented as numpydoc asks for."""

import inspect

import pytest
from numpydoc.validate import validate

import sk_equivae
from sk_equivae import datasets, model, model_selection, presets

# what is missing, wrong or out of order; not matters of taste
CHECKED = {
    "GL05", "GL06", "GL07", "GL08", "GL10",
    "PD01", "PR01", "PR02", "PR03", "PR04", "PR07", "PR10",
    "RT01", "RT03", "RT04", "RT05", "SS01", "SS02", "SS03", "SS04",
}  # fmt: skip
# settings are documented in the class, as in scikit-learn
INHERITED = {"get_params", "set_params", "get_metadata_routing", "fit_transform", "set_output"}


PUBLIC = [*sk_equivae.__all__, *model_selection.__all__]


def public(name):
    return getattr(sk_equivae, name, None) or getattr(model_selection, name)


def public_names():
    for name in PUBLIC:
        thing = public(name)
        if not callable(thing):
            continue
        where = f"{thing.__module__}.{name}"
        yield where
        if inspect.isclass(thing):
            yield from (
                f"{where}.{method}"
                for method, function in inspect.getmembers(thing, inspect.isroutine)
                if not method.startswith("_")
                and method not in INHERITED
                and not method.endswith("_request")
                and (getattr(function, "__module__", None) or "").startswith("sk_equivae")
            )
    for module in (datasets, presets, model):
        for name, thing in inspect.getmembers(module, callable):
            if not name.startswith("_") and thing.__module__.startswith("sk_equivae"):
                yield f"{thing.__module__}.{name}"


@pytest.mark.parametrize("name", sorted(set(public_names())))
def test_docstring(name):
    errors = [error for error in validate(name)["errors"] if error[0] in CHECKED]
    assert errors == []


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_have_an_example(name):
    thing = public(name)
    is_error = inspect.isclass(thing) and issubclass(thing, Exception)
    if callable(thing) and not is_error:
        assert ">>> " in inspect.getdoc(thing)
