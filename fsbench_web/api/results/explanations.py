"""What differs most between contenders in what their work cost and how they waited."""

from django.http import HttpRequest
from ninja import Query, Schema
from pydantic import Field

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.api.protocol.errors import Refused
from fsbench_web.api.protocol.router import Router
from fsbench_web.api.protocol.schemas import LARGEST_ID, With, value_at
from fsbench_web.compare.explanations.contenders import CAUTION, MOST_SERIES, explanations

router = Router()


class ExplanationFilters(Schema):
    series: list[int] = Field(
        ...,
        min_length=2,
        max_length=MOST_SERIES,
        description="the contenders, at least two; the fastest is the reference",
    )
    test: str = Field("", max_length=200, description="the test to explain")
    category: str = Field("", max_length=20, description="maximum, overall, mean, ...")


class ExplainedContenderOut(Schema):
    """``runs`` are the finished ones that were sampled."""

    series: int = value_at("series.pk")
    label: str
    score: float | None
    unit: str
    runs: int


class DifferenceOut(Schema):
    """``ratio`` is of this contender over the reference, with the floor of the cost added to both,
    and its 95% interval; ``p_holm`` is corrected over all costs of the pair. ``status`` is differs,
    alike or unsure, ``kind`` work or wait.
    """

    cost: str = value_at("cost.test")
    label: str = value_at("cost.label")
    unit: str = value_at("cost.unit")
    kind: str
    status: str
    value: float
    reference_value: float = value_at("other")
    ratio: float
    ratio_low: float | None = value_at("low")
    ratio_high: float | None = value_at("high")
    p_holm: float | None = value_at("p_value")
    blocks: int
    definition: str = value_at("cost.definition")


class SetupOut(Schema):
    """What is recorded to be set up differently; ``fits`` are costs that it is known to change."""

    name: str
    label: str
    value: str
    reference_value: str = value_at("other")
    fits: list[str]


class ExplanationOut(Schema):
    """``differences`` are ranked: costs of the work, then waits. ``ranked`` names those that differ
    for certain in the order of all. ``sentence`` is empty: read ``differences``.
    """

    contender: ExplainedContenderOut = value_at("slower")
    slower_percent: float | None = value_at("behind_percent")
    sentence: str
    tested: int = value_at("explanation.tested")
    differences: list[DifferenceOut] = value_at("explanation.differences")
    missing: list[str]
    ranked: list[str]
    setup: list[SetupOut] = value_at("setups")


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
def get_explanations(request: HttpRequest, filters: Query[ExplanationFilters]) -> With:
    """The fastest of some series against each of the others, ranked by what differs most."""
    if any(not 0 < number <= LARGEST_ID for number in filters.series):
        raise Refused(422, [("series", "There is no such series.")])
    explained = explanations(filters.series, filters.test, filters.category)
    if explained is None:
        raise Refused(404, [("series", "Fewer than two of these series are there.")])
    return With(
        explained,
        caution=CAUTION,
        explanations=[
            With(
                other,
                sentence="",
                missing=[cost.test for cost in other.explanation.missing],
                ranked=[difference.cost.test for difference in other.explanation.differing],
            )
            for other in explained.others
        ],
    )
