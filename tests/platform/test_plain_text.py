"""Signs that nobody sees are refused wherever a person gives a name, a title or a note."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client

from fsbench_web.accounts import tokens
from fsbench_web.accounts.models import ApiToken, Role, Team
from fsbench_web.catalog.models import OwnWorkload
from fsbench_web.catalog.workloads.own_workloads import add_version
from fsbench_web.compare.models import Permalink, WorkProfileVersion
from fsbench_web.core.workloads import ParameterError
from fsbench_web.imports.checks import target_problems
from fsbench_web.imports.sources import Target
from fsbench_web.platform import plain_text
from fsbench_web.studies.jobs import new_study
from fsbench_web.studies.jobs.documents import text as job_document
from fsbench_web.studies.models import Study
from tests.accounts.people import person
from tests.compare.conftest import make_score

UNSEEN = {
    "escape": "a\x1b[31mb",
    "line break": "a\nb",
    "control character": "a\x85b",
    "RIGHT-TO-LEFT OVERRIDE": "a\u202eb",
    "LEFT-TO-RIGHT ISOLATE": "a\u2066b",
    "LINE SEPARATOR": "a\u2028b",
    "ZERO WIDTH SPACE": "a\u200bb",
    "HANGUL FILLER": "a\u3164b",
    "HANGUL CHOSEONG FILLER": "a\u115fb",
    "COMBINING GRAPHEME JOINER": "a\u034fb",
    "BRAILLE PATTERN BLANK": "a\u2800b",
    "ZERO WIDTH JOINER": "a\u200db",
    "ZERO WIDTH NON-JOINER": "a\u200cb",
}


@pytest.mark.parametrize(("name", "text"), UNSEEN.items(), ids=UNSEEN)
def test_the_sign_is_named_with_its_place(name: str, text: str) -> None:
    problem = plain_text.problem(text)
    assert f"U+{ord(text[1]):04X} " in problem
    assert name in problem
    assert "behind “a”" in problem
    assert "at its beginning" in plain_text.problem(text[1:])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Grüße 日本",
        "a\u00a0b",
        "می\u200cخواهم",
        "PDF\u200cها",
        "\U0001f469\u200d\U0001f4bb",
        "a & <b>",
    ],
)
def test_what_people_write_is_taken(text: str) -> None:
    assert plain_text.problem(text) == ""


@pytest.mark.parametrize("text", UNSEEN.values(), ids=UNSEEN)
def test_of_a_files_name_the_rest_is_kept(text: str) -> None:
    assert plain_text.visible(f"{text}.txt") == f"{text[0]}{text[2:]}.txt"


def test_a_joiner_goes_with_the_sign_beside_it() -> None:
    assert plain_text.visible("می\u200cخ\u200c\u202e") == "می\u200cخ"


@pytest.mark.parametrize("text", ["می\u200c", "\u200cمی", "می\u200c\u200cخ", "می\u200c خ"])
def test_a_joiner_stands_between_two_signs(text: str) -> None:
    assert "U+200C ZERO WIDTH NON-JOINER" in plain_text.problem(text)


def test_a_note_has_lines_and_nothing_else_unseen() -> None:
    assert plain_text.problem("a\r\n\tb\n", is_multiline=True) == ""
    assert "U+202E" in plain_text.problem("a\n\u202eb", is_multiline=True)
    assert "U+001B" in plain_text.problem("a\n\x1b[2J", is_multiline=True)


@pytest.fixture
def call(db: None) -> Callable[..., Any]:
    """A call of the API by an administrator."""
    root = person(Role.ADMINISTRATOR, "root")
    _, token = tokens.create(root, can_administer=True)

    def send(path: str, method: str = "POST", **body: object) -> Any:
        headers = {"Authorization": f"Bearer {token}"}
        text = json.dumps(body)
        return Client().generic(
            method, f"/api/v1/{path}", text, "application/json", headers=headers
        )

    return send


@pytest.mark.parametrize("text", ["a\x1bb", "a\nb", "a\x9bb", "a\u202eb"])
def test_the_api_refuses_it_everywhere(call: Callable[..., Any], text: str) -> None:
    make_score("ext4")
    permalink = call("permalinks", query="test=write", title="fine", note="two\nlines").json()
    sent = {"kind": "fio", "text": "[a]\nrw=read\n", "parser": "fio-json", "space_mb": 1}
    profile = {"title": "fine", "parts": [{"operation": "read"}]}
    assert call("profiles", **profile, summary="two\nlines").status_code == 201
    answers = {
        "profile": call("profiles", **(profile | {"title": text})),
        "what it is": call("profiles", **profile, summary="a\u202eb"),
        "what it rests on": call("profiles", **profile, source="a\u202eb"),
        "its next version": call("profiles/fine/versions", **(profile | {"title": text})),
        "study": call("studies", title=text),
        "summary": call("studies", title="fine", summary="a\u202eb"),
        "permalink": call("permalinks", query="test=write", title=text),
        "note": call("permalinks", query="test=write", note="a\u202eb"),
        "kept permalink": call(f"permalinks/{permalink['key']}", "PATCH", title=text),
        "team": call("teams", name=text),
        "workload": call("own-workloads", title=text, **sent),
        "its text": call("own-workloads", title="Own", **(sent | {"text": "[a]\nrw=\u202eread"})),
    }
    for name, answer in answers.items():
        assert answer.status_code == 422, name
        message = answer.json()["errors"][0]["message"]
        assert "sign that cannot be seen" in message, name
    assert Permalink.objects.get().title == "fine"
    assert Study.objects.count() == 1
    assert not Team.objects.exists()
    assert WorkProfileVersion.objects.count() == 1
    assert not OwnWorkload.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize("text", ["a\x1bb", "a\u202eb"])
def test_pages_and_commands_refuse_it_too(text: str, client: Client) -> None:
    root = person(Role.ADMINISTRATOR, "root")
    client.force_login(root)
    make_score("ext4")
    team = Team.objects.create(name="Storage")
    for path, sent in {
        "/people/teams/": {"name": text},
        f"/people/teams/{team.pk}/": {"name": text},
        "/account/tokens/": {"name": text},
        "/compare/pin/": {"query": "test=write", "title": text},
        "/profiles/new/": {"title": text, "part_operation": "read"},
    }.items():
        answer = client.post(path, sent)
        assert answer.status_code == 422, path
        assert "sign that cannot be seen" in answer.content.decode(), path
    assert not ApiToken.objects.exists()
    with pytest.raises(CommandError, match="U\\+"):
        call_command("create_token", "root", name=text)
    with pytest.raises(new_study.InvalidTitle, match="U\\+"):
        new_study.checked_title(text)
    with pytest.raises(ParameterError, match="U\\+"):
        add_version(text, "fio", "[a]\nrw=read\n", space_mb=1, by=root)
    assert "U+" in target_problems(Target(text))[0].message
    with pytest.raises(job_document.UnreadableDocument, match="U\\+"):
        job_document.read(json.dumps({"study": text}))
    assert User.objects.get() == root
