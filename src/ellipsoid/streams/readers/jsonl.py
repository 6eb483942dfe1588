"""JSON lines: one object a line, its members the features by name, one of them the label.

Features are those of dicts: ``name: number`` has the column ``hash(name)``, ``name: "word"`` sets a one in the column
of the hash of the word, seeded with the hash of the name; ``true`` is 1, ``false`` 0 and ``null`` missing. The label is
the member that ``label`` names, by default the one called "label": members of an object have no order.

A stream whose first line has a member ``x`` that is an object or a list is one of examples as the service takes them,
``{"x": {"length": 2.5}, "y": "long"}``: ``x`` holds the features, ``y`` (or what ``label`` names) the label, and every
other member (a key, say) is ignored. A list of numbers is a row of an array, as long in every line.
"""

import json
from math import isfinite
from typing import Any

import numpy as np

from ..format import Format, RowPieces
from ..labels import NumericLabels, label_word
from ..options import Options
from .blocks import Origin
from .errors import LineError
from .examples import hashed

_LONGEST = 40


class JsonLines(Format):
    """One example per line, one feature per member."""

    def __init__(self, origin: Origin, options: Options) -> None:
        self.origin, self.options = origin, options
        self.bits = None if options.dicts == "keep" else options.hash_bits
        self.n_features = None if self.bits is None else 1 << self.bits
        self._label = options.label or ("label" if options.labelled else None)
        self._words: bool | None = None
        # Whether lines are examples with their features in x, as the first one is.
        self._wrapped: bool | None = None

    def describe(self) -> str:
        named = f", label {self._label!r}" if self._label is not None and self.options.labelled else ""
        return f"JSON lines{named}" + ("" if self.bits is None else f", features hashed to {self.bits} bits")

    def pieces(self) -> RowPieces:
        numbers, line = NumericLabels(), 0
        self._words = self._wrapped = None
        for block in self.origin.blocks():
            examples: list[Any] = []
            labels: list[Any] = []
            flaw: LineError | None = None
            for text in bytes(block.raw[: block.stop]).split(b"\n")[:-1]:
                line += 1
                if not text.strip():
                    continue
                try:
                    examples.append(self._example(text, labels))
                except ValueError as error:
                    flaw = LineError(self.origin.name, line, str(error))
                    break
            if examples:
                y = labels if self._words else np.array(labels, dtype=np.float64)
                yield from numbers.pieces(self._rows(examples), y if self.options.labelled else None)
            if flaw is not None:
                raise flaw

    def _rows(self, examples: list[Any]) -> Any:
        if isinstance(examples[0], list):
            return np.array(examples, dtype=np.float64)
        return examples if self.bits is None else hashed(examples, self.bits)

    def _example(self, text: bytes, labels: list[Any]) -> Any:
        """The features of a line, whose label joins the others."""
        try:
            members = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_members)
        except json.JSONDecodeError as error:
            raise ValueError(f"not JSON: {error.msg} (column {error.colno})") from None
        except UnicodeDecodeError:
            raise ValueError("not JSON: it is not UTF-8") from None
        except RecursionError:
            raise ValueError("a line must hold one flat object, {...}") from None
        if not isinstance(members, dict):
            raise ValueError(f"a line must hold one object, {{...}}, got {_short(members)}")
        if self._wrapped is None:
            self._wrapped = isinstance(members.get("x"), dict | list)
            if self._wrapped and isinstance(members["x"], list):
                self.bits, self.n_features = None, len(members["x"])
        if self._wrapped:
            return self._unwrapped(members, labels)
        label = None if self._label is None else members.pop(self._label, None)
        features = self._features(members)
        if self.options.labelled:
            labels.append(self._checked_label(label))
        return features

    def _unwrapped(self, members: dict[str, Any], labels: list[Any]) -> Any:
        """The features of an example, which are its member x."""
        x = members.get("x")
        dense = self.bits is None and self.n_features is not None
        if not isinstance(x, list if dense else dict):
            raise ValueError(f"'x' must be {'a list of numbers' if dense else 'an object'}, as the first is")
        if isinstance(x, list):
            if len(x) != self.n_features:
                raise ValueError(f"'x' must hold {self.n_features} numbers, as the first does, got {len(x)}")
            for value in x:
                if isinstance(value, bool) or not isinstance(value, int | float):
                    raise ValueError(f"'x' must hold numbers, got {_short(value)}")
                _check_finite("x", value)
        else:
            x = self._features(x)
        if self.options.labelled:
            self._label = self.options.label or "y"
            labels.append(self._checked_label(members.get(self._label)))
        return x

    def _features(self, members: dict[str, Any]) -> dict[str, Any]:
        """The features that are not missing, checked."""
        if self.options.columns is not None:
            members = {name: members[name] for name in self.options.columns if name in members}
        missing = [name for name, value in members.items() if value is None]
        if missing and self.options.missing == "error":
            raise ValueError(
                f"feature {missing[0]!r} is missing; give missing='zero' to open_stream to read that as zero"
            )
        for name in missing:
            del members[name]
        for name, value in members.items():
            if not isinstance(value, str | bool | int | float):
                raise ValueError(f"feature {name!r} must be a number or a word, got {_short(value)}")
            _check_finite(name, value)
        return members

    def _checked_label(self, label: Any) -> Any:
        if label is None:
            raise ValueError(
                f"there is no {self._label!r}: name the member of the labels by label, or give labelled=False"
            )
        if not isinstance(label, str | bool | int | float):
            raise ValueError(f"a label must be a number or a word, got {_short(label)}")
        self._words = isinstance(label, str) if self._words is None else self._words
        if isinstance(label, str) != self._words:
            kind = "a word" if self._words else "a number"
            raise ValueError(f"the label {_short(label)} must be {kind}, as the first one is")
        _check_finite(self._label, label)
        return label_word(label) if isinstance(label, str) else label


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} is given twice")
    return members


def _refuse_constant(word: str) -> Any:
    raise ValueError(f"{word} is not a number; write null for a missing value")


def _check_finite(name: Any, value: Any) -> None:
    try:
        fits = isinstance(value, str) or isfinite(value)
    except OverflowError:
        fits = False
    if not fits:
        raise ValueError(f"{name!r} is too large for a float64")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."
