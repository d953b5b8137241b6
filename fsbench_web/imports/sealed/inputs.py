"""A study's finished runs -> the signed inputs of a sealed file (core.sealed), and its bytes."""

import gzip
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fsbench_web.core import measurement_columns
from fsbench_web.core.formats import UnreadableFile
from fsbench_web.core.formats.result import names_kernels, stored_key
from fsbench_web.core.formats.tables.file_numbers import joined_outputs
from fsbench_web.core.number_tables import COLUMNS, OF_RUN
from fsbench_web.core.scoring import testnames
from fsbench_web.core.scoring.quality import RULES
from fsbench_web.core.sealed import verifying
from fsbench_web.core.sealed.numbers import (
    MOST_NUMBERS,
    TODAY,
    Read,
    by_run,
    is_same,
    read_raw,
    stated,
)
from fsbench_web.imports.models import ImportedFile
from fsbench_web.imports.sealed import keys
from fsbench_web.platform.version import VERSION
from fsbench_web.studies.models import (
    UNTRACED,
    Artefact,
    MeasurementBlock,
    Run,
    RunState,
    Series,
    Study,
)
from fsbench_web.studies.scores import ingest, quality, queries
from fsbench_web.studies.scores.shares import SeriesCeilings

MOST_RAW_BYTES = 40 * 1024 * 1024
MOST_RUNS = 1000
MOST_RAW_FILES = 3000
"""A sealed file is made in one process with limits of memory and of time (renderings)."""
NOTHING = "The study has no finished run: there is nothing to seal."
_ODD = re.compile(r"[^A-Za-z0-9_.-]+")
_STORED = ("run_id", "artefact_id", "content", "samples")


class NotSealable(ValueError):
    """Why a study has no sealed file, and what to do."""


def gathered(study: Study) -> tuple[Any, ...]:
    """The arguments of ``write``, but the key. Raises NotSealable."""
    runs = list(
        Run.objects.filter(series__study=study, state=RunState.DONE, tracing=UNTRACED)
        .select_related("environment", "job", "series__workload", "series__hardware", "series__lun")
        .select_related("series__configuration")
        .order_by("pk")[: MOST_RUNS + 1]
    )
    if not runs:
        raise NotSealable(NOTHING)
    blocks = MeasurementBlock.objects.filter(run__in=runs)
    sizes = list(blocks.values_list("count", "artefact_id"))
    artefacts = Artefact.objects.filter(run__in=runs).order_by("pk")
    described = list(
        artefacts.values_list("pk", "run_id", "name", "media_type", "size_bytes")[
            : MOST_RAW_FILES + 1
        ]
    )
    if (
        len(runs) > MOST_RUNS
        or len(described) > MOST_RAW_FILES
        or sum(count for count, _ in sizes) > MOST_NUMBERS
        or sum(row[-1] for row in described) > MOST_RAW_BYTES
    ):
        raise NotSealable(
            f"A sealed file holds at most {MOST_RUNS:,} runs, {MOST_NUMBERS:,} numbers and "
            f"{MOST_RAW_BYTES // 2**20} MB of raw output. This study has more."
        )
    series = list(Series.objects.filter(pk__in={run.series_id for run in runs}).order_by("pk"))
    if any((one.quality or {}).get("rules") != RULES for one in series):
        raise NotSealable("Its flags are of older rules: run manage.py reflag, then try again.")
    files = _raw_facts(described)
    facts = {
        "fsbench": VERSION,
        "rules": TODAY,
        "tables": list(COLUMNS),
        "study": {"slug": study.slug, "title": study.title, "licence": _licence(study)},
        "jobs": {str(run.job.pk): run.job.document for run in runs if run.job is not None},
        "series": list(_series_facts(series, study)),
        "runs": [_run_facts(run) for run in runs],
        "raw": files,
    }
    contents = dict(artefacts.values_list("pk", "content_gzip"))
    paths = {pk: row["path"] for (pk, *_), row in zip(described, files, strict=True)}
    stored = [
        (run, paths.get(artefact), bytes(content), samples and bytes(samples))
        for run, artefact, content, samples in blocks.order_by("pk").values_list(*_STORED)
    ]
    return facts, {paths[pk]: bytes(content) for pk, content in contents.items()}, stored


def _licence(study: Study) -> str:
    targets = study.imports.order_by("pk").values_list("target", flat=True)
    return "; ".join(dict.fromkeys(filter(None, (target.get("licence") for target in targets))))


