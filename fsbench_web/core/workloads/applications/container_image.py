"""Unpacking the layers of a container image."""

import math
from collections.abc import Iterator

from fsbench_web.core import requirements
from fsbench_web.core.file_features import HARD_LINKS, SYMBOLIC_LINKS
from fsbench_web.core.formats.result import load_text
from fsbench_web.core.workloads.applications.shared import MIB
from fsbench_web.core.workloads.base import (
    BUILD,
    BenchmarkCommand,
    Parameter,
    Place,
    Preset,
    Workload,
    seed,
    time_limit,
)
from fsbench_web.core.workloads.fio.data import (
    WRITTEN_DATA,
    data_title,
    written_data,
    written_data_warning,
)

# As runner/agent/workloads/image_layers.py has them; a test holds the two together.
SMALLEST, LARGEST = 100, 2**20
MEAN_BYTES = (LARGEST - SMALLEST) / math.log(LARGEST / SMALLEST)


class ContainerImage(Workload):
    """One image, its layers unpacked over each other."""

    tool = "container-image"
    name = "Container image"
    about = (
        "The layers of a container image are unpacked over each other, with links, replaced files "
        "and whiteouts, until all is on the disk: seconds, and files a second."
    )
    question = BUILD
    programs = requirements.WORKLOADS["container-image"]
    parameters = (
        Parameter("layers", "Layers", default=8, minimum=1, maximum=127),
        Parameter(
            "files",
            "Files of a layer",
            default=2500,
            minimum=1,
            maximum=1_000_000,
            help="Of 100 bytes to 1 MiB, 113 KB on average.",
        ),
        *WRITTEN_DATA,
        seed("sizes and names", 1),
        time_limit(6 * 3600),
    )
    presets = (
        Preset(
            "container-image-small",
            "Container image, a quick look",
            "3 layers of 100 files: a second, to see that it works.",
            {"layers": 3, "files": 100, "time_limit_s": 300},
        ),
        Preset(
            "container-image",
            "Container image, 2 GB",
            "8 layers of 2,500 files.",
            {},
        ),
    )

    def title(self) -> str:
        data = data_title(self)
        return f"Container image, {self.layers:,} layers of {self.files:,} files{data}"

    @property
    def demands(self) -> frozenset[str]:
        return frozenset({SYMBOLIC_LINKS, HARD_LINKS})

    def data_warning(self) -> str:
        return written_data_warning(self)

    def space_needed_bytes(self) -> int:
        return int(1.3 * self.layers * self.files * (MEAN_BYTES + 4096)) + 64 * MIB

    def commands(self, place: Place) -> list[BenchmarkCommand]:
        return [
            BenchmarkCommand(("mkdir", place.work)),
            BenchmarkCommand(
                (
                    *("fsbench-image_layers", f"{place.work}/root", f"--layers={self.layers}"),
                    *(f"--files={self.files}", f"--seed={self.seed}", *written_data(self)),
                ),
                output="container-image.txt",
            ),
        ]

    def expected(self) -> Iterator[tuple[str, str, int | None, int | None]]:
        yield "image_unpack", load_text(files=self.layers * self.files), None, None
