"""What differs most between contenders in what their work cost and how they waited."""

from typing import Any

from django.http import HttpRequest
from ninja import Query, Schema
from pydantic import Field

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.api.protocol.errors import Refused
from fsbench_web.api.protocol.pages import LARGEST_ID
from fsbench_web.api.protocol.router import Router
from fsbench_web.compare.explanations.contenders import (
    CAUTION,
    MOST_SERIES,
    Contender,
    explanations,
)
from fsbench_web.compare.explanations.setups import SetupDifference
from fsbench_web.core.explanation import Difference

router = Router()


class ExplanationFilters(Schema):
    series: list[int] = Field(
        ...,
        min_length=2,
        max_length=MOST_SERIES,
        description="the contenders, at least two; the fastest is the reference",
    )
    test: str = Field("", max_length=200, description="of which the speed is told")
    category: str = Field("", max_length=20, description="maximum, overall, mean, ...")


class ExplainedContenderOut(Schema):
    """``runs`` are the finished ones that were sampled."""

    series: int
    label: str
    score: float | None
    unit: str
    runs: int


class DifferenceOut(Schema):
    """``ratio`` is of this contender over the reference, with the floor of the cost added to both,
    and its 95% interval; ``p_holm`` is corrected over all costs of the pair. ``status`` is differs,
    alike or unsure, ``kind`` work or wait.
    """

    cost: str
    label: str
    unit: str
    kind: str
    status: str
    value: float
    reference_value: float
    ratio: float
    ratio_low: float | None
    ratio_high: float | None
    p_holm: float | None
    blocks: int
    definition: str


class SetupOut(Schema):
    """What is recorded to be set up differently; ``fits`` are costs that it is known to change."""

    name: str
    label: str
    value: str
    reference_value: str
    fits: list[str]


class ExplanationOut(Schema):
    """``differences`` are ranked: costs of the work, then waits. ``ranked`` names those that differ
    for certain in the order of all. ``sentence`` is empty: read ``differences``.
    """

    contender: ExplainedContenderOut
    slower_percent: float | None
    sentence: str
    tested: int
    differences: list[DifferenceOut]
    missing: list[str]
    ranked: list[str]
    setup: list[SetupOut]


class ExplanationsOut(Schema):
    """Associations, never a proof."""

    test: str
    category: str
    reference: ExplainedContenderOut
    caution: str
    explanations: list[ExplanationOut]


@router.get(
    "/explanations", response=ExplanationsOut, summary="What differs most between contenders"
)
@requires(Action.READ)
def get_explanations(request: HttpRequest, filters: Query[ExplanationFilters]) -> dict[str, Any]:
    """The fastest of some series against each of the others, ranked by what differs most."""
    if any(not 0 < number <= LARGEST_ID for number in filters.series):
        raise Refused(422, [("series", "There is no such series.")])
    explained = explanations(filters.series, filters.test, filters.category)
    if explained is None:
        raise Refused(404, [("series", "Fewer than two of these series are there.")])
    return {
        "test": explained.test,
        "category": explained.category,
        "reference": _contender(explained.reference),
        "caution": CAUTION,
        "explanations": [
            {
                "contender": _contender(other.slower),
                "slower_percent": other.behind_percent,
                "sentence": "",
                "tested": other.explanation.tested,
                "differences": [
                    _difference(difference)
                    for difference in (*other.explanation.work, *other.explanation.waits)
                ],
                "missing": [cost.test for cost in other.explanation.missing],
                "ranked": [difference.cost.test for difference in other.explanation.differing],
                "setup": [_setup(setup) for setup in other.setups],
            }
            for other in explained.others
        ],
    }


def _contender(contender: Contender) -> dict[str, Any]:
    return {
        "series": contender.series.pk,
        "label": contender.label,
        "score": contender.score,
        "unit": contender.unit,
        "runs": contender.runs,
    }


def _setup(setup: SetupDifference) -> dict[str, Any]:
    return {
        "name": setup.name,
        "label": setup.label,
        "value": setup.value,
        "reference_value": setup.other,
        "fits": list(setup.fits),
    }


def _difference(difference: Difference) -> dict[str, Any]:
    return {
        "cost": difference.cost.test,
        "label": difference.cost.label,
        "unit": difference.cost.unit,
        "kind": difference.kind,
        "status": difference.status,
        "value": difference.value,
        "reference_value": difference.other,
        "ratio": difference.ratio,
        "ratio_low": difference.low,
        "ratio_high": difference.high,
        "p_holm": difference.p_value,
        "blocks": difference.blocks,
        "definition": difference.cost.definition,
    }
