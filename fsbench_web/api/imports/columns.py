"""Which column of a table is what, as calls say it."""

from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool, StrictInt, ValidationError

from fsbench_web.api.protocol.bodies import Strict
from fsbench_web.imports.problems import ImportRefused, refusal


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
