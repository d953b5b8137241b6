"""A large data set in PostgreSQL, for measuring pages: many runs with many measurements.

    .venv/bin/python -m tests.services .venv/bin/python -m benchmarks.dataset RUNS [CELLS]

It migrates the database in DATABASE_URL and fills it. The largest study has a tenth of the runs,
the others 200 each; a series has four. Five template series are measured with seeded noise and
scored by the site's own code. PostgreSQL copies them for all others, each value times a factor of
the series: scores are linear in that factor.
"""

import io
import os
import random
import sys
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

RUNS = 10_000
REPEATS = 4
RUNS_OF_A_STUDY = 200
FILESYSTEMS = ("ext2", "ext3", "ext4", "xfs", "btrfs")
OPTIONS: tuple[dict[str, str], ...] = (
    {},
    {"atime": "noatime"},
    {"atime": "nodiratime"},
    {"atime": "strictatime"},
    {"atime": "noatime,nodiratime"},
)
SCHEDULERS = ("none", "mq-deadline", "bfq", "kyber")
KERNELS = ("5.10.0", "5.15.0", "6.1.0", "6.5.0", "6.6.0", "6.10.0", "6.12.0")
WORKLOAD = {
    "minimum_record_kb": 1,
    "maximum_record_kb": 1024,
    "minimum_file_kb": 4,
    "maximum_file_kb": 8 * 1024 * 1024,
}
FIRST_RUN_DAYS_AGO = 1200


@dataclass(frozen=True)
class Copy:
    """A run that is to be a template's run times ``factor``."""

    run_id: int
    template_run_id: int
    factor: float


def fill(runs: int, cells: int | None = None) -> None:
    """Make the data set; ``cells`` cuts the matrix of each test (None: all 206, 1,236 a run)."""
    from django.db import connection, transaction

    with connection.cursor() as cursor:
        # The tests' server ends long statements, and checking each foreign key takes most of the
        # time; the rows refer to what is made here.
        cursor.execute("SET statement_timeout = 0")
        cursor.execute("SET session_replication_role = replica")
    with transaction.atomic():
        series, copies = _small_tables(runs)
        _templates(series[: len(FILESYSTEMS)], cells)
        _copy(series, copies)
        _copy_measurements(copies)
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = DEFAULT")
        cursor.execute("VACUUM ANALYZE")


