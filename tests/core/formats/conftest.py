from collections.abc import Callable
from pathlib import Path

import pytest

SAMPLES = Path(__file__).parent / "samples"


@pytest.fixture
def sample() -> Callable[[str], bytes]:
    """The content of a file in samples/, by its name without .txt."""

    def read(name: str) -> bytes:
        return (SAMPLES / (name if name.endswith(".xls") else f"{name}.txt")).read_bytes()

    return read
