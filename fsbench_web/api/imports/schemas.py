"""What the API says and hears of imports step by step."""

from datetime import datetime
from typing import Any, Literal

from ninja import Schema
from pydantic import Field, StrictBool, StrictInt

from fsbench_web.api.imports.columns import ColumnsSaid
from fsbench_web.api.imports.routes import FileProblem, WarningOut
from fsbench_web.api.protocol.bodies import Strict
from fsbench_web.api.protocol.objects import Answer, value_at
from fsbench_web.api.protocol.pages import LARGEST_ID, PageOut
from fsbench_web.imports.models import Import
from fsbench_web.imports.storing.known_files import KnownFile


class TargetOut(Schema):
    """As given beside the files."""

    study: str
    filesystem: str
    configuration: str
    hardware: str
    kernel: str
    source: str
    licence: str
    blocks: str
    kilobyte: str
    repeats_differ: str
    strict: bool


class ImportSummary(Answer):
    """``state``: accepted waits for the importer, previewed waits for you, done is stored, failed
    is not. ``progress`` is 0 to 1 of ``phase``.
    """

    id: int
    state: str
    study: str
    phase: str
    progress: float
    created_by: str | None = value_at("created_by.username", None)
    created_at: datetime
    links: dict[str, str]

    @staticmethod
    def resolve_study(row: Import) -> str:
        return row.study.slug if row.study else row.target.get("study", "")

    @staticmethod
    def resolve_links(row: Import) -> dict[str, str]:
        address = f"/api/v1/imports/{row.pk}"
        return {
            "self": address,
            "commit": f"{address}/commit",
            "page": f"/imports/{row.pk}/",
        }


class ImportsOut(PageOut):
    imports: list[ImportSummary]


class TestOut(Schema):
    """What a file holds of one test, in ``unit``."""

    test: str
    cells: int
    unit: str
    smallest: float
    largest: float


class PlannedOut(Schema):
    """One run that a commit would make, or a part of one.

    ``repeat`` is what was said; ``numbered`` is what it gets: files with the same are parts of one.
    """

    filesystem: str = value_at("planned.filesystem")
    configuration: str = value_at("planned.configuration")
    hardware: str = value_at("planned.hardware")
    kernel: str = value_at("planned.kernel")
    repeat: int | None = value_at("planned.repeat")
    numbered: int = value_at("run.repeat")
    block: str = value_at("planned.block")
    tests: list[TestOut]


class KeptColumns(Answer):
    """A mapping of columns that you, or a member of your team for it, kept for this header."""

    id: int
    name: str
    kept_by: str = value_at("created_by.username")
    team: str | None = value_at("team.name", None)


class KnownFileOut(Schema):
    """Where the same bytes are kept: ``import_id`` is null of an output of a run that was carried
    out here. The latest of ``times``; studies that you may not see are not counted.
    """

    import_id: int | None
    run: int = value_at("run_id")
    study: str = value_at("study.slug")
    by: str | None
    at: datetime
    times: int
    page: str = value_at("address")

    @staticmethod
    def resolve_by(file: KnownFile) -> str | None:
        return file.by or None


class FileOut(Schema):
    """``guesses`` say what of ``given`` was guessed; a table with ``needs_columns`` waits for PUT
    .../files/{id}/columns. ``unread_columns`` are those that nothing reads.

    ``kept_columns`` what was kept for such a header, and is used where PUT names its ``id``.
    ``settings`` are those that its tool printed; ``own_settings`` those that not all files of its
    tool and configuration have, null where all have the same: files that differ are no repeats.
    ``proposed_names`` are tests of a table that are ours under another name (PUT .../columns with
    them as ``names``: nothing is renamed otherwise).
    ``known`` says that this very file is kept already, which a commit does not mind by itself.
    """

    id: int
    path: str
    size_bytes: int
    sha256: str
    known: KnownFileOut | None
    format: str | None
    given: dict[str, Any]
    guesses: list[str]
    left_out: bool = value_at("is_left_out")
    needs_columns: bool
    columns: dict[str, Any] | None = value_at("mapping")
    proposed_names: dict[str, str]
    unread_columns: list[str]
    kept_columns: list[KeptColumns]
    settings: list[str]
    own_settings: list[str] | None
    runs: list[PlannedOut]


class ImportDetail(ImportSummary):
    """While it is previewed: what a commit would store, and all that stands against it.

    ``is_large``: the importer stores it. ``report``: why it refused it. ``warnings`` are what is
    left out, or was. Once done: ``runs``.
    """

    target: TargetOut = value_at("full_target")
    is_large: bool
    files: list[FileOut]
    problems: list[FileProblem]
    warnings: list[WarningOut]
    report: dict[str, Any]
    runs: list[int]


class FileCorrection(Strict):
    """What is left out stays as it is."""

    id: StrictInt = Field(ge=1, le=LARGEST_ID)
    filesystem: str | None = Field(None, max_length=200)
    configuration: str | None = Field(None, max_length=200)
    hardware: str | None = Field(None, max_length=200)
    kernel: str | None = Field(None, max_length=200)
    repeat: StrictInt | None = Field(None, ge=1, lt=10**6)
    left_out: StrictBool | None = None
    ignore_columns: list[str] | None = Field(None, max_length=5000)


class Correction(Strict):
    study: str | None = Field(None, max_length=400)
    source: str | None = Field(None, max_length=400)
    licence: str | None = Field(None, max_length=400)
    blocks: Literal["", "folders"] | None = None
    kilobyte: Literal["", "1000", "1024"] | None = None
    repeats_differ: Literal["", "yes"] | None = None
    strict: StrictBool | None = None
    files: list[FileCorrection] = Field([], max_length=500)


class ColumnsIn(ColumnsSaid):
    """What PUT says; ``name`` keeps it for tables with the same header."""

    name: str = Field("", max_length=100, description="keep it for tables with this header")
    team: str = Field("", max_length=80, description="a team of yours that has what is kept too")
    kept: StrictInt | None = Field(
        None, ge=1, le=LARGEST_ID, description="read it as this of kept_columns says, and no other"
    )
