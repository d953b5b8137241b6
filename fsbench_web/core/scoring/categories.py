"""The seven categories of the Unisys 2005 paper, and the one of tests that are no matrix. Pure.

Sizes are KB of 1024 bytes; a region includes its limits. Source: "Linux File Systems: Comparative
Performance", Unisys 2005, the score definitions before Appendix A. The paper speaks of "five"
categories that make up the overall score and lists six; its 210 printed scores prove six.
"""

from collections.abc import Iterable
from dataclasses import dataclass

Cell = tuple[int, int]
"""(record size KB, file size KB)"""

MEAN = "mean"


@dataclass(frozen=True)
class Region:
    """A part of the matrix: record sizes by file sizes, in KB, limits included."""

    minimum_record_kb: int
    maximum_record_kb: int
    minimum_file_kb: int
    maximum_file_kb: int

    def among(self, cells: Iterable[Cell]) -> list[Cell]:
        """The cells that are in it."""
        least_record, most_record = self.minimum_record_kb, self.maximum_record_kb
        least_file, most_file = self.minimum_file_kb, self.maximum_file_kb
        return [
            cell
            for cell in cells
            if least_record <= cell[0] <= most_record and least_file <= cell[1] <= most_file
        ]


@dataclass(frozen=True)
class Category:
    """One way to make a score of all repeats. ``region`` None: the whole matrix."""

    slug: str
    label: str
    definition: str
    region: Region | None = None

    def holds(self, cell: Cell) -> bool:
        return self.region is None or bool(self.region.among([cell]))


CATEGORIES: dict[str, Category] = {
    category.slug: category
    for category in (
        Category("maximum", "Maximum", "The largest value of all repeats."),
        Category("minimum", "Minimum", "The smallest value of all repeats."),
        Category("total_average", "Total average", "The mean of all values of all repeats."),
        Category(
            "target_average",
            "Target average",
            "The mean over record sizes 1 KB to 32 KB and file sizes 4 KB to 2 MB, "
            "after the cell-wise mean of the repeats.",
            Region(1, 32, 4, 2048),
        ),
        Category(
            "ora_ta",
            "Ora-ta",
            "Oracle target average: the mean over record sizes 4 KB to 16 KB and file sizes "
            "4 KB to 4 GB, after the cell-wise mean of the repeats.",
            Region(4, 16, 4, 4_194_304),
        ),
        Category(
            "specfp_ta",
            "SpecFP-ta",
            "SpecFP target average: the mean over record sizes 1 KB to 4 KB and file sizes "
            "4 KB to 4 GB, after the cell-wise mean of the repeats.",
            Region(1, 4, 4, 4_194_304),
        ),
        Category("overall", "Overall", "The sum of the six other categories."),
    )
}
SUMMED = tuple(slug for slug in CATEGORIES if slug != "overall")
MEAN_CATEGORY = Category(
    MEAN, "Mean", "The mean of the repeats, for tests that give one value and no matrix."
)
_PROFILES = {
    "oltp": "OLTP database",
    "mail": "Mail server",
    "build": "Build farm",
    "backup": "Backup target",
    "virtual-machines": "Virtual machines",
    "media": "Media",
}
_ALL = {**CATEGORIES, MEAN: MEAN_CATEGORY}
_RANGE_LABEL = "Range of sizes"
_NAMES = ("ora_ta", "specfp_ta")
_PLAIN_WORDS = {_RANGE_LABEL, *(entry.label for slug, entry in _ALL.items() if slug not in _NAMES)}
"""The labels that are no names."""
_ORDER = {slug: place for place, slug in enumerate(_ALL)}


def category(slug: str) -> Category:
    """The category named ``slug``, ``mean`` included. Raises KeyError."""
    return _ALL[slug]


def all_slugs() -> tuple[str, ...]:
    """Every category, in the paper's order, ``mean`` last."""
    return tuple(_ALL)


PROFILE = "profile:"
"""The prefix of a work profile that replaces a category."""
RANGE = "range"
"""In that place for a range of sizes, which is a profile without a name."""


def label(slug: str, title: str = "") -> str:
    """What people read; unknown categories and profiles without ``title`` keep their names."""
    if slug == RANGE:
        return _RANGE_LABEL
    name, _, version = slug.removeprefix(PROFILE).partition("@")
    if slug.startswith(PROFILE) and name and version:
        return f"{title or _PROFILES.get(name, name)}, version {version}"
    return _ALL[slug].label if slug in _ALL else slug


def is_of_work(slug: str) -> bool:
    """Whether it stands for a work profile, or a range of sizes: no score is stored of it."""
    return slug == RANGE or slug.startswith(PROFILE)


def in_sentence(label: str) -> str:
    """A label within a sentence: ``total average``; names stay: ``Ora-ta``, titles of profiles."""
    return label.lower() if label in _PLAIN_WORDS else label


def place(slug: str) -> tuple[int, str]:
    """Sort key: the paper's order, then unknown ones by name."""
    return (_ORDER.get(slug, len(_ORDER)), slug)


def expected_cells(matrix: Iterable[Cell]) -> dict[str, int]:
    """How many cells of a workload's full matrix each category is made of."""
    cells = set(matrix)
    return {slug: sum(map(entry.holds, cells)) for slug, entry in CATEGORIES.items()}
