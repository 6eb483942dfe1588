"""A process that has imported everything, and forks a server whenever it is told to: a start then costs no imports.

It reads lines of JSON: ``{"argv": [...], "out": ..., "err": ..., "largest": ...}`` starts a server, and answers its
number; ``{"wait": number, "seconds": ...}`` answers its exit code, null if it is still running.
"""

import json
import os
import resource
import sys
import time
from importlib import import_module


def main():
    from ellipsoid.cli import main as command
    from ellipsoid.cli.startup import import_libraries

    import_libraries()
    for name in ("ellipsoid.cli.serve", "ellipsoid.service.demo", "ellipsoid.service.server"):
        import_module(name)
    # Pages are told more often than people need it: whoever waits for news waits the less.
    import_module("ellipsoid.service.events").TICK_SECONDS = 0.1
    for line in sys.stdin:
        told = json.loads(line)
        if "argv" in told:
            number = os.fork()
            if number == 0:
                be_server(command, told)
            answer = number
        else:
            answer = ended(told["wait"], told["seconds"])
        print(json.dumps(answer), flush=True)


def be_server(command, told):
    for path, handle in ((told["out"], 1), (told["err"], 2)):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(file, handle)
        os.close(file)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    if told["largest"]:
        resource.setrlimit(resource.RLIMIT_FSIZE, (told["largest"], resource.RLIM_INFINITY))
    code = 1
    try:
        command(told["argv"], prog_name="ellipsoid")
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
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
