"""What a kind of picture is: what a test must have, what its form asks, how it is drawn."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import plotly.graph_objects as go

from fsbench_web.compare.pictures.drawable import Contender, DrawableTests, Need, category_of
from fsbench_web.compare.pictures.spec import SCALES, PictureSpec
from fsbench_web.compare.pictures.table import PictureTable
from fsbench_web.compare.selection import profiles, wording
from fsbench_web.core.scoring import categories, testnames


class PictureUnavailable(ValueError):
    """Why there is no picture, as a sentence."""


@dataclass(frozen=True)
class Picture:
    """A figure, its numbers, and sentences about what is missing from it.

    Without a figure the sentences say why there is none. ``undrawn`` is how many lines a limit
    left out of it, which its legend says.
    """

    figure: go.Figure | None
    table: PictureTable[Any] | None = None
    notes: list[str] = field(default_factory=list)
    undrawn: int = 0


@dataclass(frozen=True)
class Select:
    """A select box of the form: a parameter of the address, with (value, words) to choose from."""

    parameter: str
    label: str
    options: Sequence[tuple[object, str]]
    chosen: object = None


class PictureKind(ABC):
    """A kind of picture, and as an object the one that ``spec`` says, of ``test``.

    Making it settles what its form shows: ``contenders`` that can be chosen, best first, of which
    ``lines`` are drawn (None where it does not ask for several), how many more are ``undrawn``,
    because a chart has a limit, and ``notices``, sentences for the page.
    """

    slug: ClassVar[str]
    label: ClassVar[str]
    words: ClassVar[str]
    needs: ClassVar[Need]

    def __init__(self, spec: PictureSpec, test: str, offer: DrawableTests) -> None:
        self.spec, self.test, self.offer = spec, test, offer
        self.contenders: Sequence[Contender] = ()
        self.lines: Sequence[Contender] | None = None
        self.undrawn = 0
        self.notices: list[str] = []

    @staticmethod
    def label_of(test: str) -> str:
        """What a test is called where this kind asks for one; any name has a label."""
        return testnames.label(test)

    @property
    def substitutions(self) -> list[str]:
        """What to say where something else is drawn than the address asks for besides the test."""
        category = self.spec.category
        if not self.spec.comparison.is_of_work and not categories.is_of_work(category):
            return []
        name = category.removeprefix(categories.PROFILE) or self.spec.comparison.profile
        work = f"the work profile {name}" if name and name != categories.RANGE else "the range"
        return [f"This chart is of single tests, and not of {work}: Scores draws that."]

    @property
    def selects(self) -> Sequence[Select]:
        """What its form asks besides the test and several contenders."""
        return ()

    @abstractmethod
    def draw(self) -> Picture:
        """The picture. Raises PictureUnavailable, and ``studies.scores.cells.TooManyValues``."""


def undrawn_notes(count: int, noun: str = "contenders") -> list[str]:
    return [f"{count} further {noun} are not drawn: choose fewer."] if count > 0 else []


def scale_select(spec: PictureSpec) -> Select:
    """What the axis of values is like."""
    return Select("scale", "Axis of values", list(SCALES.items()), spec.scale)


class CategoryPicture(PictureKind):
    """One that is of one ``category`` of scores."""

    def __init__(self, spec: PictureSpec, test: str, offer: DrawableTests) -> None:
        super().__init__(spec, test, offer)
        slugs = self.drawable_categories
        if spec.comparison.categories:
            slugs = [slug for slug in slugs if slug in spec.comparison.categories] or slugs
        self.category = category_of(spec.category, slugs, is_printed=offer.is_printed(test))

    @property
    def substitutions(self) -> list[str]:
        return super().substitutions or self.other_category

    @property
    def other_category(self) -> list[str]:
        """Another category than the one that is asked for, or filtered by, is told."""
        requested = (self.spec.category,) if self.spec.category else self.spec.comparison.categories
        if not requested or self.category in requested:
            return []
        wanted = wording.joined(
            [categories.in_sentence(profiles.label_of(slug)) for slug in requested]
        )
        drawn = categories.in_sentence(profiles.label_of(self.category))
        return [f"{testnames.label(self.test)} has no {wanted} here; shown is its {drawn}."]

    @property
    def drawable_categories(self) -> list[str]:
        """The categories in which it can be drawn."""
        return self.offer.categories.get(self.test, [])

    @property
    def selects(self) -> Sequence[Select]:
        slugs = self.offer.categories.get(self.test, [])
        offered = [(slug, profiles.label_of(slug)) for slug in slugs]
        return [Select("in", "Category", offered, self.category)]
