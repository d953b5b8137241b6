"""The filter form: every choice there is, and which are made."""

from collections.abc import Iterable
from dataclasses import dataclass

from fsbench_web.compare.spec import ComparisonSpec
from fsbench_web.scoring import categories, testnames
from fsbench_web.studies.queries import ScoreChoices


@dataclass(frozen=True)
class Choice:
    value: str
    label: str
    is_chosen: bool


@dataclass(frozen=True)
class Filter:
    """One group of checkboxes. No box checked takes all."""

    parameter: str
    title: str
    choices: list[Choice]

    @property
    def chosen(self) -> int:
        return sum(choice.is_chosen for choice in self.choices)


def filters(spec: ComparisonSpec, choices: ScoreChoices) -> list[Filter]:
    """The groups in reading order; one with nothing to choose between is left out."""
    groups = [
        _filter("study", "Studies", choices.studies, spec.studies),
        _filter("test", "Tests", _tests(choices.tests), spec.tests),
        _filter("category", "Categories", _categories(choices.categories), spec.categories),
        _filter("filesystem", "File systems", _plain(choices.filesystems), spec.filesystems),
        _filter("workload", "Workloads", choices.workloads, spec.workloads),
        _filter("hardware", "Hardware", choices.hardware, spec.hardware),
    ]
    return [group for group in groups if len(group.choices) > 1 or group.chosen]


def _filter(
    parameter: str, title: str, offered: Iterable[tuple[str, str]], chosen: Iterable[str]
) -> Filter:
    chosen = set(chosen)
    labels = dict(offered)
    # What is chosen stays in the form, also when no score has it: else it could not be unchosen.
    labels |= {value: value for value in sorted(chosen) if value not in labels}
    return Filter(
        parameter,
        title,
        [Choice(value, label, value in chosen) for value, label in labels.items()],
    )


def _tests(names: Iterable[str]) -> list[tuple[str, str]]:
    return [(name, testnames.label(name)) for name in sorted(names, key=testnames.place)]


def _categories(slugs: Iterable[str]) -> list[tuple[str, str]]:
    return [(slug, categories.label(slug)) for slug in sorted(slugs, key=categories.place)]


def _plain(names: Iterable[str]) -> list[tuple[str, str]]:
    return [(name, name) for name in names]
