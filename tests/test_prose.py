"""The checker of prose: what it counts, what it leaves out, and that files keep its limits."""

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
    assert prose.examine(f"| one | whose {LONG} |\n") == prose.Figures((), ((1, "whose"),))
    figures = prose.examine("Fine.\n\nThe worker, Whose disk\nis gone.\n")
    assert figures.banned == ((3, "Whose"),)
    assert not prose.examine("Besides, a retold story.\n").banned


def test_it_refuses_long_sentences(prose) -> None:
    assert any("33 words" in problem for problem in prose.examine(f"{LONG} Short.").problems())
    assert any("mean" in problem for problem in prose.examine("word " * 19 + ".").problems())
    assert prose.examine("Short. " * 40 + LONG).problems() == []


def test_a_line_of_the_changelog_is_short(prose) -> None:
    assert prose.long_lines("a" * 120 + "\n" + "b" * 121) == ["line 2: 121 characters, limit 120"]


TEMPLATE = """{% load units %}{# whose #}<style>whose</style>
<p class="x">One {{ two }} <code>a b</code>,
  {% if a == "b" %}four five{% else %}four{% endif %} six{{ n|pluralize }}.</p>
{% if c %}<h2>A title</h2><p>Seven <strong>eight.</strong><span>Nine!</span></p>
{% else %}<p>Ten.</p>{% endif %}<button title="Eleven twelve.">Go</button>
<p>The worker whose disk failed.</p>
"""


def test_it_reads_what_a_template_shows(prose) -> None:
    figures = prose.examine(TEMPLATE, ".html")
    assert figures.lengths == (6, 2, 1, 1, 2, 5)
    assert [sentence.line for sentence in figures.sentences] == [2, 4, 4, 5, 5, 6]
    assert figures.banned == ((6, "whose"),)


def test_a_page_has_shorter_sentences_than_a_document(prose) -> None:
    text = "One " + "word " * 20 + "more."
    assert any("22 words" in problem for problem in prose.examine(text, ".html").problems())
    assert not any("22 words" in problem for problem in prose.examine(text, ".md").problems())


def test_it_reads_docstrings_and_messages_of_modules(prose) -> None:
    figures = prose.examine(
        '"""First line.\n\nThe ``a b`` of it::\n\n    whose code\n"""\n\n\n'
        'def name(x):\n    """Second."""\n    log("SELECT whose FROM a")\n'
        '    raise ValueError(f"The worker {x} has none whose " "disk works.")\n',
        ".py",
    )
    assert sorted(figures.lengths) == [1, 2, 4, 8]
    assert figures.banned == ((12, "whose"),)


def test_a_file_with_problems_fails(
    prose, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(prose, "ROOT", tmp_path)
    (tmp_path / "a.md").write_text("The worker whose disk, and whoever. Two.")
    assert prose.main() == 1
    assert capsys.readouterr().err.startswith("a.md:\n  line 1: “whose”\n  line 1: “whoever”")
    (tmp_path / "a.md").write_text("One.")
    assert prose.main() == 0


def test_every_file_keeps_the_limits(prose, capsys: pytest.CaptureFixture[str]) -> None:
    failed = prose.main()
    assert not failed, capsys.readouterr().err
