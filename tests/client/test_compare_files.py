"""``fsbench compare`` and ``read``: results on this machine, and files that are none."""

import csv
import io
import json
import os
import random
import re
import zipfile
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import fsbench
import pandas
import pyarrow.parquet
import pytest
from fsbench import cli
from fsbench.local.problems import NothingToRead

from tests.client.local_files import SAMPLES, changed, folders_of

Run = Callable[..., int]
ENTRIES = {"ext4": 100.0, "xfs": 130.0}


def table(speed: float, seed: int = 0, tests: tuple[str, ...] = ("write", "read")) -> str:
    """A repeat of each test, within 1% of ``speed``."""
    rng = random.Random(f"{speed}{seed}")
    rows = [f"{test},{speed * rng.uniform(0.99, 1.01):.3f},MB/s" for test in tests]
    return "\n".join(["test,value,unit", *rows, ""])


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Four repeats of two tests in a folder for each of ENTRIES."""
    for entry, speed in ENTRIES.items():
        (tmp_path / entry).mkdir()
        for seed in range(4):
            (tmp_path / entry / f"run-{seed}.csv").write_text(table(speed, seed))
    return tmp_path


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command in this process, which must not look for a site."""
    monkeypatch.setattr("fsbench.credentials.chosen_url", lambda url: pytest.fail("asked a site"))
    return lambda *words: cli.main([str(word) for word in words])


def codes(comparison: Any) -> list[str]:
    return [problem.code for problem in comparison.problems]


