"""The numbers of one study of a site, as data frames and Parquet files."""

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import quote

import httpx

from fsbench.client import Client
from fsbench.frames import Frames, library
from fsbench.transport import UnexpectedResponse
from fsbench_web.core import number_tables

if TYPE_CHECKING:
    import pyarrow


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
                table = pyarrow.parquet.read_table(io.BytesIO(answer.content))
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
