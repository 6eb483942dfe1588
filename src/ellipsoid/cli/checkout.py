"""Find the source checkout: benchmarks and reproductions are part of it, not of the installed package."""

from pathlib import Path

import click


def checkout(what: str) -> Path:
    """The root of the checkout that holds the folder ``what``: where this file comes from, or the present folder."""
    for folder in (Path(__file__).resolve().parents[3], Path.cwd()):
        if (folder / what / "__main__.py").is_file() and (folder / "src" / "ellipsoid").is_dir():
            return folder
    raise click.ClickException(
        f"the {what} are part of the source checkout, not of the installed package: clone the project, and run this "
        "command in its root folder"
    )