def test_two_folders_are_two_entries(run: Run, results: Path, capsys: Any) -> None:
    assert run("compare", results / "ext4", results / "xfs", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["answer"]["status"] == "faster"
    assert answer["answer"]["leader"] == "xfs"
    assert answer["answer"]["ratio_low"] < 1.3 < answer["answer"]["ratio_high"]
    assert (answer["by"], answer["files"], answer["runs"]) == ("folder", 8, 8)


@pytest.mark.parametrize("words", [("",), ("*/*.csv",), ("ext4/*.csv", "xfs/*.csv")])
def test_a_folder_and_patterns_have_the_same_answer(results: Path, words: tuple[str, ...]) -> None:
    ours = fsbench.compare(*(f"{results}/{word}" for word in words)).to_dict()
    assert ours == fsbench.compare(results / "ext4", results / "xfs").to_dict()


def test_archives_are_entries(results: Path, tmp_path: Path) -> None:
    paths = []
    for entry in ENTRIES:
        paths.append(tmp_path / f"{entry}.zip")
        with zipfile.ZipFile(paths[-1], "w") as archive:
            for file in (results / entry).iterdir():
                archive.write(file, f"out/{file.name}")
    of_archives = fsbench.compare(*paths)
    assert of_archives.found == fsbench.compare(results / "ext4", results / "xfs").found


def test_names_without_their_number_are_entries(tmp_path: Path) -> None:
    for entry, speed in ENTRIES.items():
        for seed in range(3):
            (tmp_path / f"{entry}-{seed + 1}.csv").write_text(table(speed, seed))
    comparison = fsbench.compare(tmp_path)
    assert comparison.matrix is not None
    assert set(comparison.matrix.entries) == set(ENTRIES)
    assert comparison.found.runs == 6


def test_folders_with_a_number_are_repeats_and_others_are_configurations(tmp_path: Path) -> None:
    for entry, speed in ENTRIES.items():
        for name, factor in (("noatime", 1.1), ("defaults", 1.0)):
            for seed in range(3):
                folder = tmp_path / entry / name / f"run-{seed}"
                folder.mkdir(parents=True)
                (folder / "out.csv").write_text(table(speed * factor, seed))
    comparison = fsbench.compare(tmp_path)
    assert codes(comparison) == ["several_configurations"] * 2
    assert not comparison.losses
    rows = [row for table in comparison.tables for row in table.rows]
    assert {(row.contender, row.configuration, row.runs, row.configurations) for row in rows} == {
        ("ext4", "ext4_noatime", 3, 2),
        ("xfs", "xfs_noatime", 3, 2),
    }
    each = fsbench.compare(tmp_path, by="configuration")
    assert len(each.tables[0].rows) == 4


def test_one_folder_alone_is_not_compared(run: Run, results: Path, capsys: Any) -> None:
    assert run("compare", results / "ext4") == 4
    assert "fsbench compare ext4/ xfs/" in capsys.readouterr().err
    assert fsbench.compare(results / "ext4").found.missing == "one_entry"


def test_different_tests_are_not_compared(run: Run, tmp_path: Path) -> None:
    for name, test in (("a", "write"), ("b", "read")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.csv").write_text(table(100, tests=(test,)))
    assert run("compare", tmp_path) == 4
    assert fsbench.compare(tmp_path).found.missing == "no_common_test"


@pytest.mark.parametrize(
    ("baseline", "margin", "code"), [("xfs", "10", 1), ("xfs", "50", 0), ("ext4", "10", 0)]
)
def test_a_pipeline_ends_with_1_where_an_entry_is_slower(
    run: Run, results: Path, baseline: str, margin: str, code: int
) -> None:
    words = ("--check", "--baseline", baseline, "--margin", margin)
    assert run("compare", results, *words) == code
    assert run("compare", results, *words, "--json") == code


def test_what_is_asked_wrongly_ends_with_2(run: Run, results: Path, capsys: Any) -> None:
    assert run("compare", results, "--check") == 2
    assert run("compare", results, "--baseline", "zfs") == 2
    assert "ext4, xfs" in capsys.readouterr().err
    assert run("compare", results, "--equivalence", "0") == 2


class TestFilesThatAreNone:
    def test_an_empty_folder(self, run: Run, tmp_path: Path) -> None:
        assert run("compare", tmp_path) == 2
        with pytest.raises(NothingToRead) as refused:
            fsbench.compare(tmp_path)
        assert [problem.code for problem in refused.value.problems] == ["folder_empty"]

    @pytest.mark.parametrize(
        ("path", "code"), [("nothing", "no_path"), ("*.nothing", "no_match"), ("pipe", "no_file")]
    )
    def test_no_files(self, path: str, code: str, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(NothingToRead) as refused:
            fsbench.compare(tmp_path / path)
        assert [problem.code for problem in refused.value.problems] == [code]

    def test_a_misspelt_path_is_no_comparison_of_the_others(
        self, run: Run, results: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        folders = (results / "ext4", results / "xfs", results / "btfs")
        assert run("compare", *folders) == 2
        assert run("compare", *folders, "--check", "--baseline", "ext4") == 2
        assert "btfs" in capsys.readouterr().err

    def test_a_readme_beside_results_is_a_note(self, run: Run, results: Path) -> None:
        (results / "README.md").write_text("# What was measured\n")
        (results / "xfs" / "random.bin").write_bytes(random.Random(1).randbytes(100_000))
        comparison = fsbench.compare(results)
        assert codes(comparison) == ["other_file", "other_file"]
        assert comparison.run_count == 8
        assert run("compare", results, "--strict") == 0

    def test_damaged_output_is_said_and_fails_where_that_is_asked(
        self, run: Run, results: Path
    ) -> None:
        (results / "xfs" / "odd.json").write_text('{"fio version": "fio-3", "jobs": [{"read": 5}]}')
        (results / "xfs" / "deep.json").write_text("[" * 200_000)
        comparison = fsbench.compare(results)
        assert {problem.file.rpartition("/")[2] for problem in comparison.losses} == {
            "odd.json",
            "deep.json",
        }
        assert run("compare", results) == 0
        assert run("compare", results, "--strict") == 3

    def test_an_archive_with_a_path_out_of_it(self, results: Path, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "btrfs.zip", "w") as archive:
            archive.writestr("../../escaped.csv", table(1))
            archive.writestr("run.csv", table(90))
        comparison = fsbench.compare(results / "ext4", results / "xfs", tmp_path / "btrfs.zip")
        assert [problem.code for problem in comparison.losses] == ["unreadable"]
        assert comparison.run_count == 9
        assert not (tmp_path.parent.parent / "escaped.csv").exists()

    def test_links_to_folders_are_not_followed(self, results: Path) -> None:
        (results / "ext4" / "up").symlink_to(results)
        assert fsbench.compare(results).run_count == 8

    def test_two_units_of_one_test(self, results: Path) -> None:
        text = "test,value,unit\nwrite,5,s\n"
        (results / "xfs" / "run-9.csv").write_text(text)
        comparison = fsbench.compare(results)
        assert codes(comparison) == ["mixed_units"]

    def test_repeats_that_are_far_apart_are_noted(self, results: Path) -> None:
        (results / "xfs" / "run-9.csv").write_text(table(9000))
        assert codes(fsbench.compare(results)) == ["repeats_differ"]

    def test_more_files_than_are_compared_at_once(
        self, results: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("fsbench.local.files.MOST_FILES", 7)
        with pytest.raises(NothingToRead) as refused:
            fsbench.compare(results / "ext4", results / "xfs")
        assert [problem.code for problem in refused.value.problems] == ["too_many_files"]

    def test_more_bytes_than_are_compared_at_once(
        self, results: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file = results / "ext4" / "run-0.csv"
        monkeypatch.setattr("fsbench.local.files.MOST_BYTES", file.stat().st_size - 1)
        with pytest.raises(NothingToRead) as refused:
            fsbench.read(file)
        assert [problem.code for problem in refused.value.problems] == ["too_large"]


class Tags(HTMLParser):
    """The names of all elements and attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}


HOSTILE = "<script>alert(1)</script>|`*[x](javascript:1)\x1b[31m"


def test_a_page_has_nothing_of_others_in_it_but_text(run: Run, tmp_path: Path) -> None:
    for entry, speed in ((HOSTILE.replace("/", ""), 100.0), ("xfs", 130.0)):
        (tmp_path / entry).mkdir()
        for seed in range(3):
            content = table(speed, seed).replace("read,", "<img onerror=1>,")
            (tmp_path / entry / f"{seed}.csv").write_text(content)
    page = tmp_path / "page.html"
    assert (
        run("compare", tmp_path / HOSTILE.replace("/", ""), tmp_path / "xfs", "--html", page) == 0
    )
    text = page.read_text()
    found = Tags()
    found.feed(text)
    assert found.names <= {
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "main",
        "h1",
        "h2",
        "p",
        "div",
        "table",
        "caption",
        "tr",
        "th",
        "td",
        "span",
        "ul",
        "li",
    }
    assert found.attributes <= {
        *("lang", "charset", "http-equiv", "content", "name", "data-status", "class", "tabindex"),
        *("scope", "colspan"),
    }
    assert 'data-status="faster"' in text
    assert "default-src 'none'" in text


@pytest.fixture
def badly_named(results: Path) -> Path:
    """Results with a broken file, whose name is no UTF-8, moves the cursor and calls a person."""
    name = b"a\xff\x1b[31m\xe2\x80\xae@team~~&lt;.json"
    path = os.path.join(os.fsencode(results / "ext4"), name)  # noqa: PTH118 (Path takes no bytes)
    Path(os.fsdecode(path)).write_text('{"fio version": "fio-3.33", "jobs": [')
    return results


def test_a_page_is_written_whatever_files_are_called(run: Run, badly_named: Path) -> None:
    page = badly_named.parent / "page.html"
    assert run("compare", badly_named, "--html", page) == 0
    text = page.read_text("utf-8")
    assert "[31m@team~~&amp;lt;.json" in text
    assert not re.search("[\x1b\u202e]", text)


def test_markdown_moves_no_cursor_and_calls_nobody(
    run: Run, badly_named: Path, capsys: Any
) -> None:
    assert run("compare", badly_named, "--markdown") == 0
    text = capsys.readouterr().out
    assert r"a\[31m@&#8203;team\~\~\&lt;.json" in text
    assert not re.search("[\x1b\u202e\ud800-\udfff]", text)


def test_markdown_shows_text_of_others_as_it_is(tmp_path: Path, run: Run, capsys: Any) -> None:
    for entry, speed in ENTRIES.items():
        (tmp_path / entry).mkdir()
        content = table(speed).replace("read,", "a|b<i>,")
        (tmp_path / entry / "run.csv").write_text(content)
    assert run("compare", tmp_path, "--markdown") == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {4}


class TestNumbers:
    def test_every_number_is_there_with_its_unit(
        self, run: Run, tmp_path: Path, capsys: Any
    ) -> None:
        file = tmp_path / "fio.json"
        file.write_bytes((SAMPLES / "fio-3.33-json.txt").read_bytes())
        numbers = fsbench.read(file)
        assert run("read", file, "--csv") == 0
        rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
        assert len(rows) == len(numbers) == len(list(numbers)) > 20
        [bandwidth] = [row for row in rows if row["test"].endswith("_bw")]
        assert bandwidth["unit"] == "KB/s"
        assert run("read", file, "--json") == 0
        lines = capsys.readouterr().out.splitlines()
        assert [json.loads(line)["value"] for line in lines] == [one.value for one in numbers]

    def test_no_spreadsheet_runs_a_cell(self, run: Run, tmp_path: Path, capsys: Any) -> None:
        file = tmp_path / "run.csv"
        file.write_text("configuration,test,value,unit\n=1+1,write,1,MB/s\n")
        assert run("read", file, "--csv") == 0
        [row] = csv.DictReader(io.StringIO(capsys.readouterr().out))
        assert row["configuration"] == "'=1+1"

    def test_parquet_and_data_frames_hold_every_number(
        self, run: Run, results: Path, tmp_path: Path
    ) -> None:
        numbers = fsbench.read(results)
        rows = [one._asdict() for one in numbers]
        assert run("read", results, "--parquet", tmp_path / "x.parquet") == 0
        table = pyarrow.parquet.read_table(tmp_path / "x.parquet")
        assert table.to_pylist() == numbers.to_arrow().to_pylist() == rows
        units = {field.name: (field.metadata or {}).get(b"unit") for field in table.schema}
        assert units["record_size_kb"] == units["file_size_kb"] == b"KB of 1024 bytes"
        assert units["value"] == b"in the unit of the column unit"
        assert numbers.to_polars().to_dicts() == rows
        frame = numbers.to_pandas()
        assert list(frame["value"]) == [row["value"] for row in rows]
        assert [None if pandas.isna(kb) else kb for kb in frame["file_size_kb"]] == [
            row["file_size_kb"] for row in rows
        ]

    def test_parquet_says_what_to_install(
        self, run: Run, results: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
    ) -> None:
        monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
        assert run("read", results, "--parquet", results / "x.parquet") == 2
        assert "pip install 'fsbench[pyarrow]'" in capsys.readouterr().err

    def test_no_numbers(self, run: Run, tmp_path: Path) -> None:
        assert run("read", tmp_path) == 2


def test_parts_of_a_repeat_are_one_run(tmp_path: Path) -> None:
    for entry, speed in ENTRIES.items():
        (tmp_path / entry).mkdir()
        for seed in range(3):
            for test in ("write", "read"):
                content = table(speed, seed, tests=(test,))
                (tmp_path / entry / f"{test}-{seed}.csv").write_text(content)
    comparison = fsbench.compare(tmp_path)
    assert (comparison.file_count, comparison.run_count) == (12, 6)


def test_a_sample_has_other_digits_each_time() -> None:
    first, second = (changed("fio-3.33-json.txt", random.Random(seed)) for seed in (1, 2))
    assert first != second


def test_colours_mark_what_is_proven(results: Path) -> None:
    matrix = fsbench.compare(results, baseline="ext4").matrix
    assert matrix is not None
    assert matrix.baseline == "ext4"
    assert {
        cell.shade for _, rows in matrix.groups for row in rows for cell in row.cells if cell
    } == {
        "",
        "u2",
    }


def test_it_says_how_many_repeats_would_decide(tmp_path: Path) -> None:
    folders_of("dbench-4.00.txt", tmp_path)
    comparison = fsbench.compare(tmp_path)
    assert comparison.status == "inconclusive"
    assert comparison.repeats_needed
    assert all(count > 0 for _, count in comparison.repeats_needed)
