"""Many programs in a process of their own, which may die: a crash is a failure of the program that was running.

python -m tests.fuzz.campaign 0:260 30000:30220    # runs programs, and tells of each before it is run
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
# Lines of a traceback that are told.
TOLD = 12


def serve(ranges):
    """Run the programs of each ``first:stop``: a line before each, and a report of each that fails."""
    for seed in (seed for words in ranges for seed in range(*map(int, words.split(":")))):
        print(f"> {seed}", flush=True)
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        try:
            program(seed).run()
        except BaseException as error:
            told = "".join(traceback.format_exception(error)).strip().splitlines()
            print(f"! {seed} " + "\\n".join(told[-TOLD:]), flush=True)
            if not isinstance(error, Exception):
                raise
        finally:
            faulthandler.cancel_dump_traceback_later()


def failures(ranges, run=("-m", "tests.fuzz.campaign")):
    """What went wrong, by the number of the program; ``run`` is what Python is asked to run."""
    found, left = {}, [seeds for seeds in ranges if len(seeds)]
    while left:
        done = subprocess.run(
            [sys.executable, *run, *(f"{seeds.start}:{seeds.stop}" for seeds in left)],
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        running = left[0].start
        for line in done.stdout.splitlines():
            sign, _, rest = line.partition(" ")
            if sign == ">":
                running = int(rest)
            elif sign == "!":
                number, _, told = rest.partition(" ")
                found[int(number)] = told.replace("\\n", "\n")
        if done.returncode:
            found.setdefault(running, f"the process ended with {done.returncode}:\n{done.stderr[-3000:]}")
        left = after(left, running)
    return found


def after(ranges, seed):
    """What is left of ranges behind this number."""
    number = next(number for number, seeds in enumerate(ranges) if seed in seeds)
    rest = range(seed + 1, ranges[number].stop)
    return [*([rest] if rest else []), *ranges[number + 1 :]]


def report(found):
    """Which programs failed, and how to see each again."""
    lines = [f"{len(found)} programs failed"]
    for seed, told in list(found.items())[:5]:
        lines += [f"\npython -m tests.fuzz.program {seed} --run", told]
    lines.append(f"\nall of them: {sorted(found)}")
    return "\n".join(lines)


if __name__ == "__main__":
    serve(sys.argv[1:])
