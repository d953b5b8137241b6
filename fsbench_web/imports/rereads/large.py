"""Reading again what holds too many numbers to compare them one by one: run by run, by digest."""

from collections import defaultdict
from dataclasses import dataclass, field

from fsbench_web.core.formats import ParsedValue
from fsbench_web.core.formats.result import OwnKey, names_kernels, own_key, stored_key
from fsbench_web.imports import kilobytes
from fsbench_web.imports.models import ImportedFile, RunContent
from fsbench_web.imports.rereads.reading import read_again
from fsbench_web.imports.sources import SourceFile
from fsbench_web.imports.storing import existing_runs, large
from fsbench_web.studies.models import Artefact
from fsbench_web.studies.scores import measurements
from fsbench_web.studies.scores.digests import digest_of


@dataclass
class RunsDifference:
    """What today's parsers read of each run: the stored numbers, or others.

    ``changed`` are runs, ``new_runs`` counts those that the file holds and that were not stored.
    """

    unchanged: int = 0
    changed: list[int] = field(default_factory=list)
    new_runs: int = 0

    @property
    def is_empty(self) -> bool:
        return not (self.changed or self.new_runs)


def difference(artefact: Artefact) -> RunsDifference:
    """Compare each run with what is read now. Raises ImportRefused."""
    imported = ImportedFile.objects.select_related("import_of").filter(artefact=artefact).first()
    runs: dict[OwnKey, int] = {stored_key(key): pk for key, pk in imported.runs} if imported else {}
    stored = measurements.runs_of(artefact.pk)
    comparison = RunsDifference()
    current: dict[int, str] = {}
    for run_id, digest in _digests(artefact, imported, runs).items():
        if isinstance(run_id, int):
            current[run_id] = digest
        else:
            comparison.new_runs += 1
    digests = dict(RunContent.objects.filter(run__in=stored).values_list("run_id", "digest"))
    for run_id in sorted(stored):
        if current.get(run_id) == (digests.get(run_id) or existing_runs.digest_of(run_id)):
            comparison.unchanged += 1
        else:
            comparison.changed.append(run_id)
    return comparison


def _digests(
    artefact: Artefact, imported: ImportedFile | None, runs: dict[OwnKey, int]
) -> dict[int | OwnKey, str]:
    """The digest of each run by today's reading; under what the file calls it where it is new."""
    source = SourceFile(
        artefact.name,
        bytes(artefact.content_gzip),
        artefact.size_bytes,
        mapping=imported.mapping if imported else None,
    )
    kilobyte = imported.import_of.target.get("kilobyte", "") if imported else ""
    if large.is_large([source]):
        table = large.read(
            source, lambda phase, share: None, has_kernels=not runs or names_kernels(runs)
        )
        return {
            runs.get(key, key): digest_of(kilobytes.renamed(columns, kilobyte))
            for key, columns in table.runs.items()
        }
    values: dict[int | OwnKey, list[ParsedValue]] = defaultdict(list)
    parsed = read_again(source.name, source.read(), source.mapping)
    if runs and not names_kernels(runs):
        parsed = parsed.without_kernels()
    kilobytes.explain(parsed, kilobyte)
    for value in parsed.values:
        # A run that was measured here has its output to itself.
        place = runs.get(own_key(value), own_key(value)) if runs else artefact.run_id
        values[place].append(value)
    return {
        place: digest_of(measurements.of_values(run_values)[0])
        for place, run_values in values.items()
    }
