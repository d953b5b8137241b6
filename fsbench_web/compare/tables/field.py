"""Who competes in a comparison: the contenders there are, and the scores that pass its filters."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Q, QuerySet

from fsbench_web.compare.selection.properties import PROPERTIES, Value
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.tables import emulation
from fsbench_web.core.units import lower_is_better
from fsbench_web.platform import limits
from fsbench_web.studies.models import Score
from fsbench_web.studies.scores.best_score_query import (
    CONFIGURATION,
    SERIES,
    configurations_in,
    emulated_in,
)
from fsbench_web.studies.scores.queries import series_facts

Facts = dict[tuple[str, tuple[str, ...]], Mapping[int, Any]]
"""What was read of configurations or series, by which of them and of which studies."""


@dataclass(frozen=True)
class Field:
    """The ``values`` of the property compared, by configuration or by series, as ``by`` says.

    ``facts`` are of all of these there are. ``scores`` pass the filters that are columns of theirs;
    ``considered`` all filters. ``left_out`` are the series that pass and do not compete, because
    they were emulated.
    """

    by: str
    facts: Mapping[int, Any]
    values: Mapping[int, Value]
    scores: QuerySet[Score]
    considered: QuerySet[Score]
    left_out: frozenset[int] = frozenset()

    @property
    def names(self) -> dict[int, str]:
        return {key: value.slug for key, value in self.values.items()}

    def narrowed(self, **columns: Any) -> "Field":
        """Of the same contenders those scores alone that have these values of columns."""
        return replace(
            self,
            scores=self.scores.filter(**columns),
            considered=self.considered.filter(**columns),
        )


def field_of(spec: ComparisonSpec, known_facts: Facts | None = None) -> Field:
    """Who competes in ``spec``. One query; three where anything was emulated, two more of a window.

    Emulated results are left out here, before any contender is the best of anything.
    ``known_facts`` are what the same page has read of configurations or series; what they lack is
    read and added.
    """
    field = _filtered_field(spec, {} if known_facts is None else known_facts)
    if spec.emulated or any(field.facts[key].is_emulated for key in field.values):
        field = _without_emulated(field, spec)
    return _window(field, spec.from_row) if spec.from_row else field


def has_scores(spec: ComparisonSpec, known_facts: Facts) -> bool:
    """Whether ``spec`` shows anything. One query; two where it says what of emulated results.

    ``known_facts`` keep what is read of configurations and series, one query more, for the next
    call.
    """
    considered = _filtered_field(spec, known_facts).considered
    # Unless it is said, emulated ones are left out only where there are others.
    if spec.emulated in (emulation.OUT, emulation.ONLY):
        is_emulated = Q(series_id__in=list(emulated_in(spec.studies)))
        is_only = spec.emulated == emulation.ONLY
        considered = considered.filter(is_emulated if is_only else ~is_emulated)
    return considered.order_by().exists()


def direction(unit: str) -> bool | None:
    """Whether lower is better; None where nobody said."""
    try:
        return lower_is_better(unit)
    except ValueError:
        return None


def _filtered_field(spec: ComparisonSpec, known_facts: Facts) -> Field:
    """Whoever passes the filters, emulated or not. One query, unless it is in ``known_facts``.

    By configuration where neither the property nor a filter asks for more: there are few of them,
    and thousands of series.
    """
    score_filter, compared = spec.score_filter, PROPERTIES[spec.by]
    of_configuration = compared.is_of_configuration and score_filter.of_configuration
    by = CONFIGURATION if of_configuration else SERIES
    if (by, spec.studies) not in known_facts and of_configuration:
        known_facts[by, spec.studies] = configurations_in(spec.studies)
    elif (by, spec.studies) not in known_facts:
        known_facts[by, spec.studies] = series_facts(None, spec.studies)
    facts = known_facts[by, spec.studies]
    values = {
        key: compared.value_of(competitor)
        for key, competitor in facts.items()
        if score_filter.takes(competitor)
    }
    scores = score_filter.scores
    is_whole = len(values) == len(facts)
    considered = scores if is_whole else scores.filter(**{f"{by}__in": list(values)})
    return Field(by, facts, values, scores, considered)


def _without_emulated(field: Field, spec: ComparisonSpec) -> Field:
    """Without what was emulated, or what was not. Two queries."""
    passing = set(field.considered.order_by().values_list("series_id", flat=True).distinct())
    emulated = emulated_in(spec.studies)
    left_out = emulation.left_out({pk: pk in emulated for pk in passing}, spec.emulated)
    if not left_out:
        return field
    return replace(field.narrowed(series_id__in=list(passing - left_out)), left_out=left_out)


def _window(field: Field, first: int) -> Field:
    """Of one table the scores from the ``first`` on, best first, as many as are shown at once.

    Two queries.
    """
    scores = field.considered.order_by()
    units = list(scores.values_list("unit", flat=True)[:1])
    is_lower = bool(units and direction(units[0]))
    ranked = scores.order_by("unit", "value" if is_lower else "-value", "pk")
    window = ranked.values_list("pk", flat=True)[first - 1 : first - 1 + limits.WINDOW]
    return field.narrowed(pk__in=list(window))
