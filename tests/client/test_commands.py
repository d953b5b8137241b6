"""login, list, import, deltas, export: what is printed, and how it ends."""

import csv
import io
import json
import re
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from fsbench_web.accounts import tokens
from fsbench_web.accounts.models import ApiToken
from fsbench_web.imports.models import Import
from fsbench_web.studies.models import Run, Study
from tests.api.conftest import announced
from tests.client.conftest import Command

Measured = Callable[..., None]


def credentials_of(fsbench: Command) -> Path:
    return fsbench.home / ".config" / "fsbench" / "credentials.json"


def test_login_keeps_the_token_for_this_user_alone(fsbench: Command, ada: User) -> None:
    token, fsbench.token = fsbench.token, ""
    refused = fsbench("login", stdin="fsb_wrong\n")
    assert (refused.returncode, credentials_of(fsbench).exists()) == (8, False)
    done = fsbench("login", stdin=f"{token}\n")
    assert done.returncode == 0, done.stderr
    assert "ada on http" in done.stdout
    assert token not in done.stdout + done.stderr
    path = credentials_of(fsbench)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert json.loads(fsbench("whoami", "--json").stdout)["username"] == "ada"
    # The site of the last login is meant where nothing else is said.
    assert fsbench("whoami", FSBENCH_URL="").returncode == 0
    # A kept token goes to no other site.
    other = fsbench("whoami", "--url", fsbench.site.replace("127.0.0.1", "localhost"))
    assert other.returncode == 8
    assert "401" in other.stderr
    assert fsbench("logout").returncode == 0
    assert not ApiToken.objects.exists()
    assert fsbench("whoami").returncode == 8
    path.chmod(0o644)
    open_to_all = fsbench("whoami")
    assert (open_to_all.returncode, "chmod 600" in open_to_all.stderr) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["whoami", "--url", "http://127.0.0.1:9"], 7, "Give another address with --url"),
        (["whoami", "--url", "ftp://x"], 2, "is not an address"),
        (["whoami", "--url", "http://a:b@x"], 2, "is not an address"),
        (["list", "nothing"], 2, "is not a list"),
        (["deltas", "--study", "none"], 3, "no study"),
        (["deltas", "--by", "colour"], 3, "filesystem"),
        (["watch", "4711"], 3, "no run 4711"),
        (["cancel", "4711"], 3, "no run 4711"),
        (["import", "/none/here", "--study", "x"], 2, "There is no /none/here"),
        (["submit"], 2, "--study, --lun, --filesystem, --workload"),
        (["submit", "/none/here"], 2, "/none/here"),
        ([], 2, "COMMAND"),
    ],
)
def test_wrong_use_and_refusals_have_their_codes(
    fsbench: Command, arguments: list[str], code: int, says: str
) -> None:
    done = fsbench(*arguments)
    assert done.returncode == code, done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_lists_are_aligned_and_whole_in_a_pipe(fsbench: Command, measured: Measured) -> None:
    long = "A study with a name so long that no terminal of eighty columns would ever show it all"
    measured(long, ext4=[100], xfs=[90])
    announced("bench-1")
    done = fsbench("list", "studies")
    assert done.returncode == 0, done.stderr
    header, *rows = done.stdout.splitlines()
    assert long in done.stdout
    assert "\x1b" not in done.stdout
    place = header.index("runs")
    assert rows[0][place : place + 4] == "   2"
    for kind in ("runs", "luns", "workers", "workloads", "hardware"):
        done = fsbench("list", kind)
        assert done.returncode == 0, done.stderr
        assert len(done.stdout.splitlines()) > 1, kind
        entries = json.loads(fsbench("list", kind, "--json").stdout)
        assert len(entries) == len(done.stdout.splitlines()) - 1, kind
    assert "1 GiB" in fsbench("list", "luns").stdout
    assert fsbench("list", "runs", "--filesystem", "xfs").stdout.count("done") == 1
    none = fsbench("list", "runs", "--state", "failed")
    assert (none.returncode, none.stdout, none.stderr) == (0, "", "There is no such run.\n")


def test_a_terminal_gets_colours_and_what_fits(fsbench: Command, measured: Measured) -> None:
    long = "A study with a name so long that no terminal of eighty columns would ever show it all"
    measured(long, ext4=[100])
    code, screen = fsbench.on_terminal("list", "studies", columns=80)
    assert code == 0
    assert "\x1b[1m" in screen
    plain = re.sub(r"\x1b\[[0-9;]*m", "", screen)
    assert all(len(line) <= 80 for line in plain.splitlines())
    assert "…" in plain
    _, without = fsbench.on_terminal("list", "studies", NO_COLOR="1")
    assert "\x1b" not in without


def test_names_of_others_do_not_reach_the_terminal(fsbench: Command, measured: Measured) -> None:
    measured("Lab", ext4=[100])
    Study.objects.update(title="evil \x1b]0;owned\x07 \x9b31m name\u202e")
    for done in (fsbench("list", "studies").stdout, fsbench.on_terminal("list", "studies")[1]):
        text = re.sub(r"\x1b\[[0-9;]*m", "", done)
        assert "evil" in text
        assert not re.search(r"[\x1b\x07\x9b\u202e]", text)


