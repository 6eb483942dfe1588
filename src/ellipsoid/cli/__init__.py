"""The command line: one file per command.

Commands import what they need when they run, never before, so that ``ellipsoid --help`` answers at once.
"""

import os
import sys
from importlib import import_module
from typing import Any

import click

from ellipsoid import __version__

# Each is a module of this package with a click command called `command`.
COMMANDS = (
    *("learn", "predict", "merge", "inspect", "compare", "reproduce", "datasets", "warm", "bench"),
    *("serve", "replay", "send", "tokens"),
)

# Errors of absurd parameters and model files, whose messages say little by themselves: the words to put before them.
PREFIXES = {MemoryError: "not enough memory: ", ArithmeticError: "a number is too large or too small: "}


class Commands(click.Group):
    """Imports a command when it is called, and turns the errors of bad data into one line and exit code 1."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        return import_module(f"ellipsoid.cli.{cmd_name}").command

    def main(self, *args: Any, **extra: Any) -> Any:
        # Python sets a stream that the caller has closed to None.
        sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        return super().main(*args, **extra)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except BrokenPipeError:
            raise
        except OSError as error:  # the output of --help or --version cannot be written, as on a full disk
            raise click.ClickException(str(error)) from error

    def invoke(self, ctx: click.Context) -> Any:
        from .terminal import warnings_as_lines

        try:
            with warnings_as_lines():
                return super().invoke(ctx)
        except BrokenPipeError:
            raise  # the reader of the pipe has closed it: click ends quietly
        except KeyboardInterrupt:
            ctx.exit(130)  # the exit code of every program that Ctrl-C ends
        except (ValueError, OSError, ImportError, *PREFIXES) as error:
            if ctx.params["debug"]:
                raise
            prefix = next((words for kind, words in PREFIXES.items() if isinstance(error, kind)), "")
            click.echo(f"Error: {prefix}{' '.join(str(error).split())}", err=True)
            ctx.exit(1)


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True},
)
@click.version_option(__version__, prog_name="ellipsoid")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def main(debug: bool) -> None:
    """Learn from a stream, one example at a time, with guarantees you can read off.

    DATA is a file, the name of a data set (`ellipsoid datasets` lists them) or - for standard input. Files may be
    svmlight text, CSV, Vowpal Wabbit text, JSON lines, Parquet, Arrow or NumPy; text may be compressed.
    """
