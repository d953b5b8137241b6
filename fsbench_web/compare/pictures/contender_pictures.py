"""Pictures of single contenders: configurations that were measured, one, two or several."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import TypeVar

from fsbench_web.compare.pictures.base import Picture, PictureKind, PictureUnavailable, Select
from fsbench_web.compare.pictures.drawable import Contender, DrawableTests, contenders
from fsbench_web.compare.pictures.spec import PictureSpec
from fsbench_web.core.scoring import testnames
from fsbench_web.core.units import shown_units
from fsbench_web.figures.lines import MOST_LINES
from fsbench_web.figures.sizes import size_name
from fsbench_web.platform import limits
from fsbench_web.studies.scores import cells
from fsbench_web.studies.scores.cells import LoadCurve, Matrix, RepeatsOfSeries

Measurement = TypeVar("Measurement", LoadCurve, Matrix, RepeatsOfSeries)

GONE = (
    "A contender of this address is not in this comparison, or has no finished run of the test any "
    "more. Choose another."
)


class ContenderPicture(PictureKind):
    """One of measured configurations."""

    def __init__(self, spec: PictureSpec, test: str, offer: DrawableTests) -> None:
        super().__init__(spec, test, offer)
        self.contenders, emulated = contenders(spec.comparison, self.measured_tests)
        self.notices += emulated

    @property
    def measured_tests(self) -> list[str]:
        """The tests of which contenders must have any."""
        return [self.test]

    def draw(self) -> Picture:
        if not self.contenders:
            raise PictureUnavailable(self.needs.refusal)
        return self.draw_contenders()

    @abstractmethod
    def draw_contenders(self) -> Picture:
        """As ``draw``, where there is any contender."""

    def in_one_unit(self, measurements: Iterable[Measurement]) -> list[Measurement]:
        """The same in one unit of each dimension, as the comparison has them."""
        tools = {contender.key: contender.tool for contender in self.contenders}
        listed = list(measurements)
        printed = {(measurement.unit, tools[measurement.series_id]) for measurement in listed}
        display_units = shown_units(printed, self.spec.comparison.units)
        return [
            measurement
            if display.unit == measurement.unit and not display.is_converted
            else measurement.converted(display)
            for measurement in listed
            for display in [display_units[measurement.unit, tools[measurement.series_id]]]
        ]

    def select(self, parameter: str, label: str, chosen: Contender | None) -> Select:
        """A box to choose one contender in."""
        offered = [
            (contender.key, contender.name) for contender in self.contenders[: limits.MOST_OPTIONS]
        ]
        return Select(parameter, label, offered, chosen.key if chosen else None)


class SingleContenderPicture(ContenderPicture):
    """One of ``a``: the contender that is asked for, else the best."""

    def __init__(self, spec: PictureSpec, test: str, offer: DrawableTests) -> None:
        super().__init__(spec, test, offer)
        self.by_key = {contender.key: contender for contender in self.contenders}
        best = self.contenders[0] if self.contenders else None
        self.a = best if spec.a is None else self.by_key.get(spec.a, best)

    @property
    def selects(self) -> Sequence[Select]:
        return [self.select("a", "Contender", self.a)]

    def draw_contenders(self) -> Picture:
        if self.a is None or self.spec.a not in (None, self.a.key):
            raise PictureUnavailable(GONE)
        return self.draw_contender(self.a)

    @abstractmethod
    def draw_contender(self, contender: Contender) -> Picture:
        """As ``draw``, of this contender."""


class SeveralContendersPicture(ContenderPicture):
    """One of several contenders: those that are asked for, else the best, MOST_LINES at most."""

    def __init__(self, spec: PictureSpec, test: str, offer: DrawableTests) -> None:
        super().__init__(spec, test, offer)
        wanted = set(spec.lines)
        lines = [
            contender for contender in self.contenders if contender.key in wanted
        ] or self.contenders
        if self.contenders and wanted - {contender.key for contender in self.contenders}:
            self.notices.append(
                "Some contenders of this address are not in this comparison any more."
            )
        if len(lines) > MOST_LINES:
            self.notices.append(
                f"{MOST_LINES} of {len(lines)} contenders are drawn, the best ones: more colours "
                "nobody tells apart. Choose others in the form."
            )
            self.undrawn = len(lines) - MOST_LINES
        self.lines = lines[:MOST_LINES]
        self.keys = [contender.key for contender in self.lines]

    def of_one_unit(
        self, measurements: Iterable[Measurement]
    ) -> tuple[list[tuple[Contender, Measurement]], str, list[str]]:
        """What is in the commonest unit, by contender; this unit; sentences about what is not."""
        listed = self.in_one_unit(measurements)
        units = [measurement.unit for measurement in listed]
        unit = max(units, key=units.count, default="")
        measured = {measurement.series_id for measurement in listed}
        drawn = [
            (contender, measurement)
            for contender in self.lines or ()
            for measurement in listed
            if measurement.series_id == contender.key and measurement.unit == unit
        ]
        in_unit = {contender.key for contender, _ in drawn}
        notes = [
            f"{contender.name} is not drawn: "
            + (
                "it is measured in another unit."
                if contender.key in measured
                else "it has no such number."
            )
            for contender in self.lines or ()
            if contender.key not in in_unit
        ]
        return drawn, unit, notes


class FixedSizesPicture(SeveralContendersPicture):
    """One of several at ``record_kb`` and ``file_kb``, None being every size."""

    def __init__(self, spec: PictureSpec, test: str, offer: DrawableTests) -> None:
        super().__init__(spec, test, offer)
        self.records, self.files = cells.sizes_of(self.keys, test) if self.keys else ([], [])
        self.record_kb, self.file_kb = spec.record_kb, spec.file_kb
        self.block = testnames.block_word(test)

    @property
    def selects(self) -> Sequence[Select]:
        if not self.records:
            return ()
        return [
            _size_select("record", f"{self.block.capitalize()} size", self.records, self.record_kb),
            _size_select("file", "File size", self.files, self.file_kb),
        ]

    @property
    def sizes_in_words(self) -> list[str]:
        """The sizes that are asked for: "record 4K", "file 64M"."""
        return sizes_in_words(self.record_kb, self.file_kb, self.block)


def sizes_in_words(record_kb: int | None, file_kb: int | None, block: str = "block") -> list[str]:
    """Sizes as "record 4K" and "file 64M", those that are asked for."""
    return [
        *([f"{block} {size_name(record_kb)}"] if record_kb is not None else []),
        *([f"file {size_name(file_kb)}"] if file_kb is not None else []),
    ]


def _size_select(parameter: str, label: str, sizes: Sequence[int], chosen: int | None) -> Select:
    offered = [("", "every size"), *((size, size_name(size)) for size in sizes)]
    return Select(parameter, label, offered, chosen)
