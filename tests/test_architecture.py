"""What holds for the whole tree: migrations, commands, pages without strangers."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from celery.fixups.django import DjangoWorkerFixup
from django.conf import settings
from django.core.management import get_commands, load_command_class
from django.template.loader import get_template

from fsbench_web.celery import app as celery_app

ROOT = Path(settings.BASE_DIR)
TEMPLATES = sorted((ROOT / "templates").rglob("*.*"))
OWN_STATIC = sorted(
    path
    for path in (ROOT / "static").rglob("*")
    if path.suffix in (".css", ".js", ".svg") and "vendor" not in path.parts
)


COMMANDS = {
    name: application
    for name, application in get_commands().items()
    if application.startswith(("fsbench_web.", "runner"))
}


def test_a_command_does_not_load_every_page_first() -> None:
    commands = {name: load_command_class(app, name) for name, app in COMMANDS.items()}
    assert [name for name, command in commands.items() if command.requires_system_checks] == []


def test_a_worker_does_not_load_every_page_first(monkeypatch: pytest.MonkeyPatch) -> None:
    def checked() -> None:
        raise AssertionError("the checks load every page")

    monkeypatch.setattr("django.core.checks.run_checks", checked)
    DjangoWorkerFixup(celery_app).validate_models()


def test_scoring_and_formats_do_not_start_django() -> None:
    code = (
        "import sys; from fsbench_web.core import formats, workloads; "
        "from fsbench_web.core.scoring import deltas, scores; "
        "sys.exit('django' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


def test_there_are_templates_and_static_files_to_look_at() -> None:
    assert len(TEMPLATES) > 5
    assert len(OWN_STATIC) > 1


def test_no_line_of_a_template_is_longer_than_250_characters() -> None:
    assert [
        f"{path.relative_to(ROOT)}:{number}"
        for path in TEMPLATES
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > 250
    ] == []


def test_each_package_says_in_its_first_line_what_it_is_about() -> None:
    packages = [path for top in ("fsbench_web", "runner") for path in (ROOT / top).rglob("*.py")]
    silent = [
        str(path.parent.relative_to(ROOT))
        for path in packages
        if path.name == "__init__.py"
        # Django's own names of folders say it; the top is empty, so that the core starts nothing.
        and not {"migrations", "management"} & set(path.parts)
        and path.parent != ROOT / "fsbench_web"
        and not path.read_text().startswith('"""')
    ]
    assert not silent


def test_no_docstring_breaks_off_in_the_middle_of_a_sentence() -> None:
    assert [
        f"{path.relative_to(ROOT)}: {match[1]}"
        for top in ("benchmarks", "client", "fsbench_web", "runner", "tests")
        for path in (ROOT / top).rglob("*.py")
        for match in re.finditer(r'^ *"""(?=\S)((?!.*""").*[^.:?!\s])\n\n', path.read_text(), re.M)
    ] == []


def test_every_template_compiles() -> None:
    for path in TEMPLATES:
        get_template(str(path.relative_to(ROOT / "templates")))


def test_templates_hold_no_inline_script() -> None:
    """The policy forbids it (fsbench_web.platform.http.security); the browser would drop it
    in silence.
    """
    for path in TEMPLATES:
        text = path.read_text()
        for attributes, body in re.findall(r"<script\b([^>]*)>(.*?)</script>", text, re.S | re.I):
            assert "src=" in attributes, f"{path}: inline script: {body[:80]}"
            assert not body.strip(), path
        assert not re.search(r"<[a-z][^>]*\son[a-z]+\s*=", text, re.I), f"{path}: event handler"
        assert not re.search(r"hx-on[:\w-]*\s*=", text), f"{path}: hx-on needs eval"
        assert not re.search(r"=[\"'\s]*javascript:", text, re.I), path


def _loaded_from_elsewhere(text: str) -> list[str]:
    """Addresses of other hosts that a browser would fetch by itself; a link is not fetched."""
    tags = re.findall(
        r"<(?:script|link|img|iframe|source|video|audio|use|image)\b[^>]*"
        r"(?:src|href|srcset)\s*=\s*[\"']?\s*((?:https?:)?//[^\"'\s>]+)",
        text,
        re.I,
    )
    css = re.findall(r"(?:url\(\s*[\"']?|@import\s+[\"'])((?:https?:)?//[^\"')\s]+)", text, re.I)
    js = re.findall(
        r"(?:import\s*\(?|from|fetch\(|EventSource\()\s*[\"'`]((?:https?:)?//[^\"'`]+)", text
    )
    return tags + css + js


def test_nothing_is_loaded_from_another_host() -> None:
    loaded = {path: _loaded_from_elsewhere(path.read_text()) for path in TEMPLATES + OWN_STATIC}
    assert {path: addresses for path, addresses in loaded.items() if addresses} == {}


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://cdn.example/x.js"></script>',
        "<link rel=stylesheet href=//cdn.example/x.css>",
        "@import 'https://fonts.example/f.css';",
        "background: url(https://img.example/a.png)",
        'import x from "https://cdn.example/x.mjs"',
    ],
)
def test_the_search_for_other_hosts_finds_them(text: str) -> None:
    assert _loaded_from_elsewhere(text)


def test_vendored_files_name_their_version_and_licence() -> None:
    vendor = ROOT / "static" / "vendor"
    files = [path.name for path in vendor.iterdir() if path.suffix in (".js", ".css")]
    assert files
    for name in files:
        assert re.search(r"\d+\.\d+", name), f"{name} has no version"
        assert (vendor / f"{re.split(r'[-.]', name)[0]}-LICENSE").exists(), name


@pytest.mark.parametrize(
    "path", [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")], ids=lambda path: path.name
)
def test_links_between_documents_lead_somewhere(path: Path) -> None:
    targets = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", path.read_text())
    assert [target for target in targets if not (path.parent / target).exists()] == []


# Modules that a folder may hold: more of them are several subjects.
MODULES = 20


def test_no_folder_holds_more_than_twenty_modules() -> None:
    held = Counter(
        str(path.parent.relative_to(ROOT))
        for top in ("benchmarks", "client", "fsbench_web", "runner")
        for path in (ROOT / top).rglob("*.py")
        if path.name != "__init__.py" and path.parent.name != "migrations"
    )
    assert [folder for folder, count in held.items() if count > MODULES] == []
