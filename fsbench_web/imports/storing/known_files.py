"""The same file twice: outputs that are kept already, by the digest of their bytes."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Max
from django.urls import reverse

from fsbench_web.imports.models import ImportedFile
from fsbench_web.imports.problems import ImportProblem, together
from fsbench_web.imports.sources import SourceFile
from fsbench_web.platform.fixed_queries import FixedQuery
from fsbench_web.studies.models import Artefact, Study

_AT_ONCE = 500
_ANY_FILE = FixedQuery(["1"], "FROM studies_artefact WHERE sha256 IN ({many}) LIMIT 1")


@dataclass(frozen=True)
class KnownFile:
    """A file that is kept already: with the import that brought it, or else (``import_id`` is
    None) as an output of the run. The latest of ``times``, all in studies that whoever asks sees.
    """

    import_id: int | None
    run_id: int
    study: Study
    by: str
    """Who imported it or started its run; "" where nobody is known."""
    at: datetime
    times: int

    @property
    def sentence(self) -> str:
        """Where it is, for whoever reads no page."""
        what = f"run {self.run_id}" if self.import_id is None else f"import {self.import_id}"
        by = f" by {self.by}" if self.by else ""
        return (
            f"This very file is stored already: {what} of {self.at:%Y-%m-%d}{by} has it, in the "
            f"study {self.study.slug}."
        )

    @property
    def address(self) -> str:
        """The page of the import, or of the run."""
        if self.import_id is None:
            return reverse("studies:run", args=[self.run_id])
        return reverse("imports:show", args=[self.import_id])


def by_digest(digests: Iterable[str]) -> dict[str, KnownFile]:
    """Of each digest that is kept, where; what is in hidden studies alone is not among them.

    Two queries for every 500 digests, whatever is kept.
    """
    wanted = sorted({one for one in digests if one})
    found: dict[str, KnownFile] = {}
    for first in range(0, len(wanted), _AT_ONCE):
        found |= _known(wanted[first : first + _AT_ONCE])
    return found


def notes_on(sources: Iterable[SourceFile]) -> list[ImportProblem]:
    """A note for each file that is stored already, for whoever imports without a preview.

    Asked before anything is stored, since then every file is.
    """
    files = [one for one in sources if not one.is_left_out and one.sha256]
    # Most are new: nobody need be asked then what they may see.
    wanted = {one.sha256 for one in files[:_AT_ONCE]}
    is_any = bool(wanted) and bool(_ANY_FILE.rows(many=list(wanted)))
    known = by_digest(one.sha256 for one in files) if is_any or len(files) > _AT_ONCE else {}
    return together(
        ImportProblem(known[one.sha256].sentence, one.path, is_note=True)
        for one in files
        if one.sha256 in known
    )


def _known(digests: list[str]) -> dict[str, KnownFile]:
    kept = Artefact.objects.filter(sha256__in=digests).order_by().values("sha256")
    latest = {
        row["latest"]: row["times"] for row in kept.annotate(latest=Max("pk"), times=Count("pk"))
    }
    rows = (
        Artefact.objects.filter(pk__in=latest)
        .select_related("run__series__study", "run__created_by")
        .only("sha256", "created_at", "run__created_by__username", "run__series__study")
    )
    imports = {
        one.artefact_id: one.import_of
        for one in ImportedFile.objects.filter(artefact__in=latest).select_related(
            "import_of__created_by"
        )
    }
    found = {}
    for row in rows:
        import_of = imports.get(row.pk)
        whose = import_of.created_by if import_of else row.run.created_by
        found[row.sha256] = KnownFile(
            import_id=import_of.pk if import_of else None,
            run_id=row.run_id,
            study=row.run.series.study,
            by=whose.get_username() if whose else "",
            at=import_of.created_at if import_of else row.created_at,
            times=latest[row.pk],
        )
    return found
