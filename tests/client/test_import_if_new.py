"""``fsbench import --if-new``: the same folder every night stores what is new in it."""

import json
from pathlib import Path

from fsbench_web.imports.models import Import
from fsbench_web.studies.models import Run
from tests.client.conftest import Command

OF = ("--study", "Lab", "--filesystem", "xfs", "--configuration", "xfs")


def test_what_is_there_already_is_passed_over(fsbench: Command, tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("test,value,unit\nuntar,1.5,s\n")
    first = fsbench("import", tmp_path / "1.csv", *OF, "--if-new")
    assert (first.returncode, ": 1 run stored." in first.stdout) == (0, True)
    run = Run.objects.get().pk
    again = fsbench("import", tmp_path / "1.csv", *OF, "--if-new")
    assert (again.returncode, again.stdout) == (0, "No new results: nothing was stored.\n")
    assert again.stderr == f"Already stored, skipped: run {run}.\n"
    assert (Run.objects.count(), Import.objects.count()) == (1, 1)
    # Without it, as ever.
    refused = fsbench("import", tmp_path / "1.csv", *OF)
    assert (refused.returncode, f"already there, as run {run}" in refused.stderr) == (3, True)
    # A copy under another name is known by its numbers; what is new beside it is stored.
    (tmp_path / "2.csv").write_text("test,value,unit\nuntar,1.50,s\n")
    (tmp_path / "3.csv").write_text("test,value,unit\nuntar,2.5,s\n")
    both = fsbench("import", *sorted(tmp_path.glob("[23].csv")), *OF, "--if-new", "--json")
    report = json.loads(both.stdout)
    assert (len(report["runs"]), report["known"]) == (1, [{"file": "2.csv", "run": run}])
    assert Run.objects.count() == 2
    # A file that is wrong is refused all the same, and two that are the same are no repeat.
    (tmp_path / "4.csv").write_text("test,value,unit\nuntar,fast,s\n")
    wrong = fsbench("import", tmp_path / "1.csv", tmp_path / "4.csv", *OF, "--if-new")
    assert (wrong.returncode, "4.csv:2:" in wrong.stderr) == (3, True)
    for name in "56":
        (tmp_path / f"{name}.csv").write_text("test,value,unit\nuntar,7.5,s\n")
    twins = fsbench("import", *sorted(tmp_path.glob("[56].csv")), *OF, "--if-new")
    assert (twins.returncode, "very same numbers" in twins.stderr) == (3, True)
    assert Run.objects.count() == 2
    assert fsbench("import", tmp_path / "1.csv", *OF, "--if-new", "--preview").returncode == 2


def test_a_repeat_is_said(fsbench: Command, tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("test,value,unit\nuntar,1.5,s\n")
    assert fsbench("import", tmp_path / "1.csv", *OF, "--repeat", "5").returncode == 0
    assert Run.objects.get().repeat == 5


def test_a_table_that_grew_gives_its_new_runs_alone(fsbench: Command, tmp_path: Path) -> None:
    path = tmp_path / "nights.csv"
    rows = ["test,value,unit,repeat,filesystem,configuration"]
    rows += [f"untar,{night}.5,s,{night},xfs,xfs" for night in range(1, 4)]
    path.write_text("\n".join(rows) + "\n")
    assert fsbench("import", path, "--study", "Lab", "--if-new").returncode == 0
    path.write_text("\n".join([*rows, "untar,4.5,s,4,xfs,xfs"]) + "\n")
    grown = json.loads(fsbench("import", path, "--study", "Lab", "--if-new", "--json").stdout)
    assert (len(grown["runs"]), len(grown["known"])) == (1, 3)
    assert sorted(Run.objects.values_list("repeat", flat=True)) == [1, 2, 3, 4]


def test_what_is_left_out_is_printed_and_strict_refuses_it(
    fsbench: Command, tmp_path: Path
) -> None:
    path = tmp_path / "1.csv"
    path.write_text("test,value,unit,mood\nuntar,1.5,s,good\n")
    says = 'Column "mood" is not one that fsbench keeps.'
    refused = fsbench("import", path, *OF, "--strict")
    assert (refused.returncode, Run.objects.count()) == (3, 0)
    assert f"1.csv:1: Left out, and the import is strict: {says}" in refused.stderr
    looked = fsbench("import", path, *OF, "--preview")
    assert (looked.returncode, f"1.csv:1: {says}" in looked.stderr) == (0, True)
    stored = fsbench("import", path, *OF)
    assert (stored.returncode, stored.stderr) == (0, f"1.csv:1: {says}\n")
    path.write_text("test,value,unit,mood\nuntar,2.5,s,good\n")
    stored = fsbench("import", path, *OF, "--strict", "--ignore-columns", "mood")
    assert stored.returncode == 0
    assert stored.stderr == '1.csv:1: Column "mood" is not read, as the import says.\n'
