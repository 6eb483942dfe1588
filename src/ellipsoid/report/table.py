"""The cells of a comparison's table as text, the same for the terminal and the page."""

from math import isfinite, isnan
from typing import Any, NamedTuple

from ellipsoid.certificates import Certificate
from ellipsoid.evaluate.compare import Comparison, Row, Spread

EMPTY = "says nothing here"


class Table(NamedTuple):
    """Titles and lines of text. ``best`` holds the places (line, column) of the lowest errors of a learner."""

    titles: tuple[str, ...]
    lines: list[tuple[str, ...]]
    best: set[tuple[int, int]]


def table(comparison: Comparison) -> Table:
    """Errors in percent; where there were several orders, mean and standard deviation in brackets. The last lines are
    the two baselines that learn nothing; kappa is the share of the better one's errors that a learner avoids.
    """
    rows = comparison.table()
    several = len(comparison.setting["seeds"]) > 1
    tested = rows[0].test_error is not None
    titles = ("learner", "online error %", *(("test error %",) if tested else ()))
    temporal = rows[0].repeat_error.mean < rows[0].majority_error.mean
    one_label = not isnan(rows[0].repeat_error.mean)
    titles += (f"kappa {'temporal' if temporal else 'majority'}",) if one_label else ()
    titles += ("mistakes", "updates", "rows/s", "seconds", "certificate on mistakes")
    lines = []
    for row in rows:
        kappa = (row.kappa_temporal if temporal else row.kappa_majority,) if one_label else ()
        lines.append(_line(row, kappa, several))
    best = {place for column in range(1, 2 + tested) for place in _lowest(lines, column)}
    if one_label:
        rules = {"repeat the last label": rows[0].repeat_error, "commonest label so far": rows[0].majority_error}
        rest = ("",) * (len(titles) - 2)
        lines += [(f"({name})", _spread(error, ".2f", several, 100), *rest) for name, error in rules.items()]
    return Table(titles, lines, best)


def _spread(value: Spread, form: str, several: bool, factor: float = 1.0) -> str:
    if isnan(value.mean):
        return ""
    mean = format(factor * value.mean, form)
    return f"{mean} ({factor * value.sd:{form.replace(',', '')}})" if several else mean


def measures(comparison: Comparison) -> Table | None:
    """Measures of errors on rare labels, and kappa against both baselines; None for label sets."""
    rows = comparison.table()
    if isnan(rows[0].balanced_error.mean):
        return None
    several = len(comparison.setting["seeds"]) > 1
    titles = ("learner", "balanced error %", "F1", "kappa temporal", "kappa majority")
    lines = [
        (
            row.learner,
            _spread(row.balanced_error, ".2f", several, 100),
            *(_spread(value, ".3f", several) for value in (row.f1, row.kappa_temporal, row.kappa_majority)),
        )
        for row in rows
    ]
    return Table(titles, lines, set(_lowest(lines, 1)))


def _line(row: Row, kappa: tuple[Spread, ...], several: bool) -> tuple[str, ...]:
    return (
        row.learner,
        _spread(row.error, ".2f", several, 100),
        *(() if row.test_error is None else (_spread(row.test_error, ".2f", several, 100),)),
        *(_spread(value, ".3f", several) for value in kappa),
        _spread(row.mistakes, ",.0f", several),
        _spread(row.updates, ",.0f", several),
        significant(row.speed),
        _spread(row.seconds, ".3f", several),
        inequality(row.certificate, row.rows) if row.certificate and isfinite(row.certificate.bound) else "none",
    )


def inequality(certificate: Certificate, rows: int) -> str:
    """What was observed beside what was guaranteed.

    >>> inequality(Certificate("mistakes", 12, 40.26, ""), 1000), inequality(Certificate("mistakes", 12, 40.26, ""), 40)
    ('12 <= 40.3', '12, the bound says nothing here')
    """
    bound = bound_in_words(certificate, rows)
    return f"{number(certificate.observed)}{', the bound ' if bound == EMPTY else ' <= '}{bound}"


def bound_in_words(certificate: Certificate, rows: int) -> str:
    """A bound as a number, unless it allows a mistake on every row that was seen.

    >>> bound_in_words(Certificate("updates", 3, 123456.0, ""), 500)
    'says nothing here'
    """
    counts_rows = certificate.name.startswith(("mistakes", "updates"))
    empty = counts_rows and isfinite(certificate.bound) and certificate.bound >= rows
    return EMPTY if empty else number(certificate.bound)


def number(value: float) -> str:
    """A count as it is, other numbers with about three digits.

    >>> number(1234), number(0.012345), number(5.0e7), number(98765.4), number(3.5e12)
    ('1,234', '0.0123', '50,000,000', '98,765', '3.5e+12')
    """
    if not isfinite(value):
        return "infinite"
    if abs(value) >= 1e9:
        return f"{value:.3g}"
    if value == round(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def significant(value: float) -> str:
    """A speed, to two digits: more would be noise.

    >>> significant(123456.0), significant(17.7)
    ('120,000', '18')
    """
    return f"{float(f'{value:.2g}'):,.0f}"


def setting_in_words(setting: dict[str, Any]) -> dict[str, str]:
    """The setting as pairs of a title and a phrase."""
    from ellipsoid.streams.scale import IN_WORDS

    rows = f"{setting['rows']:,} to learn from"
    if setting["test_rows"]:
        held = f", the last {setting['hold_out']:.0%} held out" if setting["held_out"] else ""
        rows += f", {setting['test_rows']:,} to test on{held}"
    seeds = [seed for seed in setting["seeds"] if seed is not None]
    order = "file order" if not seeds else "shuffled by seed " + ", ".join(map(str, seeds))
    return {
        "data": setting["data"],
        "rows": rows,
        "features": f"{setting['features']:,}",
        "classes": f"{setting['classes']:,}",
        "order": order,
        "passes": str(setting["passes"]),
        "values": IN_WORDS[setting["scale"]],
        "software": ", ".join(f"{name} {version}" for name, version in setting["versions"].items()),
        "date": setting["date"],
    }


def _lowest(lines: list[tuple[str, ...]], column: int) -> list[tuple[int, int]]:
    values = [float(line[column].split()[0]) for line in lines]
    return [(i, column) for i, value in enumerate(values) if value == min(values)]