def _raw_facts(described: Sequence[tuple[Any, ...]]) -> list[dict[str, Any]]:
    """Each raw file with its place in the zip, and how it was read."""
    ids = [pk for pk, *_ in described]
    columns = ("artefact_id", "mapping", "beside", "runs", "import_of__target")
    imported = {
        pk: rest
        for pk, *rest in ImportedFile.objects.filter(artefact__in=ids).values_list(*columns)
    }
    rows = []
    for pk, run, name, media_type, _ in described:
        read: dict[str, Any] = {"measured": True, "kernels": True}
        if pk in imported:
            mapping, beside, keys_of_file, target = imported[pk]
            read = {
                "mapping": mapping,
                "beside": beside,
                "kilobyte": target.get("kilobyte", ""),
                "kernels": not keys_of_file
                or names_kernels(stored_key(key) for key, _ in keys_of_file),
                "runs": keys_of_file,
            }
        path = f"raw/{pk}-{_ODD.sub('_', name)[-100:]}"
        rows.append(
            {"path": path, "run": run, "name": name, "media_type": media_type, "read": read}
        )
    return rows


def _run_facts(run: Run) -> dict[str, Any]:
    series = run.series
    columns = (
        *(run.pk, series.pk, series.configuration.filesystem, series.configuration.label),
        *((series.workload.slug, series.workload.tool) if series.workload else (None, None)),
        *(
            series.hardware.slug if series.hardware else None,
            series.lun.name if series.lun else None,
        ),
        *(series.kernel, series.machine.get("accelerator"), run.repeat, run.block),
        run.date.isoformat() if run.date else None,
    )
    return {
        **dict(zip(OF_RUN, columns, strict=True)),
        "origin": run.origin,
        "job": run.job_id,
        "began": run.started_at.isoformat() if run.started_at else None,
        "environment": run.environment.shown_facts if run.environment else {},
        "commands": run.commands,
        "conditions": run.conditions,
    }


def _series_facts(series: Sequence[Series], study: Study) -> Iterator[dict[str, Any]]:
    """What the scores table says of each series, and what its numbers are judged by."""
    known = queries.series_facts(None, [study.slug])
    for one in series:
        facts = known[one.pk]
        basis = quality.basis_of(one)
        judged = one.quality or {}
        workload = one.workload
        yield {
            "facts": vars(facts),
            "parameters": workload.parameters if workload else {},
            "hardware_facts": one.hardware.facts if one.hardware else [],
            "expected_cells": ingest.expected_cells_of(one),
            "basis": {
                "tool": basis.tool,
                "is_direct": basis.is_direct,
                # As the stored scores were judged: a limit may come from other studies.
                "limit_kb_s": judged.get("limit_kb_s"),
                "limit_from": judged.get("limit_from", ""),
                "memory_kb": judged.get("memory_kb"),
                "unsound": [[run, list(flags)] for run, flags in basis.unsound.items()],
                "blocks": [list(pair) for pair in basis.blocks.items()],
                "unsteady": sorted(map(list, basis.unsteady)),
                "bounds": _bounds(one, basis.ceilings),
            },
        }


def _bounds(series: Series, ceilings: object) -> list[list[Any]] | None:
    """[test, record KB, percent of the value 1, most percent] that the LUN's probes bound."""
    if not isinstance(ceilings, SeriesCeilings):
        return None
    found: dict[tuple[str, str, int], tuple[float, float]] = {}
    rows = MeasurementBlock.objects.filter(run__series=series, run__state=RunState.DONE)
    for content in rows.values_list("content", flat=True).iterator(chunk_size=100):
        columns = measurement_columns.decode(bytes(content))
        pairs = set(zip(columns.codes.tolist(), columns.records.tolist(), strict=True))
        for code, record in pairs:
            test = columns.tests[code]
            name = testnames.at_load(test.test, test.load)
            if (bound := ceilings.bound(name, test.unit, record)) is not None:
                found[name, test.unit, record] = bound
    return [[name, record, *bound] for (name, _, record), bound in sorted(found.items())]


def write(
    facts: dict[str, Any], contents: Mapping[str, bytes], stored: Sequence[Any], key: str
) -> bytes:
    """The sealed file, signed with the key of this file. Asks no database.

    Numbers that today's readers do not find in a raw file are stated in the signed inputs.
    """
    raw = {path: gzip.decompress(content) for path, content in contents.items()}
    blocks: dict[int, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for run, path, content, samples in stored:
        blocks[run][path or ""].append(
            (measurement_columns.decode(content), measurement_columns.decode_samples(samples))
        )
    read = {row["path"]: _read(row, raw[row["path"]]) for row in facts["raw"]}
    for run in facts["runs"]:
        run["numbers"] = []
        for path, parts in blocks[run["run"]].items():
            numbers = joined_outputs(parts)
            found = read[path].get(run["run"]) if path else None
            if found is not None and is_same(found, numbers):
                run["numbers"].append({"raw": path})
            else:
                part = {"stated": stated(*numbers)}
                run["numbers"].append(part | ({"of": path} if path else {}))
    return verifying.seal(facts, raw, keys.load(key))


def _read(row: Mapping[str, Any], data: bytes) -> Read:
    try:
        return by_run(read_raw(row["name"], data, row["read"]), row["read"], row["run"])
    except UnreadableFile:
        return {}
