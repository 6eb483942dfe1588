"""A process that has imported libraries, and forks whenever it is told to run a program: a start then costs no imports.

It reads lines of JSON: ``{"code": ..., "argv": [...], "env": {...}, "in": ..., "out": ..., "err": ...}`` starts a
program, whose streams are files, and answers its number; ``{"wait": number, "seconds": ...}`` answers its exit code,
null if it is still running. Where there is no fork a program is run by a new interpreter.
"""

import json
import os
import select
import subprocess
import sys
import time
import traceback
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace


class Nursery:
    """Starts programs after what ``ready`` imports; what they write lies in a folder until it is read. An environment
    is added to the present one, here for all programs.
    """

    def __init__(self, folder, ready, **environment):
        self.folder, self.environment, self.count, self.process = Path(folder), environment, 0, None
        if hasattr(os, "fork"):
            command = [sys.executable, __file__, ready]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            self.process = subprocess.Popen(command, env=self._around({}), **pipes)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.process is None:
            return
        self.process.stdin.close()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()

    def _around(self, environment):
        return {**os.environ, **{name: str(value) for name, value in {**self.environment, **environment}.items()}}

    def start(self, code, *argv, stdin=os.devnull, out=os.devnull, err=os.devnull, **environment):
        """The number of a process that runs the code and adds what it writes to files."""
        streams = {"in": str(stdin), "out": str(out), "err": str(err)}
        return self._ask(code=code, argv=[str(word) for word in argv], env=self._around(environment), **streams)

    def wait(self, number, seconds=120):
        """The exit code of a process, None while it runs."""
        return self._ask(wait=number, seconds=seconds)

    def run(self, code, *argv, stdin=os.devnull, **environment):
        """Run to the end: the exit code and what was written, as of ``subprocess.run``."""
        self.count += 1
        out, err = (self.folder / f"{self.count}.{name}" for name in ("out", "err"))
        if self.process is not None:
            code = self.wait(self.start(code, *argv, stdin=stdin, out=out, err=err, **environment), 600)
        else:
            command = [sys.executable, "-c", code, *map(str, argv)]
            with open(stdin, "rb") as source, open(out, "wb") as told, open(err, "wb") as said:
                streams = {"stdin": source, "stdout": told, "stderr": said}
                code = subprocess.call(command, env=self._around(environment), **streams)
        return SimpleNamespace(returncode=code, stdout=out.read_text("utf-8"), stderr=err.read_text("utf-8"))

    def _ask(self, **told):
        self.process.stdin.write(json.dumps(told).encode() + b"\n")
        self.process.stdin.flush()
        assert select.select([self.process.stdout], [], [], 660)[0], "the process that starts others does not answer"
        return json.loads(self.process.stdout.readline())


def main():
    exec(sys.argv[1])
    for line in sys.stdin:
        told = json.loads(line)
        if "code" in told:
            answer = os.fork()
            if answer == 0:
                become(told)
        else:
            answer = ended(told["wait"], told["seconds"])
        print(json.dumps(answer), flush=True)


def become(told):
    """Be the program, as a new interpreter would be."""
    for handle, name in enumerate(("in", "out", "err")):
        file = os.open(told[name], os.O_NOCTTY | (os.O_WRONLY | os.O_CREAT | os.O_APPEND if handle else os.O_RDONLY))
        os.dup2(file, handle)
        os.close(file)
    os.environ.clear()
    os.environ.update(told["env"])
    paths = told["env"].get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:] = ["", *filter(None, paths), *(path for path in sys.path[1:] if path not in paths)]
    sys.dont_write_bytecode = bool(told["env"].get("PYTHONDONTWRITEBYTECODE"))
    sys.argv = ["-c", *told["argv"]]
    if "numba" in sys.modules:
        import_module("numba.core.config").reload_config()
    code = 0
    try:
        exec(compile(told["code"], "<string>", "exec"), {"__name__": "__main__"})
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def ended(number, seconds):
    deadline = time.monotonic() + seconds
    while True:
        found, status = os.waitpid(number, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() >= deadline:
            return None
        time.sleep(0.005)


if __name__ == "__main__":
    main()
