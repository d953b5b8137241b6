"""The same file twice: outputs that are kept already, by the digest of their bytes."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models import Count, Max
from django.urls import reverse

from fsbench_web.imports.models import ImportedFile
from fsbench_web.imports.problems import ImportProblem, merged_warnings
from fsbench_web.imports.sources import SourceFile
from fsbench_web.studies.models import Artefact, Study

_AT_ONCE = 500


@dataclass(frozen=True)
class KnownFile:
    """A file that is kept already, by an import or as a run's output (``import_id`` None)."""

    import_id: int | None
    run_id: int
    study: Study
    by: str
    """Who imported it or started its run; "" where nobody is known."""
    at: datetime
    times: int

    def sentence(self, count: int = 1) -> str:
        """Where it is, with ``count`` files of the import, for readers of an answer."""
        files = "this file" if count == 1 else f"{count:,} of these files"
        place = f"run {self.run_id}" if self.import_id is None else f"import {self.import_id}"
        by = f" by {self.by}" if self.by else ""
        return (
            f"fsbench has {files} already: {place} of {self.at:%Y-%m-%d}{by}, in the study "
            f"{self.study.slug}."
        )

    @property
    def place(self) -> "KnownFile":
        """The same for all files that one import brought."""
        return replace(self, run_id=0, times=1) if self.import_id is not None else self

    @property
    def address(self) -> str:
        if self.import_id is None:
            return reverse("studies:run", args=[self.run_id])
        return reverse("imports:show", args=[self.import_id])


def by_digest(digests: Iterable[str]) -> dict[str, KnownFile]:
    """Of each digest that is kept, where; what is in hidden studies alone is not among them.

    Two queries for every 500 digests, whatever is kept.
    """
    wanted = sorted({digest for digest in digests if digest})
    known_files: dict[str, KnownFile] = {}
    for first in range(0, len(wanted), _AT_ONCE):
        known_files |= _latest_by_digest(wanted[first : first + _AT_ONCE])
    return known_files


def notes_on(sources: Iterable[SourceFile]) -> list[ImportProblem]:
    """A note for each import that has files of this one already, with their number.

    Asked before anything is stored, since then every file is.
    """
    files = [source for source in sources if not source.is_left_out and source.sha256]
    # Most are new: nobody need be asked then what they may see.
    wanted = {source.sha256 for source in files[:_AT_ONCE]}
    is_any = bool(wanted) and Artefact._base_manager.filter(sha256__in=wanted).exists()
    known_files = (
        by_digest(source.sha256 for source in files) if is_any or len(files) > _AT_ONCE else {}
    )
    places: dict[KnownFile, list[str]] = {}
    for source in files:
        if (known_file := known_files.get(source.sha256)) is not None:
            places.setdefault(known_file.place, []).append(source.path)
    return merged_warnings(
        ImportProblem(
            known_file.sentence(len(paths)),
            paths[0] if len(paths) == 1 else None,
            count=len(paths),
            is_note=True,
        )
        for known_file, paths in places.items()
    )


def _latest_by_digest(digests: list[str]) -> dict[str, KnownFile]:
    artefacts = Artefact.objects.filter(sha256__in=digests).order_by().values("sha256")
    latest = {
        row["latest"]: row["times"]
        for row in artefacts.annotate(latest=Max("pk"), times=Count("pk"))
    }
    rows = (
        Artefact.objects.filter(pk__in=latest)
        .select_related("run__series__study", "run__created_by")
        .only("sha256", "created_at", "run__created_by__username", "run__series__study")
    )
    imports = {
        imported.artefact_id: imported.import_of
        for imported in ImportedFile.objects.filter(artefact__in=latest).select_related(
            "import_of__created_by"
        )
    }
    known_files = {}
    for row in rows:
        import_of = imports.get(row.pk)
        author = import_of.created_by if import_of else row.run.created_by
        known_files[row.sha256] = KnownFile(
            import_id=import_of.pk if import_of else None,
            run_id=row.run_id,
            study=row.run.series.study,
            by=author.get_username() if author else "",
            at=import_of.created_at if import_of else row.created_at,
            times=latest[row.pk],
        )
    return known_files
