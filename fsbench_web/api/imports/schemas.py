"""What the API says and hears of imports step by step."""

from datetime import datetime
from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import Field, StrictBool, StrictInt, ValidationError

from fsbench_web.api.protocol.errors import ProblemDocument
from fsbench_web.api.protocol.schemas import LARGEST_ID, Answer, Derived, Strict, value_at
from fsbench_web.imports.models import Import
from fsbench_web.imports.preview import TestSummary
from fsbench_web.imports.problems import ImportRefused, KnownRun, refusal
from fsbench_web.imports.sources import Target
from fsbench_web.imports.storing.known_files import KnownFile


class FileProblem(Schema):
    """One problem at its place; ``file`` is null for what was given with the files, ``line`` and
    ``column`` count from 1 and are null where the problem has none. ``code`` says which kind it
    is, and ``parameters`` what the message names; programs go by these ("" of kinds without).
    """

    file: str | None
    line: int | None
    column: int | None
    message: str
    code: str = ""
    parameters: dict[str, str] = {}


class WarningOut(FileProblem):
    """What was left out, or is worth knowing: ``count`` places have it, and the first is named.

    ``lost``: something of the file was not read, or its tool says that it failed; `strict` refuses
    it.
    """

    count: int
    lost: bool


class KnownRunOut(Derived, of=KnownRun):
    """A run of ``file`` that was passed over: ``run`` has the very same numbers."""


class ImportOut(Schema):
    """What was stored: the numbers of the runs that were made. ``errors`` is empty.

    ``known`` was there already, and is empty unless `if_new` was asked for. ``warnings`` name what
    was not read (a readme of an archive, a column of a table) and what else a reader should know;
    the import keeps them.
    """

    id: int
    state: str
    runs: list[int]
    errors: list[FileProblem]
    known: list[KnownRunOut]
    warnings: list[WarningOut]


class NothingNew(ImportOut):
    """All was there already, and nothing was stored: ``state`` is known, ``id`` null."""

    id: None  # type: ignore[assignment]


class ImportRefusal(ProblemDocument):
    """Nothing was stored; ``errors`` holds every problem of every file."""

    errors: list[FileProblem]


class ColumnsSaid(Strict):
    """Columns count from 0, ``header_line`` from 1. ``tests`` of the shape tests: [column, test,
    unit]; a test "_" is the row's own. See /guide/importing/ of the site.
    """

    shape: str = "long"
    header_line: StrictInt = Field(1, ge=0, le=10**6)
    delimiter: str = Field("", max_length=10, description="empty: as the file has it")
    decimal: str = Field("", max_length=1)
    columns: dict[str, StrictInt] = {}
    constants: dict[str, str] = {}
    tests: list[tuple[StrictInt, str, str]] = Field([], max_length=2000)
    rows_are: str = "file"
    record_unit: str = "KB"
    file_unit: str = "KB"
    sheet: str = Field("", max_length=200)
    names: dict[str, str] = Field(
        {}, max_length=100, description="what words of the column test mean: randread, random_read"
    )
    not_measured: list[Annotated[str, Field(max_length=60)]] = Field(
        [], max_length=20, description="words of cells where nothing was measured: timeout, failed"
    )
    column_constants: list[tuple[StrictInt, dict[str, str]]] = Field(
        [],
        max_length=2000,
        description="[column, what all its numbers are of]: filesystem, configuration, repeat, ...",
    )
    ignored: list[StrictInt] = Field([], max_length=2000, description="columns not to be read")
    repeats: Literal["", "order"] = Field(
        "", description="order: rows of one cell are its repeats in their order"
    )
    has_cell_units: StrictBool = Field(False, description="cells say their unit: 1.2 GiB/s")


def columns_of(text: str) -> dict[str, Any] | None:
    """The mapping that the JSON of a form's field says; None of an empty field. Raises
    ImportRefused.
    """
    if not text.strip():
        return None
    try:
        return ColumnsSaid.model_validate_json(text).model_dump()
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "columns"
        raise ImportRefused(
            [refusal("columns_unreadable", field="columns", place=place, reason=first["msg"])]
        ) from None


class TargetOut(Derived, of=Target):
    """As given with the files."""


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


class TestOut(Derived, of=TestSummary, without=("file_kb", "label", "record_kb")):
    """What a file holds of one test, in ``unit``."""


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
    ``known`` says that this very file is kept already, which alone stops no commit.
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
