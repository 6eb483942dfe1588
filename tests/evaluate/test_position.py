"""Where a run over a stream stands: what is left of its chunks, and where they are cut."""

import pytest

from ellipsoid.evaluate.position import in_steps, without_first

CHUNKS = [("abc", [1, 2, 3]), ("de", [4, 5])]


@pytest.mark.parametrize("rows", range(6))
def test_chunks_without_their_first_rows_are_never_empty(rows):
    left = list(without_first(CHUNKS, rows))
    assert [label for _, y in left for label in y] == [1, 2, 3, 4, 5][rows:]
    assert "".join(X for X, _ in left) == "abcde"[rows:]
    assert all(y for _, y in left)


def test_an_input_that_ends_before_the_saved_place_is_refused():
    with pytest.raises(ValueError, match="ends 1 rows before the place"):
        list(without_first(CHUNKS, 6))


@pytest.mark.parametrize("done", range(4))
@pytest.mark.parametrize("step", [1, 2, 3, 7])
def test_chunks_are_cut_where_a_multiple_of_the_step_is_complete(done, step):
    ends, at = [], done
    for X, y in in_steps(CHUNKS, done, step):
        assert len(X) == len(y) > 0
        at += len(y)
        ends.append(at)
    assert set(ends) == {end for end in range(done + 1, done + 6) if end % step == 0} | {done + 3, done + 5}
