"""The numbers of a run in memory: of an output as columns, and each by itself. No database."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from fsbench_web.core.measurement_columns import Column, MeasurementColumns
from fsbench_web.core.scoring.quality import FLAGS, Flag

IsWanted = Callable[[tuple[str, str]], bool]
"""Told a test and its load."""
Flags = tuple[Sequence[Sequence[str] | None], Column]
"""The combinations of flags there are, None among them, and the place in these of each number."""


class Measurement(NamedTuple):
    """One number of a run. It exists only where the tool printed it."""

    run_id: int
    artefact_id: int | None
    line: int | None
    test: str
    load: str
    record_size_kb: int | None
    file_size_kb: int | None
    value: float
    unit: str
    samples: Any
    flags: list[str] | None

    @property
    def flag_words(self) -> list[Flag]:
        """Its flags in words; those of another version are left out."""
        return [FLAGS[slug] for slug in self.flags or () if slug in FLAGS]


@dataclass(frozen=True)
class Numbers:
    """Numbers of one run from one output, in the order in which they were stored.

    ``kinds`` are the combinations of flags there are, ``flag_codes`` the place in them of each
    number; ``samples`` are by the number's place.
    """

    series_id: int
    run_id: int
    artefact_id: int | None
    columns: MeasurementColumns
    kinds: Sequence[list[str] | None]
    flag_codes: Column
    samples: Mapping[int, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def flags(self) -> list[list[str] | None]:
        """The flags of each number."""
        return [self.kinds[code] for code in self.flag_codes.tolist()]

    def subset(self, mask: Column) -> "Numbers":
        """Those of a mask."""
        places = np.flatnonzero(mask)
        samples = {
            new: self.samples[old]
            for new, old in enumerate(places.tolist() if self.samples else ())
            if old in self.samples
        }
        return Numbers(
            self.series_id,
            self.run_id,
            self.artefact_id,
            self.columns.subset(places),
            self.kinds,
            self.flag_codes[places],
            samples,
        )

    def rows(self) -> Iterator[Measurement]:
        """Each number by itself."""
        for place, ((test, record_kb, file_kb, value, line), flags) in enumerate(
            zip(self.columns.rows(), self.flags, strict=True)
        ):
            yield Measurement(
                self.run_id,
                self.artefact_id,
                line,
                test.test,
                test.load,
                record_kb,
                file_kb,
                value,
                test.unit,
                self.samples.get(place),
                flags,
            )
