"""Write down which tests are long: `make test` leaves them to `make long`, and a gate runs both.

A test function is long where its cases, with everything compiled, take ``TOGETHER`` seconds together and ``EACH`` on
average. The first run compiles, so two are needed:

    .venv/bin/python -m pytest -n 2 --dist loadscope -m "not slow and not gpu"
    .venv/bin/python -m pytest -n 2 --dist loadscope -m "not slow and not gpu" --durations=0 -vv > build/seconds.txt
    .venv/bin/python tools/long_tests.py build/seconds.txt
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

TOGETHER, EACH = 0.4, 0.1
LIST = Path(__file__).parent.parent / "tests" / "long_tests.txt"
LINE = re.compile(r"([\d.]+)s (?:call|setup|teardown) +(tests/[^\[]+::\w+)(.*)")


def main(path: str) -> None:
    """Read the durations that pytest has printed, and write the list."""
    seconds: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for line in Path(path).read_text().splitlines():
        if found := LINE.match(line):
            seconds[found[2]][found[3]] += float(found[1])
    totals = {name: (sum(cases.values()), len(cases)) for name, cases in seconds.items()}
    if not totals:
        raise SystemExit(f"{path} holds no durations: make it with --durations=0 -vv")
    long = sorted(name for name, (total, n) in totals.items() if total > TOGETHER and total > EACH * n)
    LIST.write_text("".join(f"{totals[name][0]:5.1f}  {name}\n" for name in long))
    cases, total = sum(totals[name][1] for name in long), sum(totals[name][0] for name in long)
    print(f"{len(long)} test functions of {len(totals)} are long: {cases} tests, {total:.0f} s")


if __name__ == "__main__":
    main(*sys.argv[1:])
