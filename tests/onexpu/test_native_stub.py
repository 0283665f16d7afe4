"""`onexpu/_native.pyi` has the names and the signatures of the compiled module."""

from __future__ import annotations

import ast
import pathlib

import pytest

from onexpu import _native

STUB = pathlib.Path(__file__).resolve().parents[2] / "onexpu" / "_native.pyi"

# pybind11's names of types, and the stub's.
_SPELLINGS = {
    "typing.SupportsInt | typing.SupportsIndex": "int",
    "collections.abc.Sequence": "Sequence",
    "onexpu._native.": "",
}


def _is_public(name: str) -> bool:
    return not name.startswith("_")


def _declared() -> dict[str, ast.FunctionDef]:
    """Returns the functions of the stub; those of a class as ``Class.name``."""
    functions = {}
    for node in ast.parse(STUB.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            functions[node.name] = node
        elif isinstance(node, ast.ClassDef) and _is_public(node.name):
            for member in node.body:
                assert isinstance(member, ast.FunctionDef)
                functions[f"{node.name}.{member.name}"] = member
    return functions


def _bound() -> dict[str, ast.FunctionDef]:
    """Returns the functions of the module as pybind11 describes them in their docstrings."""
    texts = {}
    for name, value in vars(_native).items():
        if not _is_public(name):
            continue
        if not isinstance(value, type):
            texts[name] = value.__doc__
            continue
        for member, attribute in vars(value).items():
            if isinstance(attribute, property):
                texts[f"{name}.{member}"] = f"{member}{attribute.fget.__doc__}"
            elif _is_public(member):
                texts[f"{name}.{member}"] = attribute.__doc__
    functions = {}
    for name, text in texts.items():
        (function,) = ast.parse(f"def {text.splitlines()[0]}: ...").body
        assert isinstance(function, ast.FunctionDef)
        functions[name] = function
    return functions


def _type(annotation: ast.expr | None) -> str:
    text = "" if annotation is None else ast.unparse(annotation)
    for bound, declared in _SPELLINGS.items():
        text = text.replace(bound, declared)
    return text


def _fits(declared: str, bound: str) -> bool:
    """Whether the stub's type is the module's, or says more about an untyped container."""
    if bound == "object" or declared == bound:
        return True
    is_typed_dict = bound == "dict" and declared.startswith("_")
    return is_typed_dict or (
        bound in ("dict", "list", "tuple") and declared.startswith(f"{bound}[")
    )


def test_the_stub_has_the_names_of_the_module() -> None:
    assert set(_declared()) == set(_bound())


@pytest.mark.parametrize("name", sorted(_declared()))
def test_signature(name: str) -> None:
    declared, bound = _declared()[name], _bound()[name]
    # pybind11 annotates self, and names it arg0 for properties.
    parameters = [f.args.args[1 if "." in name else 0 :] for f in (declared, bound)]
    names = [[parameter.arg for parameter in each] for each in parameters]
    assert names[0] == names[1]
    defaults = [list(map(ast.unparse, f.args.defaults)) for f in (declared, bound)]
    assert defaults[0] == defaults[1]
    for ours, theirs in zip(*parameters, strict=True):
        assert _fits(_type(ours.annotation), _type(theirs.annotation)), ours.arg
    assert _fits(_type(declared.returns), _type(bound.returns))


@pytest.mark.parametrize("name", sorted(name for name in _declared() if "." in name))
def test_properties_are_properties(name: str) -> None:
    kind, member = name.split(".")
    is_property = isinstance(vars(getattr(_native, kind))[member], property)
    decorators = [ast.unparse(decorator) for decorator in _declared()[name].decorator_list]
    assert decorators == ["property"] * is_property
