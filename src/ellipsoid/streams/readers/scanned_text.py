"""Text that compiled code scans block by block: the rows of a block first, then the first line that cannot be read."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from ..format import Format, RowPieces
from ..labels import NumericLabels
from ..options import Options
from ..scan.reasons import FULL
from ..threads import IN_FLIGHT, map_in_threads
from .blocks import Origin, TextBlock
from .errors import LineError, WrongRow, finite_number

# Numerals left to Python in one scan; a single line with more of them is scanned again with more room.
HARD_ROOM = 256

# Rows and values (of sparse rows) in a byte.
Density = tuple[float, float]


class Scanned(NamedTuple):
    """What is in a block: pieces of rows, labels and weights, line feeds, the line (the block's first is 1) and the
    sentence of the first flaw, and how dense a block like this is.
    """

    pieces: list[tuple[Any, Any, Any]]
    lines: int
    flaw: tuple[int, str] | None
    density: Density


class ScannedText(Format):
    """Lines of examples. A subclass has its scanner, and what it finds out from the first block."""

    def __init__(self, origin: Origin, options: Options) -> None:
        self.origin, self.options = origin, options

    # The fewest bytes that a row, and a value of a sparse row, may take.
    shortest_row = 2
    shortest_value = 1

    def restart(self) -> None:
        """Forget what an earlier pass found."""

    def begin(self, block: TextBlock) -> int:
        """Find out what the rows are; returns where they begin, the end of a block that does not show it."""
        return 0

    def expected(self, block: TextBlock) -> Density:
        """The density to expect of the first block."""
        return 1.0, 1.0

    def buffers(self, rows: int, values: int, hard: int) -> Any:
        """Arrays for a scan to write into, for these numbers of rows, values and numerals left to Python."""
        raise NotImplementedError

    def scan_lines(self, text: Any, position: int, stop: int, out: Any) -> Any:
        """Scan lines from a position on; returns why and where that stopped."""
        raise NotImplementedError

    def place(self, out: Any, found: Any, where: list[int]) -> tuple[int, Any, Any, float]:
        """Where a numeral left to Python belongs: its row, the array and index of its value, and a factor."""
        raise NotImplementedError

    def piece(self, block: TextBlock, out: Any, found: Any, rows: int) -> tuple[Any, Any, Any]:
        """The first rows of a scan, their labels and weights; `WrongRow` where a label cannot be one."""
        raise NotImplementedError

    def flaw(self, block: TextBlock, found: Any) -> str:
        """The sentence for the flaw at which a scan stopped."""
        raise NotImplementedError

    def pieces(self) -> RowPieces:
        """Rows, labels and weights, block by block."""
        self.restart()
        numbers, lines = NumericLabels(), 0
        for done in self._scanned_blocks():
            for piece in done.pieces:
                yield from numbers.pieces(*piece)
            if done.flaw is not None:
                raise LineError(self.origin.name, lines + done.flaw[0], done.flaw[1])
            lines += done.lines

    def _scanned_blocks(self) -> Iterator[Scanned]:
        blocks = self.origin.blocks(IN_FLIGHT)
        density = 1.0, 1.0
        for block in blocks:
            try:
                position = self.begin(block)
            except LineError as error:
                yield Scanned([], 0, (error.line, error.what), density)
                return
            done = self.scanned(block, self.expected(block), position)
            density = done.density
            yield done
            # Its rows would stay in memory for as long as the stream is read.
            del done
            if position < block.stop:
                break
        yield from map_in_threads(
            blocks,
            lambda block, earlier: self.scanned(block, density if earlier is None else earlier),
            self.options.scan_threads(self.origin.blocks_left),
            note=lambda done: done.density,
        )

    def scanned(self, block: TextBlock, density: Density, position: int = 0) -> Scanned:
        """All rows of a block from a position on, or those before its first flaw."""
        room, lines, flaw, pieces = HARD_ROOM, block.raw.count(b"\n", 0, position), None, []
        all_rows = all_values = 0
        while position < block.stop and flaw is None:
            size = block.stop - position
            expected_rows = _room_for(size, self.shortest_row, density[0])
            out = self.buffers(expected_rows, _room_for(size, self.shortest_value, density[1]), room)
            found = self.scan_lines(block.text, position, block.stop, out)
            values = getattr(found, "values", 0)
            rows, flaw = self._read_hard(block, out, found)
            while rows:
                try:
                    pieces.append(self.piece(block, out, found, rows))
                    break
                except WrongRow as error:
                    rows, flaw = error.row, (error.line, error.what)
            lines, all_rows, all_values = lines + found.lines, all_rows + found.rows, all_values + values
            if flaw is None and found.reason > FULL:
                flaw = lines + 1, self.flaw(block, found)
            passed, position = found.position - position, found.position
            if found.rows == 0:
                room, density = 4 * room, (1.0, 1.0)
            elif found.reason == FULL:
                density = max(2 * density[0], found.rows / passed), max(2 * density[1], values / passed)
        return Scanned(pieces, lines, flaw, (all_rows / block.stop, all_values / block.stop))

    def _read_hard(self, block: TextBlock, out: Any, found: Any) -> tuple[int, tuple[int, str] | None]:
        """Read the numerals left to Python; returns how many rows are good, and what is wrong with the next."""
        for *where, begin, end in out.hard[: found.hard].tolist():
            row, values, index, factor = self.place(out, found, where)
            try:
                values[index] = finite_number(block, (begin, end), factor)
            except LineError as error:
                return row, (error.line, error.what)
        return found.rows, None


def _room_for(size: int, shortest: int, density: float) -> int:
    """Entries to expect in a text: a quarter more than the density says, at most as many as the shortest ones are."""
    return min(size // shortest, int(1.25 * density * size) + 64) + 1
