"""Scores: what the finished runs of a series come to."""

from django.db import models

from fsbench_web.core.scoring.quality import CACHED_CELLS, EVERY_CELL, SOUND_CELLS, UNCACHED_CELLS
from fsbench_web.studies.models.studies import Series
from fsbench_web.studies.visibility import Visible


class WholeScores(Visible["Score"]):
    """The default manager: scores of all cells. ``Score.selections`` has those of some too."""

    def get_queryset(self) -> models.QuerySet["Score"]:
        return super().get_queryset().filter(selection=Selection.ALL)


class Selection(models.TextChoices):
    """Which cells a score is made of; core.scoring.judging makes them."""

    ALL = EVERY_CELL, "every cell"
    SOUND = SOUND_CELLS, "without flagged cells"
    CACHED = CACHED_CELLS, "files that fit into the cache"
    UNCACHED = UNCACHED_CELLS, "files beyond the cache"


COMPUTED = "computed"
"""Where a score comes from that was made of measurements."""


class Score(models.Model):
    """A summary of all finished repeats of one series (scoring.scores), or a published figure.

    A ``selection`` is of some of the cells. ``left_out`` says what it is without in the category's
    region: {"cells": 10, "numbers": 12, "of": 60, "why": {"clock": 10, "outlier": 2}}; a number
    counts for each reason.

    ``test`` has its load (scoring.testnames.at_load). ``repeats`` is null where a paper does not
    say. ``run_ids`` are the runs behind it, oldest first. ``published`` is what a paper printed:
    best, delta1_percent and delta2_percent, as text.
    """

    series = models.ForeignKey(Series, on_delete=models.CASCADE, related_name="scores")
    test = models.CharField(max_length=190)
    category = models.CharField(max_length=20)
    selection = models.CharField(max_length=10, choices=Selection, default=Selection.ALL)
    value = models.FloatField()
    unit = models.CharField(max_length=20)
    summed_unit = models.CharField(
        null=True,
        max_length=20,
        help_text="Of an overall score of rates, whose unit is a sum's: what is summed; else null",
    )
    repeats = models.PositiveIntegerField(null=True)
    run_ids = models.JSONField(
        null=True,
        help_text="Null: of a publication, or of before they were kept (manage.py reflag)",
    )
    half_width = models.FloatField(
        null=True,
        help_text="Of the 95% interval of the repeats' own scores, in unit; null below two repeats",
    )
    half_width_percent = models.FloatField(
        null=True, help_text="The same in percent of the mean of the repeats' own scores"
    )
    interval = models.JSONField(
        null=True,
        help_text="What the 95% interval is of (confidence.Interval.as_dict): repeats, or "
        "samples of a single run; null where there is none, and in scores of before it was "
        "kept",
    )
    repeat_scores = models.JSONField(
        null=True,
        help_text="[[Run.block, score of that run by itself or null], ...] as run_ids; null below "
        "two runs, and in scores of before it was kept",
    )
    cells = models.PositiveIntegerField(null=True, help_text="Cells the score is made of")
    cells_expected = models.PositiveIntegerField(
        null=True, help_text="Cells of the category's region in the full matrix of the workload"
    )
    left_out = models.JSONField(null=True)
    share = models.JSONField(
        null=True,
        help_text="What it is of what its LUN did by itself (ceilings.Share); null: not known, or "
        "nothing of the LUN corresponds to it",
    )
    published = models.JSONField(null=True)
    flags = models.JSONField(default=list)
    origin = models.CharField(max_length=10, default=COMPUTED)

    objects = WholeScores()
    selections = Visible()
    study_path = "series__study"

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["series", "test", "category", "selection"], name="score_unique_in_series"
            )
        ]
        indexes = [
            # Nearly every page asks for the scores of all cells: three of four are of selections.
            models.Index(fields=["test", "category", "selection"]),
            # With all that it takes to choose the best (queries): PostgreSQL then reads no
            # rows for it, which halves its time where a study has 100,000 scores.
            models.Index(
                fields=["series"],
                include=["test", "category", "value", "unit", "summed_unit"],
                condition=models.Q(selection="all"),
                name="score_of_all_cells",
            ),
            # Few, and asked for beside many that are not.
            models.Index(
                fields=["test", "category"],
                condition=models.Q(published__isnull=False),
                name="score_printed",
            ),
        ]


class RenamedTest(models.Model):
    """A test with its load that has another name since its file was read again; or several."""

    old = models.CharField(max_length=190, db_index=True)
    new = models.CharField(max_length=190)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["old", "new"], name="test_is_renamed_to_another_once")
        ]

    def __str__(self) -> str:
        return f"{self.old} is {self.new}"
