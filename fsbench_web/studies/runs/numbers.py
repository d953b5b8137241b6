"""The measurements of one run as its page takes them: rows without a model, a thousand at a time.

Making a model of each took as long as drawing their heat maps.
"""

from typing import Any, NamedTuple

from fsbench_web.core.scoring.quality import FLAGS, Flag
from fsbench_web.studies.models import Run

Cell = tuple[int, int]
"""(record size KB, file size KB)"""


class RunNumber(NamedTuple):
    """A row of ``Measurement``, under the names that it has there."""

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
    flags: Any

    @property
    def flag_words(self) -> list[Flag]:
        """Its flags in words; those of another version are left out."""
        return [FLAGS[slug] for slug in self.flags or () if slug in FLAGS]


def numbers_of(run: Run, most: int) -> list[RunNumber] | None:
    """All of them in the order in which they were stored; None for more than ``most``.

    One query.
    """
    rows = run.measurements.order_by("id").values_list(*RunNumber._fields)[: most + 1]
    found = [RunNumber._make(row) for row in rows]
    return None if len(found) > most else found
