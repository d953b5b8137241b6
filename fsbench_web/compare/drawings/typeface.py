"""The fonts of pictures, shipped, so that they look the same on every machine."""

from pathlib import Path

FOLDER = Path(__file__).parent / "fonts"
REGULAR = FOLDER / "DejaVuSans.ttf"
BOLD = FOLDER / "DejaVuSans-Bold.ttf"
