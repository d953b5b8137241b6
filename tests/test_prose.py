"""The checker of prose: what it counts, what it leaves out, and that held pages keep its limits."""

import importlib.util
import sys
from pathlib import Path

import pytest
from django.conf import settings

ROOT = Path(settings.BASE_DIR)
LONG = "One " + "word " * 30 + "too many."


@pytest.fixture(scope="module")
def prose() -> object:
    spec = importlib.util.spec_from_file_location("prose", ROOT / "tools/prose.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["prose"] = module
    spec.loader.exec_module(module)
    return module


def test_it_counts_sentences_of_paragraphs_and_lists(prose) -> None:
    figures = prose.examine(
        "# A title here\n\nOne two. Three\nfour five? Six!\n\n- seven `a b` eight\n"
    )
    assert figures.lengths == (2, 3, 1, 3)


def test_a_link_counts_as_its_text(prose) -> None:
    assert prose.examine("See [two words](a.md#b.c) here.\n").lengths == (4,)


@pytest.mark.parametrize(
    "text",
    ["```\n%s\n```\n", "# %s\n", "Before.\n\n    %s\n", "`%s`\n"],
    ids=["fence", "heading", "indented", "inline"],
)
def test_code_tables_and_headings_are_left_out(prose, text: str) -> None:
    figures = prose.examine(text % f"whose {LONG}")
    assert figures.banned == ()
    assert max(figures.lengths, default=0) <= 1


def test_it_finds_banned_words_with_their_line(prose) -> None:
    assert prose.examine(f"| one | whose {LONG} |\n") == prose.Figures((), ((1, "whose"),), "")
    figures = prose.examine("Fine.\n\nThe worker, Whose disk\nis gone.\n")
    assert figures.banned == ((3, "Whose"),)
    assert not prose.examine("Besides, a retold story.\n").banned


def test_it_refuses_long_sentences(prose) -> None:
    assert any("above 30" in problem for problem in prose.examine(f"{LONG} Short.").problems())
    assert any("mean" in problem for problem in prose.examine("word " * 19 + ".").problems())
    assert prose.examine("Short. " * 40 + LONG).problems() == []


def test_a_line_of_the_changelog_is_short(prose) -> None:
    assert prose.long_lines("a" * 120 + "\n" + "b" * 121) == ["line 2: 121 characters, limit 120"]


def test_a_held_page_fails_and_any_other_is_listed(
    prose, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text(LONG)
    monkeypatch.setattr(prose, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["prose.py"])
    monkeypatch.setattr(prose, "HELD", ())
    assert prose.main() == 0
    assert "docs/a.md: not held yet" in capsys.readouterr().out
    monkeypatch.setattr(prose, "HELD", ("docs/a.md",))
    assert prose.main() == 1


def test_held_pages_exist_and_keep_the_limits(prose) -> None:
    assert {ROOT / name for name in prose.HELD} <= set(prose.pages())
    assert prose.main() == 0