def test_import_says_where_its_runs_are(fsbench: Command, tmp_path: Path) -> None:
    folder = tmp_path / "results" / "ext4_noatime"
    folder.mkdir(parents=True)
    for number in (1, 2):
        (folder / f"run{number}.csv").write_text(f"test,value,unit\nuntar,{number}.5,s\n")
    look = fsbench("import", folder.parent, "--study", "Lab", "--filesystem", "ext4", "--preview")
    assert look.returncode == 0, look.stderr
    assert "ext4_noatime" in look.stdout
    assert Run.objects.count() == 0
    done = fsbench("import", folder.parent, "--study", "Lab", "--source", "Ada", "--json")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["runs"]) == 2
    bad = tmp_path / "bad.csv"
    bad.write_text("test,value,unit\nuntar,fast,s\n")
    refused = fsbench("import", bad, "--study", "Lab", "--filesystem", "xfs")
    assert refused.returncode == 3
    assert "Nothing was stored." in refused.stderr
    assert "bad.csv:2:" in refused.stderr
    reading = tokens.create(User.objects.get(), "reads", can_import=False, can_run=False)[1]
    no = fsbench("import", bad, "--study", "Lab", FSBENCH_TOKEN=reading)
    assert (no.returncode, "was not made for imports" in no.stderr) == (3, True)


def test_deltas_are_those_of_the_site(fsbench: Command, measured: Measured) -> None:
    measured("Lab", ext4=[100, 101], xfs=[50, 51])
    query = ("--study", "lab", "--test", "write", "--category", "overall")
    done = fsbench("deltas", *query, "--baseline", "ext4")
    assert done.returncode == 0, done.stderr
    title, header, worst, best = done.stdout.splitlines()
    assert title == "write, overall [score, higher is better]"
    site = json.loads(fsbench("deltas", *query, "--baseline", "ext4", "--json").stdout)
    answer = site["answer"]
    assert answer["sentence"].startswith("ext4 is ")
    assert done.stderr.splitlines() == [answer["sentence"], *answer["details"]]
    assert worst.startswith("xfs")
    assert best.startswith("ext4 *")
    # As on the pages: by how much slower needs no sign, and a change has one.
    delta1, delta2, change, *_ = re.findall(r"(\S+)%", worst)
    assert (delta1[0].isdigit(), delta2[0], change[0]) == (True, "−", "−")
    assert "baseline" in best
    assert header.split()[0] == "filesystem"
    deltas = json.loads(fsbench("deltas", *query, "--json").stdout)
    assert [row["contender"] for row in deltas["tables"][0]["rows"]] == ["xfs", "ext4"]
    nothing = fsbench("deltas", "--study", "lab", "--test", "read")
    assert (nothing.returncode, nothing.stdout) == (0, "")


def test_exports_are_files(fsbench: Command, measured: Measured, tmp_path: Path) -> None:
    measured("Lab", ext4=[100, 101], xfs=[50, 51])
    rows = list(csv.DictReader(io.StringIO(fsbench("export", "csv", "--study", "lab").stdout)))
    assert {row["contender"] for row in rows} == {"ext4", "xfs"}
    assert json.loads(fsbench("export", "json", "--study", "lab").stdout)["tables"]
    assert "| ext4" in fsbench("export", "markdown", "--study", "lab").stdout
    assert "\\begin{tabular}" in fsbench("export", "latex", "--study", "lab").stdout
    book = tmp_path / "deltas.xlsx"
    done = fsbench("export", "xlsx", "--study", "lab", "-o", book)
    assert done.returncode == 0, done.stderr
    assert zipfile.is_zipfile(book)
    code, screen = fsbench.on_terminal("export", "xlsx", "--study", "lab")
    assert (code, "-o FILE" in screen) == (2, True)


def test_an_import_lists_ten_runs_and_leads_to_the_others(fsbench: Command, tmp_path: Path) -> None:
    for number in range(12):
        text = f"test,value,unit\nuntar,{10 + number}.5,s\n"
        (tmp_path / f"run{number}.csv").write_text(text)
    many = sorted(tmp_path.glob("*.csv"))
    options = ("--filesystem", "xfs", "--configuration", "xfs")
    done = fsbench("import", *many, "--study", "Lab", *options)
    lines = done.stdout.splitlines()
    stored = Import.objects.get().pk
    assert lines[0] == f"Import {stored}: 12 runs stored."
    assert lines[1] == f"{fsbench.site}/runs/{min(Run.objects.values_list('pk', flat=True))}/"
    assert lines[11:] == [f"… and 2 more: {fsbench.site}/imports/{stored}/"]
    alone = fsbench("import", many[0], "--study", "Other", *options)
    assert ": 1 run stored." in alone.stdout


def test_what_jobs_were_called_before_is_taken_and_not_shown(fsbench: Command) -> None:
    help_text = fsbench("--help").stdout + fsbench("show", "--help").stdout
    assert "sweep" not in help_text
    assert re.search(r"^ +run ", help_text, re.MULTILINE) is None
    assert "submit" in help_text
    for words in (("run", "/none"), ("submit", "/none")):
        assert "/none" in fsbench(*words).stderr
    for words in (("show", "--sweep", 4711), ("show", "--job", 4711)):
        done = fsbench(*words)
        assert (done.returncode, "There is no job 4711" in done.stderr) == (3, True)
    for name in ("jobs", "sweeps"):
        assert json.loads(fsbench("list", name, "--json").stdout) == []
    assert fsbench("list", "runs", "--sweep", 1).returncode == 0
    assert fsbench("resume", "--sweep", "x").returncode == 2
    assert "sweep" not in fsbench("completion", "bash").stdout
