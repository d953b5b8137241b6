"""Which scores a comparison shows while others write scores."""

from collections.abc import Mapping

import pytest
from django.db.models import QuerySet

from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.tables import query
from fsbench_web.compare.tables.delta_tables import delta_tables
from fsbench_web.core.comparison.rows import Candidate
from fsbench_web.studies.models import Score
from fsbench_web.studies.scores.queries import best_candidates
from tests.compare.conftest import make_score

pytestmark = pytest.mark.django_db


def test_it_chooses_again_when_a_chosen_score_was_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make_score("xfs", 10.0)
    make_score("jfs", 20.0)
    chosen_before = best_candidates

    def replaced_meanwhile(
        scores: QuerySet[Score], contenders: Mapping[int, str], by: str
    ) -> list[Candidate]:
        candidates = chosen_before(scores, contenders, by)
        monkeypatch.setattr(query, "best_candidates", chosen_before)
        Score.objects.filter(series__configuration__label="jfs").delete()
        make_score("jfs", 50.0)
        return candidates

    monkeypatch.setattr(query, "best_candidates", replaced_meanwhile)
    [table] = delta_tables(ComparisonSpec(by="filesystem"))
    assert [(row.contender, row.score) for row in table.rows] == [("xfs", 10.0), ("jfs", 50.0)]
