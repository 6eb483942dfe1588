"""What the pictures of the documentation share: colours that the colour-blind can tell apart, fonts and edges."""

from io import BytesIO
from pathlib import Path

import matplotlib.pyplot as plt
from PIL import Image

FOLDER = Path(__file__).parent.parent / "_static" / "figures"
GALLERY = FOLDER.parent / "gallery"

# Okabe and Ito, "Color universal design" (2008).
BLUE, ORANGE, GREEN, PURPLE, SKY, YELLOW = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00"
INK, GREY, PALE = "#333333", "#8a8a8a", "#d9d9d9"


def use():
    """Set the fonts and edges of all pictures."""
    plt.rcParams.update(
        {
            "font.size": 10,
            "axes.titlesize": 11,
            "axes.edgecolor": INK,
            "axes.labelcolor": INK,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "xtick.color": INK,
            "ytick.color": INK,
            "text.color": INK,
            "legend.frameon": False,
            "lines.linewidth": 1.8,
        }
    )


def save(figure, name, dpi=110):
    """Write a picture without the date and the version that made it, so that it changes only when it changes."""
    figure.savefig(FOLDER / name, dpi=dpi, metadata={"Software": None})
    plt.close(figure)


def save_small(figure, path):
    """Write a picture for screens with small pixels, with 64 colours: curves need no more, and the file stays small."""
    drawn = BytesIO()
    figure.savefig(drawn, format="png", dpi=200)
    plt.close(figure)
    few = Image.open(drawn).convert("RGB").quantize(64, dither=Image.Dither.NONE)
    few.save(path, optimize=True)
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")
