"""Numbers of a study from Python: whole, in parts, and in the notebook of docs/."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pyarrow.parquet
import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from fsbench import Problem, Site, UnexpectedResponse
from fsbench.transport import Connection

from fsbench_web.accounts import tokens
from fsbench_web.core import number_tables
from fsbench_web.core.measurement_columns import MeasuredTest, of_rows
from fsbench_web.studies.models import Score, Study
from fsbench_web.studies.scores import measurements

SAMPLE = Path(settings.BASE_DIR) / "tests/core/formats/samples/fio-3.33-json.txt"


def test_a_study_comes_as_frames(
    site: str, ada: User, measured: Callable[..., None], tmp_path: Path
) -> None:
    measured("Nightly", ext4=[100, 101], xfs=[110])
    Study.objects.update(visibility="private")
    with pytest.raises(Problem) as refused:
        Site(site).study("nightly").scores().to_arrow()
    assert refused.value.status == 404
    study = Site(site, tokens.create(ada, "reads")[1]).study("nightly")
    stored = [row.value for row in measurements.rows(measurements.MeasurementBlock.objects.all())]
    numbers = study.measurements()
    assert numbers.to_arrow()["value"].to_pylist() == stored
    frame = numbers.to_pandas()
    assert list(frame["value"]) == stored
    assert frame.groupby("filesystem")["run"].nunique().to_dict() == {"ext4": 2, "xfs": 1}
    assert numbers.to_polars()["record_size_kb"].to_list() == list(frame["record_size_kb"])
    numbers.to_parquet(tmp_path / "x.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "x.parquet")
    assert table.equals(numbers.to_arrow())
    assert table.schema.field("file_size_kb").metadata == {b"unit": b"KB of 1024 bytes"}
    scores = study.scores().to_pandas()
    assert list(scores["value"]) == list(
        Score.objects.order_by("pk").values_list("value", flat=True)
    )


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Any]]:
    """A site that gives these answers, one after another; returns what it was asked."""

    def answer(*answers: httpx.Response) -> list[Any]:
        asked, left = [], iter(answers)

        def call(self: object, method: str, path: str, query: Any) -> httpx.Response:
            asked.append((method, path, query))
            return next(left)

        monkeypatch.setattr(Connection, "call", call)
        return asked

    return answer


def part(value: float, link: str = "") -> httpx.Response:
    schema = number_tables.schema_of((*number_tables.NUMBER, "run"))
    columns = of_rows([(MeasuredTest(f"test {value}", "", "KB/s"), 4, 64, value, 1)])
    out = pyarrow.BufferOutputStream()
    runs = [number_tables.RunNumbers({"run": 1}, columns)]
    number_tables.write(number_tables.batches_of(runs, schema), out, "parquet")
    return httpx.Response(200, content=out.getvalue().to_pybytes(), headers={"Link": link})


def test_parts_are_put_together(answering: Callable[..., list[Any]]) -> None:
    asked = answering(part(1, '</api/v1/x?after=7>; rel="next"'), part(2))
    rows = Site("http://there").study("a/b").measurements().to_polars().to_dicts()
    assert [(row["test"], row["value"]) for row in rows] == [("test 1", 1), ("test 2", 2)]
    path = "/studies/a%2Fb/measurements.parquet"
    assert asked == [("GET", path, {"after": 0}), ("GET", path, {"after": 7})]


@pytest.mark.parametrize("text", ["7", "3", "", "x", "%C2%B2"])
def test_parts_end(answering: Callable[..., list[Any]], text: str) -> None:
    """A site that leads in circles is refused."""
    links = [f'</x?after={after}>; rel="next"' for after in ("7", text)]
    answering(*[part(1, link) for link in links])
    with pytest.raises(UnexpectedResponse):
        Site("http://there").study("s").scores().to_arrow()


def test_what_is_no_table_is_refused(answering: Callable[..., list[Any]]) -> None:
    answering(httpx.Response(200, content=b"PAR1<html>"))
    with pytest.raises(UnexpectedResponse, match="no Parquet file"):
        Site("http://there").study("s").scores().to_arrow()


@pytest.mark.parametrize("library", ["pyarrow", "pandas", "polars"])
def test_it_says_what_to_install(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    table = Site("http://there").study("s").scores()
    frame = {"pandas": table.to_pandas, "polars": table.to_polars}.get(library, table.to_arrow)
    with pytest.raises(ImportError, match=rf"pip install 'fsbench\[{library}\]'"):
        frame()


def cells() -> Iterator[str]:
    notebook = json.loads((Path(settings.BASE_DIR) / "docs/notebook.ipynb").read_text())
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            yield "".join(cell["source"])


def test_the_notebook_runs(site: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call_command("load_published", verbosity=0)
    for entry in ("ext4", "xfs"):
        (tmp_path / entry).mkdir()
        (tmp_path / entry / "fio.json").write_bytes(SAMPLE.read_bytes())
    monkeypatch.setenv("FSBENCH_URL", site)
    monkeypatch.setenv("FSBENCH_RESULTS", str(tmp_path))
    names: dict[str, Any] = {}
    for cell in cells():
        exec(cell, names)
    paper = names["paper"]
    assert list(paper.columns) == ["ext2", "ext3", "jfs", "reiser3", "xfs"]
    assert paper.loc[("write", "KB/s"), "jfs"] == 109455.16
    assert list(names["own"].columns) == ["ext4", "xfs"]
    assert len(names["own"]) > 20
