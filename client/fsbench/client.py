"""The API of an fsbench site for Python programs: see the site's own /api/v1/docs."""

import contextlib
import json
import os
import tarfile
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from fsbench.transport import Connection, Query, json_of

if TYPE_CHECKING:
    from fsbench.frames import Study

_BYTES = "application/octet-stream"


class Client:
    """Calls of one site. Every method raises ``Problem`` (refused) and ``Unreachable``."""

    def __init__(
        self, url: str, token: str | None = None, timeout_s: float = 60.0, ca_file: str = ""
    ) -> None:
        self.site = Connection(url, token or "", timeout_s, ca_file)

    def study(self, slug: str) -> "Study":
        """The numbers of a study: ``Site(url).study("lab").scores().to_pandas()``."""
        from fsbench.frames import Study  # other calls need no NumPy

        return Study(self, slug)

    def get(self, path: str, query: Query = (), **more: Any) -> Any:
        """The JSON of a read: ``client.get("/studies/lab")``."""
        return json_of(self.site.call("GET", path, query=_both(query, more)))

    def download(self, path: str, query: Query = (), **more: Any) -> bytes:
        """The bytes of a read that answers with a file."""
        return self.site.call("GET", path, query=_both(query, more)).content

    def send(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> Any:
        """The JSON of a write; None where it answers with nothing."""
        content = None if body is None else json.dumps(body).encode()
        values = {"Content-Type": "application/json", **(headers or {})}
        answer = self.site.call(method, path, body=content or b"", headers=values)
        return json_of(answer) if answer.content else None

    def post(self, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Any:
        return self.send("POST", path, body, headers)

    def delete(self, path: str) -> None:
        self.send("DELETE", path)

    def pages(self, path: str, key: str, most: int | None = None, **query: Any) -> Iterator[Any]:
        """The entries of a long list, ``most`` at most, page by page while they are asked for."""
        for _, rows in self._pages(path, key, most, query):
            yield from rows

    def part(
        self, path: str, key: str, most: int | None = None, size: int = 100, **query: Any
    ) -> tuple[list[Any], int]:
        """The first entries of a long list, ``most`` at most, and how many it has in all."""
        pages = list(self._pages(path, key, most, query, size))
        return [row for _, rows in pages for row in rows], pages[-1][0] if pages else 0

    def _pages(
        self, path: str, key: str, most: int | None, query: Mapping[str, Any], size: int = 100
    ) -> Iterator[tuple[int, list[Any]]]:
        offset = 0
        while most is None or offset < most:
            limit = size if most is None else min(size, most - offset)
            page = self.get(path, limit=limit, offset=offset, **query)
            rows = page[key]
            yield page["total"], rows
            offset += len(rows)
            if not rows or offset >= page["total"]:
                return

    def upload(self, path: str, fields: Mapping[str, str], files: Sequence[Path]) -> Any:
        """The JSON of a call that takes files; folders are packed on the way."""
        with contextlib.ExitStack() as stack:
            parts = [
                ("file", (_name(path), stack.enter_context(_opened(path)), _BYTES))
                for path in files
            ]
            form = {"data": fields, "files": parts}
            return json_of(self.site.call("POST", path, form=form))

    def submit(self, document: str | Mapping[str, Any], confirm: str, key: str = "") -> Any:
        """Submit a job. **All data on its LUNs is lost**; ``confirm`` repeats their names.

        With the same ``key`` it is submitted once, however often it is sent.
        """
        headers = {"Idempotency-Key": key or uuid.uuid4().hex}
        return self.post("/sweeps", {"document": document, "confirm": confirm}, headers)

    order = submit  # as it was called before


Site = Client
"""The name in notebooks, which read from a site and do not command it."""


def looks(client: Client, path: str, every_s: float) -> Iterator[Any]:
    """The answers of a read, one after another, for those who wait for something."""
    while True:
        yield client.get(path)
        time.sleep(every_s)


def _both(query: Query, more: Mapping[str, Any]) -> list[tuple[str, Any]]:
    pairs = list(query.items()) if isinstance(query, Mapping) else list(query)
    return [*pairs, *more.items()]


def _name(path: Path) -> str:
    return path.resolve().name + (".tar.gz" if path.is_dir() else "")


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """The file, or a folder as tar.gz: regular files only, hidden ones left out."""
    with path.open("rb") if path.is_file() else tempfile.TemporaryFile() as content:
        if path.is_dir():
            _pack(path.resolve(), content)
        yield content


def _pack(root: Path, packed: IO[bytes]) -> None:
    with tarfile.open(fileobj=packed, mode="w|gz") as archive:
        for path in sorted(root.rglob("*")):
            label = path.relative_to(root.parent)
            if path.is_file() and not any(part.startswith(".") for part in label.parts[1:]):
                entry = tarfile.TarInfo(label.as_posix())
                with path.open("rb") as file:
                    entry.size = os.fstat(file.fileno()).st_size
                    archive.addfile(entry, file)
    packed.seek(0)
