"""Tables of numbers, of files or of a site's study, as Arrow, pandas, Polars and Parquet.

Each needs its library, and says what to install where it is missing.
"""

import importlib
import io
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx

from fsbench.client import Client
from fsbench.transport import UnexpectedResponse
from fsbench_web.core import number_tables

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


class Frames:
    """A table that comes as batches of Arrow."""

    def batches(self) -> "Iterator[pyarrow.RecordBatch]":
        """The rows, as many at a time as are read or sent at once; one batch at least."""
        raise NotImplementedError

    def to_arrow(self) -> "pyarrow.Table":
        """A table of Arrow, with units in the metadata of its fields. Needs pyarrow."""
        return library("pyarrow").Table.from_batches(self.batches())

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write a Parquet file, batch by batch. Needs pyarrow."""
        self._write(path, "parquet")

    def to_arrows(self, path: str | os.PathLike[str]) -> None:
        """Write a stream of Arrow, batch by batch. Needs pyarrow."""
        self._write(path, "arrows")

    def _write(self, path: str | os.PathLike[str], suffix: str) -> None:
        library("pyarrow")
        number_tables.write(self.batches(), os.fspath(path), suffix)

    def to_pandas(self) -> "pandas.DataFrame":
        """A data frame of pandas. Needs pandas and pyarrow."""
        pandas = library("pandas")
        whole = {library("pyarrow").int64(): pandas.Int64Dtype()}
        return self.to_arrow().to_pandas(types_mapper=whole.get)

    def to_polars(self) -> "polars.DataFrame":
        """A data frame of Polars. Needs polars and pyarrow."""
        return library("polars").from_arrow(self.to_arrow())


def library(name: str) -> Any:
    """An optional library. Raises ImportError with what to install."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        text = f"This needs {name}: pip install 'fsbench[{name}]'"
        raise ImportError(text, name=error.name) from None


class StudyTable(Frames):
    """A table of a study. Each call asks the site, part by part, and keeps nothing.

    Raises ``Problem`` (refused), ``Unreachable``, and ImportError with what to install.
    """

    def __init__(self, client: Client, slug: str, name: str) -> None:
        self._client, self.name = client, name
        self._path = f"/studies/{quote(slug, safe='')}/{name}.parquet"

    def batches(self) -> "Iterator[pyarrow.RecordBatch]":
        """The rows as batches of Arrow, while they are asked for. Needs pyarrow."""
        arrow = library("pyarrow")
        import pyarrow.parquet

        after: int | None = 0
        while after is not None:
            answer = self._client.site.call("GET", self._path, query={"after": after})
            try:
                # A thread of pyarrow that still starts when the program ends would abort it.
                file = pyarrow.parquet.ParquetFile(io.BytesIO(answer.content))
                table = file.read(use_threads=False)
            except arrow.ArrowException:
                text = f"The {self.name} are no Parquet file: is this the address of fsbench?"
                raise UnexpectedResponse(text) from None
            yield from table.to_batches() or [number_tables.batch_of_rows([], table.schema)]
            after = _next(answer, after)


def _next(answer: httpx.Response, after: int) -> int | None:
    """Where the part behind this one begins; None for the last."""
    if "next" not in answer.links:
        return None
    text = httpx.URL(answer.links["next"]["url"]).params.get("after", "")
    if not (text.isascii() and text.isdigit()) or int(text) <= after:
        raise UnexpectedResponse("The site names no next part. Update fsbench on both sides.")
    return int(text)


class Study:
    """A study of a site, by the last part of its address."""

    def __init__(self, client: Client, slug: str) -> None:
        self._client, self.slug = client, slug

    def measurements(self) -> StudyTable:
        """Every number of its finished runs with its samples, and what is known of the run."""
        return StudyTable(self._client, self.slug, "measurements")

    def scores(self) -> StudyTable:
        """A score of each test and category, over the repeats of a configuration."""
        return StudyTable(self._client, self.slug, "scores")
