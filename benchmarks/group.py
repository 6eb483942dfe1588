"""Run one group of benchmarks in this process: ``python -m benchmarks.group NAME FILE``, results as JSON in FILE.

A group has a process of its own, so that one peer's memory, threads or crash do not reach the next group.
"""

import argparse
import json
import os
import sys
from importlib import import_module
from pathlib import Path

from .machine import ONE_THREAD

# numpy and numba read these when they are imported.
os.environ.update(ONE_THREAD)


def main() -> None:
    from .harness import Effort
    from .machine import describe
    from .report import line

    parser = argparse.ArgumentParser()
    parser.add_argument("group")
    parser.add_argument("file", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--repeats", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    options = parser.parse_args()
    effort = Effort(options.repeats, options.seconds, least=min(options.repeats, Effort().least))
    results = []
    for result in import_module(f"benchmarks.{options.group}").run(options.quick, effort):
        results.append(result)
        print(f"  {line(result)}", file=sys.stderr, flush=True)
    document = {"group": options.group, "quick": options.quick, "machine": describe(), "results": results}
    options.file.write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
