"""Decode the JSON of requests: single messages, and batches with a message on each line.

A batch is decoded piece by piece as it comes, so that no more of its text is held than one piece. An error names the
number of the line that is wrong.
"""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from msgspec import Struct

from ..journal.rows import Rows, check_numbers
from ..journal.writes import IncomingRows, caller_key
from ..messages import ExampleToPredict, LabelledExample, LineAnswer, NewLearner, NewModel, Promotion, TrueLabel
from ..problem import CallProblem
from .dense_lines import scan_lines

# Text is decoded when so much of it has come.
PIECE_BYTES = 1 << 18
LONGEST_JSON_LINE = 1 << 23

DECODERS: dict[type, msgspec.json.Decoder[Any]] = {
    kind: msgspec.json.Decoder(kind)
    for kind in (LabelledExample, ExampleToPredict, TrueLabel, NewModel, NewLearner, Promotion)
}


class Pieces:
    """Cuts a body that comes in chunks into pieces of whole lines."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._size = 0

    def add(self, chunk: bytes) -> bytes:
        """Add a chunk; returns whole lines when there are enough of them, else nothing."""
        self._chunks.append(chunk)
        self._size += len(chunk)
        if self._size < PIECE_BYTES:
            return b""
        text = b"".join(self._chunks)
        cut = text.rfind(b"\n") + 1
        if cut == 0 and len(text) > LONGEST_JSON_LINE:
            raise CallProblem(413, f"a line must be shorter than {LONGEST_JSON_LINE >> 20} MiB")
        self._chunks, self._size = [text[cut:]], len(text) - cut
        return text[:cut]

    def rest(self) -> bytes:
        """The text that is left at the end."""
        return b"".join(self._chunks)


def decoded(kind: type[Struct], text: bytes) -> Any:
    """One message, or `CallProblem` 400 or 422."""
    try:
        return DECODERS[kind].decode(text)
    except msgspec.ValidationError as error:
        raise CallProblem(422, _sentence(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CallProblem(400, f"not JSON: {_sentence(error)}") from None


def decoded_lines(
    kind: type[Struct], text: bytes, line: int, refused: Callable[[int, str], None] | None = None
) -> list[tuple[int, Any]]:
    """Messages with the numbers of their lines, counted from ``line``; blank lines are skipped. A line that is wrong
    raises a `CallProblem`, or is handed to ``refused`` with its problem.
    """
    try:
        found = DECODERS[kind].decode_lines(text)
        if len(found) == text.count(b"\n") + (text[-1:] not in (b"", b"\n")):
            return list(enumerate(found, start=line))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass
    kept = []
    for number, each in enumerate(text.split(b"\n"), start=line):
        if not each.strip():
            continue
        try:
            kept.append((number, decoded(kind, each)))
        except CallProblem as problem:
            if refused is None:
                raise CallProblem(problem.status, problem.detail, line=number) from None
            refused(number, problem.detail)
    return kept


def labelled_rows(stream: Any, text: bytes, line: int, refused: list[LineAnswer] | None) -> list[IncomingRows]:
    """Labelled examples in runs of one form; bad lines are added to ``refused``, or raise a `CallProblem` if None."""
    scanned = scan_lines(text)
    if scanned is not None:
        rows = Rows(*scanned)
        try:
            check_numbers(rows.x)
            return [IncomingRows(rows, None, range(line, line + len(rows.y)))]
        except ValueError:
            pass  # the line that is wrong is found below

    def refuse(number: int, detail: str) -> None:
        if refused is None:
            raise CallProblem(422, detail, line=number)
        refused.append(LineAnswer(line=number, status="refused", detail=detail))

    examples = decoded_lines(LabelledExample, text, line, None if refused is None else refuse)
    return [part for run in _runs(examples) for part in _checked(stream, run, refuse)]


def _runs(examples: Iterable[tuple[int, Any]]) -> list[list[tuple[int, Any]]]:
    """Consecutive examples whose x is of one kind and length."""
    runs: list[list[tuple[int, Any]]] = []
    last: Any = None
    for line, example in examples:
        kind = len(example.x) if isinstance(example.x, list) else -1
        if kind != last:
            runs.append([])
            last = kind
        runs[-1].append((line, example))
    return runs


def _checked(stream: Any, run: list[tuple[int, Any]], refuse: Callable[[int, str], None]) -> Iterable[IncomingRows]:
    try:
        yield _part(stream, run)
        return
    except (ValueError, OverflowError):
        pass
    good = []
    for line, example in run:
        try:
            _part(stream, [(line, example)])
        except (ValueError, OverflowError) as error:
            refuse(line, str(error))
        else:
            good.append((line, example))
    if good:
        yield _part(stream, good)


def _part(stream: Any, run: list[tuple[int, Any]]) -> IncomingRows:
    rows = stream.rows_of([example.x for _, example in run], [example.y for _, example in run])
    keys = [None if example.key is None else caller_key(example.key) for _, example in run]
    return IncomingRows(rows, keys if any(key is not None for key in keys) else None, [line for line, _ in run])


def _sentence(error: Exception) -> str:
    text = str(error)
    return text if text.startswith("JSON") else text[:1].lower() + text[1:]
