"""All tables of studies as version 0.11 has them. A database of 0.11 is taken as it is."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

# Groups of alike series, from one to the next.
ALIKE = (
    "kernel, distribution, COALESCE(workload_id, 0), COALESCE(hardware_id, 0), "
    "COALESCE(lun_id, 0), md5(preparation::text), md5(machine::text), id"
)


def tune_postgresql(apps, schema_editor):
    """Make what models cannot declare: plain storage of files, and the index of alike series."""
    if schema_editor.connection.vendor != "postgresql":
        return
    schema_editor.execute(
        "ALTER TABLE studies_artefact ALTER COLUMN content_gzip SET STORAGE EXTERNAL"
    )
    schema_editor.execute(f"CREATE INDEX studies_series_alike ON studies_series ({ALIKE})")


class Migration(migrations.Migration):
    replaces = [
        ("studies", "0001_initial"),
        ("studies", "0002_submission"),
        ("studies", "0003_sweeps"),
        ("studies", "0004_journals"),
        ("studies", "0005_method"),
        ("studies", "0006_systems_of_a_study"),
        ("studies", "0007_loads_and_samples"),
        ("studies", "0008_quality"),
        ("studies", "0009_intervals"),
        ("studies", "0010_rights"),
        ("studies", "0011_guest_machine"),
        ("studies", "0012_scores_of_all"),
        ("studies", "0013_printed_scores"),
        ("studies", "0014_authors_stay"),
        ("studies", "0015_score_run_ids"),
        ("studies", "0016_interrupted_runs"),
        ("studies", "0017_order_body_digest"),
        ("studies", "0018_jobs"),
        ("studies", "0019_measurement_blocks"),
        ("studies", "0020_move_measurements"),
        ("studies", "0021_drop_measurement_rows"),
        ("studies", "0022_measured_at"),
        ("studies", "0023_blocks"),
        ("studies", "0024_blocks_of_runs"),
        ("studies", "0025_score_summed_unit"),
        ("studies", "0026_races"),
        ("studies", "0027_files_as_they_are"),
        ("studies", "0028_kept_best_scores"),
        ("studies", "0029_probes"),
        ("studies", "0030_stacks"),
        ("studies", "0031_run_activity"),
        ("studies", "0032_shares"),
        ("studies", "0033_todays_schedulers_in_labels"),
        ("studies", "0034_latency_blocks"),
        ("studies", "0035_digests_of_outputs"),
        ("studies", "0036_job_times"),
        ("studies", "0037_traces"),
        ("studies", "0038_probe_targets"),
        ("studies", "0039_latency_series"),
        ("studies", "0040_race_find"),
        ("studies", "0041_run_clients"),
        ("studies", "0042_client_worker_names"),
        ("studies", "0043_alike_series"),
        ("studies", "0044_leases_of_disks"),
        ("studies", "0045_postmark_judged_again"),
        ("studies", "0046_heartbeats"),
        ("studies", "0047_trials_judged_again"),
    ]

    initial = True

    dependencies = [
        ("accounts", "0001_tables_of_0_11"),
        ("catalog", "0001_tables_of_0_11"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="RepeatRule",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("half_width_percent", models.FloatField(help_text="Of the mean, 95% Student-t")),
                ("least", models.PositiveIntegerField()),
                ("most", models.PositiveIntegerField()),
                ("stopped_at", models.DateTimeField(null=True)),
                ("stop_reason", models.CharField(blank=True, max_length=300)),
            ],
        ),
        migrations.CreateModel(
            name="Study",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("slug", models.SlugField(max_length=100, unique=True)),
                ("title", models.CharField(max_length=200)),
                ("summary", models.TextField(blank=True)),
                (
                    "is_published",
                    models.BooleanField(
                        default=False,
                        help_text="A paper whose facts ship with fsbench; takes no further runs",
                    ),
                ),
                ("authors", models.CharField(blank=True, max_length=300)),
                ("organisation", models.CharField(blank=True, max_length=200)),
                (
                    "published_on",
                    models.CharField(
                        blank=True, help_text="As precise as the paper is: 2005-12", max_length=10
                    ),
                ),
                (
                    "sections",
                    models.JSONField(
                        default=list,
                        help_text="What the study says of itself; see studies.published",
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "visibility",
                    models.CharField(
                        choices=[
                            ("public", "Everybody who may read"),
                            ("team", "Its team"),
                            ("private", "Who made it, and administrators"),
                        ],
                        db_default="public",
                        default="public",
                        max_length=10,
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "systems",
                    models.ManyToManyField(
                        help_text="The hardware that a paper names; of runs, their series know it",
                        related_name="studies",
                        to="catalog.hardwareprofile",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="studies",
                        to="accounts.team",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "studies",
                "ordering": ["-is_published", "title"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("visibility__in", ["public", "team", "private"])),
                        name="study_visibility_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("is_published", False), ("visibility", "public"), _connector="OR"
                        ),
                        name="study_published_is_public",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Job",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("token", models.CharField(max_length=64, unique=True)),
                (
                    "body_sha256",
                    models.CharField(
                        blank=True,
                        help_text="Of the call that submitted; empty: no call, or none kept",
                        max_length=64,
                    ),
                ),
                ("document", models.JSONField(default=dict)),
                (
                    "left_out",
                    models.JSONField(
                        default=list,
                        help_text="Combinations that cannot be: [[place, configuration, why], ...]",
                    ),
                ),
                (
                    "priority",
                    models.SmallIntegerField(default=0, help_text="-10 to 10; higher is run first"),
                ),
                (
                    "time_limit_s",
                    models.PositiveIntegerField(
                        help_text="Of one whole run, in seconds; null: none but those of its steps",
                        null=True,
                    ),
                ),
                (
                    "run_again",
                    models.PositiveSmallIntegerField(
                        default=1,
                        help_text="How often in a row a run that was interrupted (studies.causes) is run again by itself",
                    ),
                ),
                (
                    "probe_s",
                    models.PositiveSmallIntegerField(
                        db_default=0,
                        default=0,
                        help_text="Seconds, at most, in which the LUN itself is measured before each block; 0: not",
                    ),
                ),
                (
                    "start_at",
                    models.DateTimeField(
                        help_text="No run begins before; null: at once", null=True
                    ),
                ),
                (
                    "stop_before",
                    models.DateTimeField(
                        help_text="No run begins that would not end before; null: no end", null=True
                    ),
                ),
                ("paused_at", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "lun",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="catalog.lun",
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="jobs",
                        to="studies.study",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("priority__gte", -10), ("priority__lte", 10)),
                        name="job_priority_is_in_bounds",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="KeptBestScores",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("stamps", models.BigIntegerField()),
                (
                    "configuration",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="catalog.filesystemconfiguration",
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="studies.study",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "kept best scores",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("study", "configuration"),
                        name="best_scores_unique_of_configuration",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Series",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(max_length=64, unique=True)),
                (
                    "stack_luns",
                    models.CharField(
                        blank=True,
                        db_default="",
                        help_text="The names of the other LUNs of its stack by role, as ``members`` has them",
                        max_length=2000,
                    ),
                ),
                ("kernel", models.CharField(blank=True, max_length=200)),
                ("distribution", models.CharField(blank=True, max_length=200)),
                (
                    "preparation",
                    models.JSONField(
                        default=dict,
                        help_text="catalog.preparation; empty: a new file system and nothing more",
                    ),
                ),
                (
                    "machine",
                    models.JSONField(
                        default=dict, help_text="catalog.machines; empty: the worker's own executor"
                    ),
                ),
                (
                    "quality",
                    models.JSONField(
                        help_text="What its cells were judged by, studies.quality; null: they never were",
                        null=True,
                    ),
                ),
                (
                    "scores_stamp",
                    models.BigIntegerField(
                        db_default=0,
                        help_text="Another one whenever its scores are written (studies.scores.kept_best_scores)",
                    ),
                ),
                (
                    "configuration",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        to="catalog.filesystemconfiguration",
                    ),
                ),
                (
                    "hardware",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="catalog.hardwareprofile",
                    ),
                ),
                (
                    "journal_lun",
                    models.ForeignKey(
                        help_text="Where the journal is kept; null: on the LUN itself",
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="journal_series",
                        to="catalog.lun",
                    ),
                ),
                (
                    "lun",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, to="catalog.lun"
                    ),
                ),
                (
                    "workload",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="catalog.workload",
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="series",
                        to="studies.study",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "series",
                "indexes": [
                    models.Index(
                        fields=["study", "configuration"], name="studies_ser_study_i_37c951_idx"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="KeptBestScore",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("score_id", models.BigIntegerField()),
                ("series_id", models.BigIntegerField()),
                ("test", models.CharField(max_length=190)),
                ("category", models.CharField(max_length=20)),
                (
                    "unit",
                    models.CharField(help_text="The unit that its tool printed", max_length=20),
                ),
                ("value", models.FloatField()),
                (
                    "is_printed",
                    models.BooleanField(help_text="A paper printed something beside it"),
                ),
                (
                    "of",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="scores",
                        to="studies.keptbestscores",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Score",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("test", models.CharField(max_length=190)),
                ("category", models.CharField(max_length=20)),
                (
                    "selection",
                    models.CharField(
                        choices=[
                            ("all", "every cell"),
                            ("sound", "without flagged cells"),
                            ("cached", "files that fit into the cache"),
                            ("uncached", "files beyond the cache"),
                        ],
                        default="all",
                        max_length=10,
                    ),
                ),
                ("value", models.FloatField()),
                ("unit", models.CharField(max_length=20)),
                (
                    "summed_unit",
                    models.CharField(
                        help_text="Of an overall score of rates, whose unit is a sum's: what is summed; else null",
                        max_length=20,
                        null=True,
                    ),
                ),
                ("repeats", models.PositiveIntegerField(null=True)),
                (
                    "run_ids",
                    models.JSONField(
                        help_text="Null: of a publication, or of before they were kept (manage.py reflag)",
                        null=True,
                    ),
                ),
                (
                    "half_width",
                    models.FloatField(
                        help_text="Of the 95% interval of the repeats' own scores, in unit; null below two repeats",
                        null=True,
                    ),
                ),
                (
                    "half_width_percent",
                    models.FloatField(
                        help_text="The same in percent of the mean of the repeats' own scores",
                        null=True,
                    ),
                ),
                (
                    "interval",
                    models.JSONField(
                        help_text="What the 95% interval is of (confidence.Interval.as_dict): repeats, or samples of a single run; null where there is none, and in scores of before it was kept",
                        null=True,
                    ),
                ),
                (
                    "repeat_scores",
                    models.JSONField(
                        help_text="[[Run.block, score of that run by itself or null], ...] as run_ids; null below two runs, and in scores of before it was kept",
                        null=True,
                    ),
                ),
                (
                    "cells",
                    models.PositiveIntegerField(help_text="Cells the score is made of", null=True),
                ),
                (
                    "cells_expected",
                    models.PositiveIntegerField(
                        help_text="Cells of the category's region in the full matrix of the workload",
                        null=True,
                    ),
                ),
                ("left_out", models.JSONField(null=True)),
                (
                    "share",
                    models.JSONField(
                        help_text="What it is of what its LUN did by itself (ceilings.Share); null: not known, or nothing of the LUN corresponds to it",
                        null=True,
                    ),
                ),
                ("published", models.JSONField(null=True)),
                ("flags", models.JSONField(default=list)),
                ("origin", models.CharField(default="computed", max_length=10)),
                (
                    "series",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="scores",
                        to="studies.series",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        fields=["test", "category", "selection"], name="studies_sco_test_2874c6_idx"
                    ),
                    models.Index(
                        condition=models.Q(("selection", "all")),
                        fields=["series"],
                        name="score_of_all_cells",
                    ),
                    models.Index(
                        condition=models.Q(("published__isnull", False)),
                        fields=["test", "category"],
                        name="score_printed",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("series", "test", "category", "selection"),
                        name="score_unique_in_series",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="StackLun",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "role",
                    models.CharField(
                        help_text="catalog.configurations.stacks.ROLES", max_length=10
                    ),
                ),
                ("place", models.PositiveSmallIntegerField()),
                (
                    "lun",
                    models.ForeignKey(
                        help_text="null: gone",
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="stacks",
                        to="catalog.lun",
                    ),
                ),
                (
                    "series",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="stack",
                        to="studies.series",
                    ),
                ),
            ],
            options={
                "ordering": ["series", "place"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("series", "place"), name="stack_lun_place_unique"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Race",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "find",
                    models.CharField(
                        choices=[("best", "Best"), ("change", "Change")],
                        default="best",
                        max_length=10,
                    ),
                ),
                (
                    "contenders",
                    models.JSONField(
                        help_text="Keys of their series, as texts, in the order of the first block; of a change in that of their kernels"
                    ),
                ),
                (
                    "seed",
                    models.PositiveBigIntegerField(
                        help_text="Null: in that order in each block", null=True
                    ),
                ),
                ("test", models.CharField(max_length=200)),
                ("category", models.CharField(max_length=20)),
                (
                    "unit",
                    models.CharField(
                        blank=True, help_text="Empty until a run has a value", max_length=40
                    ),
                ),
                (
                    "budget_s",
                    models.PositiveIntegerField(help_text="Seconds of runs in all", null=True),
                ),
                ("budget_runs", models.PositiveIntegerField(help_text="Runs in all", null=True)),
                ("margin_percent", models.FloatField(help_text="What is less is no difference")),
                ("values", models.JSONField(default=dict)),
                ("failed", models.JSONField(default=dict)),
                ("ended_at", models.DateTimeField(null=True)),
                ("conclusion", models.TextField(blank=True)),
                (
                    "job",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="race",
                        to="studies.job",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("budget_runs__isnull", False), ("budget_s", None)),
                            models.Q(("budget_runs", None), ("budget_s__isnull", False)),
                            _connector="OR",
                        ),
                        name="race_has_one_budget",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Run",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("repeat", models.PositiveIntegerField(help_text="1 for the first")),
                (
                    "is_reference",
                    models.BooleanField(
                        default=False,
                        help_text="Inserted into a job to show whether the machine drifts",
                    ),
                ),
                (
                    "rerun",
                    models.PositiveSmallIntegerField(
                        default=0,
                        help_text="Above 0: written by fsbench itself for retry_of, which was interrupted; so many in a row",
                    ),
                ),
                (
                    "place",
                    models.PositiveBigIntegerField(
                        help_text="Its turn is that of the run of this number; null: of its own",
                        null=True,
                    ),
                ),
                (
                    "block",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="Runs of a study with the same block were measured beside each other: everything once before anything again; empty: in none",
                        max_length=60,
                    ),
                ),
                (
                    "tracing",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="Of an extra run: what it is traced with (core.traces.tracers), joined by blanks. Its numbers never count. Empty: an ordinary run",
                        max_length=60,
                    ),
                ),
                (
                    "confirmed",
                    models.JSONField(
                        default=dict,
                        help_text="What its LUNs were when somebody typed their names (catalog.lun_identity), by role; empty: not kept",
                    ),
                ),
                (
                    "origin",
                    models.CharField(
                        choices=[("measured", "Measured"), ("imported", "Imported")], max_length=10
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("leased", "Leased"),
                            ("preparing", "Preparing"),
                            ("running", "Running"),
                            ("collecting", "Collecting"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                            ("lost", "Lost"),
                        ],
                        default="queued",
                        max_length=12,
                    ),
                ),
                ("reason", models.TextField(blank=True, help_text="Why the run ended as it did")),
                (
                    "cause",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("benchmark", "the benchmark, or what it ran on, failed by itself"),
                            ("refused", "a check refused it before anything was erased"),
                            ("not-allowed", "who submitted it may not any more"),
                            ("cancelled", "somebody cancelled it"),
                            (
                                "out-of-time",
                                "its job stops before a time, and it would not have ended by then",
                            ),
                            ("time-limit", "it took longer than its job allows"),
                            ("worker-error", "the worker could not go on, by a mistake in it"),
                            ("worker-stopped", "its worker was stopped"),
                            ("worker-gone", "its worker died, and was started again"),
                            ("silent", "its worker or host sent no heartbeat"),
                            ("database", "the database was away for too long"),
                            ("daemon", "the Docker daemon went away"),
                            ("killed", "it was killed from outside"),
                        ],
                        help_text="The same, of a closed list",
                        max_length=20,
                    ),
                ),
                ("phase", models.CharField(blank=True, max_length=60)),
                (
                    "progress",
                    models.FloatField(default=0, help_text="0 to 1, of the phase running"),
                ),
                ("remaining_s", models.FloatField(null=True)),
                (
                    "commands",
                    models.JSONField(
                        default=list,
                        help_text="As run, in order: [{phase, argv, exit_code, duration_s}, ...]",
                    ),
                ),
                (
                    "conditions",
                    models.JSONField(
                        default=dict,
                        help_text="What held for this run alone: load, memory; see runner.execution.conditions",
                    ),
                ),
                (
                    "is_contended",
                    models.BooleanField(
                        default=False,
                        help_text="Another run was active on the same host or controller meanwhile",
                    ),
                ),
                (
                    "drift_percent",
                    models.FloatField(
                        help_text="How far the reference of its job had moved around it; null: not known",
                        null=True,
                    ),
                ),
                ("cancel_requested_at", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("started_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "measured_at",
                    models.DateTimeField(
                        help_text="Of an imported run: when, as its file says; null: it does not",
                        null=True,
                    ),
                ),
                (
                    "measured_source",
                    models.JSONField(
                        db_default={},
                        default=dict,
                        help_text="What the file says of that: text, line, and assumed_zone, the time zone that was taken because the text has none; empty: nothing",
                    ),
                ),
                (
                    "sent_at",
                    models.DateTimeField(help_text="When the worker was last nudged", null=True),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "environment",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="catalog.environment",
                    ),
                ),
                (
                    "job",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="runs",
                        to="studies.job",
                    ),
                ),
                (
                    "repeat_rule",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="runs",
                        to="studies.repeatrule",
                    ),
                ),
                (
                    "retry_of",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="retried_as",
                        to="studies.run",
                    ),
                ),
                (
                    "series",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="runs",
                        to="studies.series",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [
                    models.Index(fields=["state", "id"], name="studies_run_state_eabcd5_idx"),
                    models.Index(fields=["series", "state"], name="studies_run_series__38cd49_idx"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "state__in",
                                [
                                    "queued",
                                    "leased",
                                    "preparing",
                                    "running",
                                    "collecting",
                                    "done",
                                    "failed",
                                    "cancelled",
                                    "lost",
                                ],
                            )
                        ),
                        name="run_state_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("progress__gte", 0), ("progress__lte", 1)),
                        name="run_progress_is_a_share",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "cause__in",
                                [
                                    "",
                                    "benchmark",
                                    "refused",
                                    "not-allowed",
                                    "cancelled",
                                    "out-of-time",
                                    "time-limit",
                                    "worker-error",
                                    "worker-stopped",
                                    "worker-gone",
                                    "silent",
                                    "database",
                                    "daemon",
                                    "killed",
                                ],
                            )
                        ),
                        name="run_cause_is_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Artefact",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                (
                    "media_type",
                    models.CharField(default="text/plain; charset=utf-8", max_length=100),
                ),
                ("sha256", models.CharField(max_length=64)),
                ("size_bytes", models.BigIntegerField(help_text="Before compression")),
                ("content_gzip", models.BinaryField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="artefacts",
                        to="studies.run",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "indexes": [models.Index(fields=["sha256"], name="studies_art_sha256_d9bafb_idx")],
            },
        ),
        migrations.CreateModel(
            name="LunProbe",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "target",
                    models.CharField(blank=True, db_default="", default="", max_length=4000),
                ),
                ("at", models.DateTimeField()),
                ("state", models.JSONField(default=dict)),
                ("result", models.JSONField()),
                (
                    "lun",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="probes",
                        to="catalog.lun",
                    ),
                ),
                (
                    "run",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="made_probe",
                        to="studies.run",
                    ),
                ),
            ],
            options={
                "ordering": ["-at", "-id"],
                "indexes": [
                    models.Index(fields=["lun", "at"], name="studies_lun_lun_id_062b72_idx")
                ],
            },
        ),
        migrations.CreateModel(
            name="RunActivity",
            fields=[
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="activity",
                        serialize=False,
                        to="studies.run",
                    ),
                ),
                ("content", models.BinaryField()),
                ("samples", models.PositiveIntegerField(help_text="Kept")),
                ("seconds", models.FloatField(help_text="From the first to the last")),
                (
                    "is_whole",
                    models.BooleanField(help_text="False: the run broke off, and they with it"),
                ),
                (
                    "costs",
                    models.JSONField(
                        default=dict,
                        help_text="{test: value} of core.activity.costs, those that are known",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="LogLine",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField()),
                ("stream", models.CharField(help_text="fsbench, stdout or stderr", max_length=10)),
                ("text", models.TextField()),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="log_lines",
                        to="studies.run",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "indexes": [
                    models.Index(fields=["run", "id"], name="studies_log_run_id_a54a3f_idx")
                ],
            },
        ),
        migrations.CreateModel(
            name="RunTrace",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("tracer", models.CharField(help_text="Of core.traces.tracers", max_length=20)),
                ("content", models.BinaryField(null=True)),
                ("problem", models.TextField(blank=True)),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="traces",
                        to="studies.run",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "constraints": [
                    models.UniqueConstraint(fields=("run", "tracer"), name="run_trace_unique")
                ],
            },
        ),
        migrations.CreateModel(
            name="StateChange",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("leased", "Leased"),
                            ("preparing", "Preparing"),
                            ("running", "Running"),
                            ("collecting", "Collecting"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                            ("lost", "Lost"),
                        ],
                        max_length=12,
                    ),
                ),
                ("reason", models.TextField(blank=True)),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="changes",
                        to="studies.run",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.CreateModel(
            name="MeasurementBlock",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("count", models.PositiveIntegerField(help_text="Numbers")),
                (
                    "tests",
                    models.JSONField(
                        help_text="[[test, load, unit, numbers, of these with both sizes], ...] by first number"
                    ),
                ),
                ("content", models.BinaryField()),
                (
                    "flags",
                    models.BinaryField(
                        help_text="What to know of them, slugs of scoring.quality; null: nothing",
                        null=True,
                    ),
                ),
                (
                    "samples",
                    models.BinaryField(
                        help_text="Values of the intervals in order, where the tool prints them",
                        null=True,
                    ),
                ),
                (
                    "artefact",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        to="studies.artefact",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="measurement_blocks",
                        to="studies.run",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.CreateModel(
            name="LatencySeriesBlock",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "tests",
                    models.JSONField(
                        help_text="[[test, load, unit, intervals], ...] in their order"
                    ),
                ),
                ("content", models.BinaryField()),
                (
                    "artefact",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        to="studies.artefact",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="latency_series",
                        to="studies.run",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.CreateModel(
            name="LatencyBlock",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "tests",
                    models.JSONField(
                        help_text="[[test, load, unit, latencies], ...] in their order"
                    ),
                ),
                ("content", models.BinaryField()),
                (
                    "artefact",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        to="studies.artefact",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="latency_blocks",
                        to="studies.run",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.AddField(
            model_name="Run",
            name="probe",
            field=models.ForeignKey(
                help_text="What its LUN did by itself in the same block; null: nobody measured that",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="runs",
                to="studies.lunprobe",
            ),
        ),
        migrations.CreateModel(
            name="Lease",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("controller", models.CharField(blank=True, max_length=200)),
                ("token", models.PositiveBigIntegerField(default=0)),
                ("expires_at", models.DateTimeField(null=True)),
                (
                    "host",
                    models.ForeignKey(
                        help_text="Whose controller it is; null in the lease of a LUN or disk",
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="controller_leases",
                        to="catalog.worker",
                    ),
                ),
                (
                    "lun",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="lease",
                        to="catalog.lun",
                    ),
                ),
                (
                    "worker",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.CASCADE, to="catalog.worker"
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="leases",
                        to="studies.run",
                    ),
                ),
                (
                    "disk",
                    models.CharField(
                        blank=True,
                        help_text="By its worldwide name (catalog.lun_identity)",
                        max_length=200,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("host", "controller"), name="lease_unique_of_controller"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("disk", ""), _negated=True),
                        fields=("disk",),
                        name="lease_unique_of_disk",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("controller", ""),
                                ("disk", ""),
                                ("host", None),
                                ("lun__isnull", False),
                            ),
                            models.Q(
                                ("disk", ""),
                                ("host__isnull", False),
                                ("lun", None),
                                models.Q(("controller", ""), _negated=True),
                            ),
                            models.Q(
                                ("controller", ""),
                                ("host", None),
                                ("lun", None),
                                models.Q(("disk", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="lease_of_lun_controller_or_disk",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="RunClient",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "place",
                    models.PositiveSmallIntegerField(help_text="0: the worker that the run is of"),
                ),
                ("worker", models.CharField(max_length=100)),
                ("lun_name", models.CharField(max_length=60)),
                ("token", models.PositiveBigIntegerField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("asked", "Asked"),
                            ("preparing", "Preparing"),
                            ("ready", "Ready"),
                            ("measuring", "Measuring"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                        ],
                        default="asked",
                        max_length=12,
                    ),
                ),
                ("reason", models.TextField(blank=True, help_text="Why it failed")),
                (
                    "cause",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("benchmark", "the benchmark, or what it ran on, failed by itself"),
                            ("refused", "a check refused it before anything was erased"),
                            ("not-allowed", "who submitted it may not any more"),
                            ("cancelled", "somebody cancelled it"),
                            (
                                "out-of-time",
                                "its job stops before a time, and it would not have ended by then",
                            ),
                            ("time-limit", "it took longer than its job allows"),
                            ("worker-error", "the worker could not go on, by a mistake in it"),
                            ("worker-stopped", "its worker was stopped"),
                            ("worker-gone", "its worker died, and was started again"),
                            ("silent", "its worker or host sent no heartbeat"),
                            ("database", "the database was away for too long"),
                            ("daemon", "the Docker daemon went away"),
                            ("killed", "it was killed from outside"),
                        ],
                        max_length=20,
                    ),
                ),
                ("seen_at", models.DateTimeField(help_text="Its last heartbeat", null=True)),
                ("start_at", models.DateTimeField(help_text="When all are to begin", null=True)),
                ("began_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "facts",
                    models.JSONField(
                        default=list, help_text="What it ran on: [[label, value], ...]"
                    ),
                ),
                (
                    "results",
                    models.JSONField(
                        default=list,
                        help_text="What it measured by itself: [[test, load, record KB, file KB, value, unit], ...]",
                    ),
                ),
                (
                    "content",
                    models.BinaryField(
                        help_text="Its outputs, until its leader has stored them (studies.runs.clients)",
                        null=True,
                    ),
                ),
                (
                    "lun",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="client_of",
                        to="catalog.lun",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="clients",
                        to="studies.run",
                    ),
                ),
            ],
            options={
                "ordering": ["run", "place"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("run", "place"), name="run_client_place_unique"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "state__in",
                                ["asked", "preparing", "ready", "measuring", "done", "failed"],
                            )
                        ),
                        name="run_client_state_is_known",
                    ),
                ],
            },
        ),
        migrations.RunPython(tune_postgresql, migrations.RunPython.noop),
    ]