def _small_tables(runs: int) -> tuple[list[tuple[int, int, float]], list[Copy]]:
    """Studies, series and runs: [(series, template's series, factor)] and the runs to fill."""
    from django.utils import timezone

    from fsbench_web.catalog.configurations.records import configuration_for
    from fsbench_web.catalog.models import HardwareProfile, Workload
    from fsbench_web.catalog.workers.announce import LunAnnouncement, WorkerAnnouncement, announce
    from fsbench_web.studies.models import Run, RunState, Series, Study

    chance = random.Random(20051201)
    luns = list(
        announce(
            WorkerAnnouncement(
                name="bench1",
                executor="fake",
                capabilities={"kernel": KERNELS[-1], "distribution": "Debian GNU/Linux 12"},
                luns=[
                    LunAnnouncement(
                        f"disk{number}", "data", "device", f"/dev/disk/by-id/disk{number}", 1 << 40
                    )
                    for number in range(1, 5)
                ],
                hardware=[["CPU", "2 × EPYC"]],
                has_started=True,
            )
        ).luns.order_by("name")
    )
    hardware = [
        HardwareProfile.objects.create(slug=f"array-{n}", name=f"Array {n}", facts=[["Disks", "8"]])
        for n in range(1, 5)
    ]
    workload = Workload.objects.create(
        slug="iozone-large", title="IOzone, 206 cells", tool="iozone", parameters=WORKLOAD
    )
    configurations = [
        configuration_for(filesystem, options, scheduler)
        for options in OPTIONS
        for scheduler in SCHEDULERS
        for filesystem in FILESYSTEMS
    ]
    sizes = [max(runs // 10, len(FILESYSTEMS) * REPEATS)]
    while sum(sizes) < runs:
        sizes.append(min(RUNS_OF_A_STUDY, runs - sum(sizes)))
    now = timezone.now()
    studies = Study.objects.bulk_create(
        Study(
            slug=f"campaign-{number}",
            title=f"Campaign {number}: five file systems under several kernels",
            summary="Made for measuring pages; its numbers say nothing about any file system.",
        )
        for number in range(len(sizes))
    )
    rows = []
    for number, (study, size) in enumerate(zip(studies, sizes, strict=True)):
        for place in range(size // REPEATS):
            turn, offset = divmod(place, 10)
            rows.append(
                Series(
                    key=f"benchmark-{number}-{place}",
                    study=study,
                    # Ten configurations a kernel: the first five are one of each file system.
                    configuration=configurations[
                        (offset + 10 * (number + turn // len(KERNELS))) % len(configurations)
                    ],
                    workload=workload,
                    hardware=hardware[number % len(hardware)],
                    lun=luns[number % len(luns)],
                    kernel=KERNELS[turn % len(KERNELS)],
                    distribution="Debian GNU/Linux 12",
                )
            )
    rows = Series.objects.bulk_create(rows, batch_size=2000)
    template_of = {row.configuration.filesystem: row for row in reversed(rows[:5])}
    series, run_rows = [], []
    for place, row in enumerate(rows):
        is_template = place < len(FILESYSTEMS)
        # A kernel that made one file system slower, and a few percent between series.
        slower = 0.86 if row.kernel in KERNELS[4:] and row.configuration.filesystem == "ext4" else 1
        factor = 1.0 if is_template else slower * chance.gauss(1, 0.03)
        series.append((row.pk, template_of[row.configuration.filesystem].pk, factor))
        start = now - timedelta(days=FIRST_RUN_DAYS_AGO * (1 - place / len(rows)))
        for repeat in range(1, REPEATS + 1):
            begun = start + timedelta(hours=repeat)
            run_rows.append(
                Run(
                    series=row,
                    repeat=repeat,
                    block=f"block {repeat}",
                    origin=Run.Origin.MEASURED,
                    state=RunState.DONE,
                    progress=1,
                    remaining_s=0,
                    started_at=begun,
                    ended_at=begun + timedelta(minutes=45),
                )
            )
    run_rows = Run.objects.bulk_create(run_rows, batch_size=2000)
    first_of: dict[tuple[int, int], int] = {}
    for run in run_rows:
        first_of.setdefault((run.series_id, run.repeat), run.pk)
    copies = [
        Copy(run.pk, first_of[template, repeat], factor)
        for run, (_, template, factor), repeat in zip(
            run_rows,
            (entry for entry in series for _ in range(REPEATS)),
            list(range(1, REPEATS + 1)) * len(series),
            strict=True,
        )
    ]
    return series, copies


def _templates(series: list[tuple[int, int, float]], cells: int | None) -> None:
    """Measure the template series and score them by the site's own code."""
    from fsbench_web.core.formats.result import ParsedValue
    from fsbench_web.core.workloads.iozone import TESTS, Iozone
    from fsbench_web.studies.models import Run, Series
    from fsbench_web.studies.scores import ingest

    chance = random.Random(7)
    # A cut matrix keeps cells of all regions.
    matrix = list(Iozone(**WORKLOAD).cells())
    matrix = matrix[:: max(1, len(matrix) // cells)][:cells] if cells else matrix
    for place, (series_id, _, _) in enumerate(series):
        for run in Run.objects.filter(series=series_id).order_by("repeat"):
            values = [
                ParsedValue(
                    test,
                    record,
                    file,
                    # Cached until 256 MB, then the disk; small records cost.
                    (2_000_000 if file <= 262144 else 90_000)
                    * (record / (record + 8))
                    * (1 + place / 20)
                    * chance.gauss(1, 0.02),
                    "KB/s",
                    line,
                )
                for line, (test, record, file) in enumerate(
                    ((test, *cell) for test in TESTS for cell in matrix), start=1
                )
            ]
            artefact = ingest.store_artefact(run, "iozone.txt", b"Made for measuring pages.\n")
            ingest.store_values(run, artefact, values)
        ingest.rescore(Series.objects.get(pk=series_id))


def _copy(series: list[tuple[int, int, float]], copies: list[Copy]) -> None:
    """Fill all other runs and series from the templates, within PostgreSQL."""
    from django.db import connection

    from fsbench_web.studies.models import Artefact, Score, StateChange

    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE of_run (run_id bigint, template bigint, factor float8)")
        with cursor.copy("COPY of_run FROM STDIN") as copy:
            for entry in copies:
                if entry.run_id != entry.template_run_id:
                    copy.write_row((entry.run_id, entry.template_run_id, entry.factor))
        cursor.execute("CREATE TEMP TABLE of_series (series_id bigint, template bigint, f float8)")
        with cursor.copy("COPY of_series FROM STDIN") as copy:
            for row in series:
                if row[0] != row[1]:
                    copy.write_row(row)
        cursor.execute(
            "CREATE TEMP TABLE of_scored AS SELECT s.*, (SELECT jsonb_agg(id ORDER BY id) "
            "FROM studies_run WHERE series_id = s.series_id) AS run_ids FROM of_series s"
        )
        cursor.execute("ANALYZE of_run; ANALYZE of_scored")
        # Run by run and series by series, as the site writes them: a hash join would strew the
        # numbers of each run over the whole table, a page of the disk for each.
        cursor.execute("SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off")
        cursor.execute(_insert(Artefact, {"run_id": "r.run_id"}, "of_run r", "t.run_id"))
        cursor.execute(
            _insert(
                Score,
                {
                    "series_id": "r.series_id",
                    "value": "t.value * r.f",
                    "half_width": "t.half_width * r.f",
                    # As many of its own as the template's score has.
                    "run_ids": "CASE WHEN jsonb_array_length(t.run_ids) < "
                    "jsonb_array_length(r.run_ids) THEN jsonb_path_query_array(r.run_ids, "
                    "('$[0 to ' || jsonb_array_length(t.run_ids) - 1 || ']')::jsonpath) "
                    "ELSE r.run_ids END",
                    "repeat_scores": "(SELECT jsonb_agg(jsonb_build_array(of_run -> 0, "
                    "(of_run ->> 1)::float8 * r.f) ORDER BY place) FROM "
                    "jsonb_array_elements(t.repeat_scores) WITH ORDINALITY AS a (of_run, place))",
                },
                "of_scored r",
                "t.series_id",
            )
        )
        table = StateChange._meta.db_table
        cursor.execute(
            f"INSERT INTO {table} (run_id, at, state, reason) "
            "SELECT id, started_at, s.state, '' FROM studies_run, unnest(ARRAY['queued', 'leased', "
            "'preparing', 'running', 'collecting', 'done']) AS s(state)"
        )


def _copy_measurements(copies: list[Copy]) -> None:
    """Each template's numbers times the factor of each of its copies."""
    from dataclasses import replace

    from fsbench_web.studies.models import Artefact
    from fsbench_web.studies.scores import measurements
    from fsbench_web.studies.scores.measurements import NewBlock

    artefact_of = dict(Artefact.objects.values_list("run_id", "id"))
    templates = {
        entry.template_run_id: [*measurements.read(measurements.of_run(entry.template_run_id))]
        for entry in copies
        if entry.run_id == entry.template_run_id
    }
    measurements.store(
        NewBlock(
            entry.run_id,
            artefact_of[entry.run_id],
            replace(numbers.columns, values=numbers.columns.values * entry.factor),
            (numbers.kinds, numbers.flag_codes),
        )
        for entry in copies
        if entry.run_id != entry.template_run_id
        for numbers in templates[entry.template_run_id]
    )


def _insert(model: Any, changed: dict[str, str], source: str, key: str) -> str:
    """INSERT of a template's rows once for each row of ``source``, some columns ``changed``."""
    columns = [field.column for field in model._meta.concrete_fields if not field.primary_key]
    selected = ", ".join(changed.get(column, f"t.{column}") for column in columns)
    table = model._meta.db_table
    return (
        f"INSERT INTO {table} ({', '.join(columns)}) SELECT {selected} "
        f"FROM {source} JOIN {table} t ON {key} = r.template"
    )


def main(runs: int, cells: int | None) -> None:
    """Fill an empty database and say how large it became."""
    import django
    from django.core.management import call_command
    from django.db import connection

    django.setup()
    call_command("migrate", verbosity=0)
    call_command("load_published", verbosity=0, stdout=io.StringIO())
    begin = time.perf_counter()
    fill(runs, cells)
    from django.db.models import Sum

    from fsbench_web.studies.models import MeasurementBlock, Run, Score, Series, Study

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        size = cursor.fetchone()[0]
    counts = ", ".join(
        f"{model.objects.count():,} {model._meta.verbose_name_plural}"
        for model in (Study, Series, Run, Score)
    )
    numbers = MeasurementBlock.objects.aggregate(of=Sum("count"))["of"]
    print(
        f"{counts}, {numbers:,} measurements; {size / 1e9:.1f} GB, "
        f"made in {time.perf_counter() - begin:.0f} s"
    )


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    if not os.environ.get("DATABASE_URL", "").startswith("postgresql"):
        sys.exit("DATABASE_URL must name an empty PostgreSQL database: see this file's top.")
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else RUNS,
        int(sys.argv[2]) if len(sys.argv) > 2 else None,
    )
