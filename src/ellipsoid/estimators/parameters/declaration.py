"""Declared parameters: an estimator names each of its parameters once, as a field with a type and a default.

``@declared`` makes a constructor that takes them by keyword, and adds the descriptions of inherited parameters to the
docstring. So a parameter that learners share has one name, one default and one description.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from inspect import Parameter, Signature, cleandoc, get_annotations, signature
from typing import TypeVar, dataclass_transform

from .old_names import taking_old_names

Estimator = TypeVar("Estimator", bound=type)

# The section ``Parameters`` of a docstring, up to the next heading.
SECTION = re.compile(r"^Parameters\n-{10}\n(.*?)(?=\n\n\S[^\n]*\n-{3,}\n|\Z)", re.DOTALL | re.MULTILINE)


@dataclass_transform(kw_only_default=True, eq_default=False)
def declared(cls: Estimator) -> Estimator:
    """Make the constructor of an estimator from its fields and those of its base classes."""
    dataclass(kw_only=True, eq=False, repr=False, match_args=False)(cls)
    order = {name: place for place, name in enumerate(names_of(cls))}
    given: dict[str, Parameter] = {p.name: p for p in signature(cls.__init__).parameters.values()}  # type: ignore[misc]
    cls.__signature__ = Signature([given[name] for name in order])  # type: ignore[attr-defined]
    if cls.__doc__ is not None:
        cls.__doc__ = _completed(cls, order)
    cls.__init__ = taking_old_names(cls.__name__, cls.__init__)  # type: ignore[misc]
    return cls


def names_of(cls: type) -> list[str]:
    """The parameters of an estimator, its own before those of its base classes."""
    known = {field.name for field in fields(cls) if field.init}
    by_class = [name for part in cls.__mro__ for name in get_annotations(part) if name in known]
    return list(dict.fromkeys(by_class))


def _completed(cls: type, order: dict[str, int]) -> str:
    """The docstring with a paragraph for every parameter: that of the nearest base class which has one."""
    text, described, found = cleandoc(cls.__doc__ or ""), set[str](), list[tuple[int, str]]()
    for part in cls.__mro__:
        for names, paragraph in _paragraphs(part.__doc__ or ""):
            fresh = [name for name in names if name in order and name not in described]
            if fresh:
                described.update(fresh)
                found.append((min(order[name] for name in fresh), paragraph))
    section = "\n".join(paragraph for _, paragraph in sorted(found))
    return SECTION.sub(lambda _: f"Parameters\n----------\n{section}", text)


def _paragraphs(doc: str) -> Iterator[tuple[list[str], str]]:
    """The names and the text of each entry in the section ``Parameters``."""
    match = SECTION.search(cleandoc(doc))
    for paragraph in re.split(r"\n(?=\S)", match[1]) if match else ():
        names, _, _ = paragraph.partition("\n")[0].partition(" : ")
        yield names.split(", "), paragraph
