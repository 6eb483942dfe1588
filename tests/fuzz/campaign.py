"""Many programs in a process of their own, which may die: a crash is a failure of the program that was running.

python -m tests.fuzz.campaign FIRST STOP    runs programs, telling of each before it is run
"""

import faulthandler
import subprocess
import sys
import traceback
from pathlib import Path

from .program import program

ROOT = Path(__file__).parents[2]
# Seconds that one program may take, the compiler included.
PATIENCE = 600


def serve(first, stop):
    """Run programs; a line before each, and a report of each that fails."""
    for seed in range(first, stop):
        print(f"> {seed}", flush=True)
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        try:
            program(seed).run()
        except BaseException as error:
            told = "".join(traceback.format_exception(error)).strip().splitlines()
            print(f"! {seed} " + "\\n".join([*told[-12:]]), flush=True)
            if not isinstance(error, Exception):
                raise
        finally:
            faulthandler.cancel_dump_traceback_later()


def failures(seeds, run=("-m", "tests.fuzz.campaign")):
    """What went wrong, by the number of the program; ``run`` is what Python is asked to run."""
    found, first = {}, seeds.start
    while first < seeds.stop:
        done = subprocess.run(
            [sys.executable, *run, str(first), str(seeds.stop)],
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        running = first
        for line in done.stdout.splitlines():
            sign, _, rest = line.partition(" ")
            if sign == ">":
                running = int(rest)
            elif sign == "!":
                number, _, told = rest.partition(" ")
                found[int(number)] = told.replace("\\n", "\n")
        if done.returncode:
            found.setdefault(running, f"the process ended with {done.returncode}:\n{done.stderr[-3000:]}")
        first = running + 1
    return found


def report(found):
    """Which programs failed and how to see each again."""
    lines = [f"{len(found)} programs failed"]
    for seed, told in list(found.items())[:5]:
        lines += [f"\npython -m tests.fuzz.program {seed} --run", told]
    lines.append(f"\nall of them: {sorted(found)}")
    return "\n".join(lines)


if __name__ == "__main__":
    serve(int(sys.argv[1]), int(sys.argv[2]))
