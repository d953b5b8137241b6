"""Who may see a permalink, until when, what a wiki and a chat get of it."""

import hashlib
import io
import json
import re
from collections.abc import Iterator
from datetime import date, timedelta
from functools import partial
from html import unescape
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone
from PIL import Image
from playwright.sync_api import Page, expect

from fsbench_web.accounts.models import Role, Team
from fsbench_web.compare.models import LinkVisibility, Permalink
from fsbench_web.compare.permalinks import records, sharing
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.tables.delta_tables import answer_of
from fsbench_web.core.comparison import answer_shown
from fsbench_web.platform import env
from tests.accounts.people import person
from tests.compare.conftest import make_run, make_score
from tests.services.pages import complaint_about

pytestmark = pytest.mark.django_db
FILES = [
    "",
    "deltas.csv",
    "deltas.json",
    "deltas.xlsx",
    "deltas.md",
    "deltas.tex",
    "charts/write/",
    "export/",
    "snapshot.json",
    "image.png",
    "image.svg",
]
HOSTILE = [
    '"><script>alert(1)</script>',
    "=cmd()",
    r"\input{x}",
    "Грüße 日本 \u202e",
    "w" * 200,
    "' onload=alert(1) x='",
]


@pytest.fixture
def al() -> User:
    return person(Role.CONTRIBUTOR, "al")


def pinned(author: User, **settings: object) -> Permalink:
    make_score("ext4", 100)
    return records.pin(ComparisonSpec(), author, **settings)  # type: ignore[arg-type]


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def statuses(client: Client, link: Permalink) -> set[int]:
    return {client.get(f"/p/{link.key}/{path}").status_code for path in [*FILES, "embed/"]}


def test_public_is_for_anyone(jo, al):
    link = pinned(jo)
    for client in (Client(), signed_in(al), signed_in(jo)):
        assert statuses(client, link) == {200}


@pytest.mark.parametrize("visibility", [LinkVisibility.TEAM, LinkVisibility.PRIVATE])
def test_others_learn_nothing_of_what_they_may_not_see(jo, al, visibility):
    link = pinned(jo, visibility=visibility, title="A secret")
    # Administrators see every permalink; here that is what an account without a role is.
    mate, closed = person(Role.CONTRIBUTOR, "mate"), User.objects.create_user("closed")
    Team.objects.create(name="Storage").members.add(jo, mate, closed)
    Team.objects.create(name="Others").members.add(al)
    User.objects.filter(pk=closed.pk).update(is_active=False)
    unknown = Client().get("/p/nosuchkey00/").content.decode()
    for path in [*FILES, "embed/"]:
        answer = Client().get(f"/p/{link.key}/{path}")
        assert answer.status_code == 404, path
        assert b"secret" not in answer.content
    hidden = Client().get(f"/p/{link.key}/").content.decode()
    assert hidden == unknown.replace("nosuchkey00", link.key)
    for path in FILES:
        expected = 200 if visibility == LinkVisibility.TEAM else 404
        assert signed_in(mate).get(f"/p/{link.key}/{path}").status_code == expected, path
        for other in (al, closed):
            assert signed_in(other).get(f"/p/{link.key}/{path}").status_code == 404, path
        answer = signed_in(jo).get(f"/p/{link.key}/{path}")
        assert answer.status_code == 200, path
        assert "no-store" in answer["Cache-Control"], path
    # A wiki cannot know who looks: only what is public is embedded, also for its author.
    assert signed_in(jo).get(f"/p/{link.key}/embed/").status_code == 404


def test_what_is_private_expires_without_a_word_to_others(jo, al):
    link = pinned(jo, visibility=LinkVisibility.PRIVATE)
    Permalink.objects.update(expires_on=timezone.localdate() - timedelta(days=1))
    assert statuses(signed_in(al), link) == {404}
    assert signed_in(jo).get(f"/p/{link.key}/").status_code == 410


@pytest.fixture
def today(monkeypatch: pytest.MonkeyPatch) -> date:
    """A day that does not end while the test runs."""
    day = timezone.localdate()
    monkeypatch.setattr(timezone, "localdate", lambda _=None: day)
    return day


def test_it_opens_on_its_last_day_and_not_behind_it(client, jo, today):
    link = pinned(jo, expires_on=today)
    assert statuses(client, link) == {200}
    Permalink.objects.update(expires_on=today - timedelta(days=1))
    assert statuses(client, link) == {410}
    text = client.get(f"/p/{link.key}/").content.decode()
    assert "This permalink has expired" in text
    assert "100.00" not in text
    assert "set a new last day</a>" not in text
    client.force_login(jo)
    assert f'href="/p/{link.key}/edit/"' in client.get(f"/p/{link.key}/").content.decode()
    client.post(f"/p/{link.key}/edit/", {"visibility": "public", "expires_on": ""})
    assert statuses(Client(), link) == {200}


def test_housekeeping_deletes_what_nobody_prolonged(jo, capsys, today):
    permanent = pinned(jo, title="for good")
    recent = pinned(jo, title="recent")
    old = pinned(jo, title="old")
    Permalink.objects.filter(pk=recent.pk).update(expires_on=today - timedelta(days=30))
    Permalink.objects.filter(pk=old.pk).update(expires_on=today - timedelta(days=31))
    call_command("prune_permalinks", "--dry-run")
    assert "1 expired permalinks would be deleted" in capsys.readouterr().out
    assert Permalink.objects.count() == 3
    sharing.run_maintenance()
    assert set(Permalink.objects.all()) == {permanent, recent}
    call_command("prune_permalinks", "--days", "0")
    assert set(Permalink.objects.all()) == {permanent}


def test_sharing_takes_title_note_readers_and_last_day(client, jo):
    make_score("ext4")
    client.force_login(jo)
    day = timezone.localdate() + timedelta(days=3)
    form = {
        "query": "test=write",
        "title": " A  title\n",
        "note": "First.\n\nSecond <b>.",
        "visibility": "team",
        "expires_on": day.isoformat(),
    }
    text = client.post("/compare/pin/", form, follow=True).content.decode()
    link = Permalink.objects.get()
    assert (link.title, link.visibility, link.expires_on) == ("A title", "team", day)
    assert "<h1>A title</h1>" in text
    assert "<p>Second &lt;b&gt;.</p>" in text
    assert "access: members of its author" in text
    client.post("/compare/pin/", form)
    assert Permalink.objects.count() == 1


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("title", "x" * 201, "at most 200"),
        ("note", "x" * 10_000, "at most 4000"),
        ("visibility", "everybody", "not one of the available choices"),
        ("expires_on", "2020-01-01", "is past"),
        ("expires_on", "soon", "Write the last day as"),
        ("title", "a\x00b", "Null characters"),
    ],
)
def test_what_cannot_be_said_of_a_permalink_is_refused(client, jo, field, value, words):
    make_score("ext4")
    client.force_login(jo)
    answer = client.post("/compare/pin/", {"query": "test=write", field: value})
    assert answer.status_code == 422
    assert words in unescape(answer.content.decode())
    assert not Permalink.objects.exists()
    link = pinned(jo, title="as it was")
    answer = client.post(f"/p/{link.key}/edit/", {"visibility": "public", field: value})
    assert answer.status_code == 422
    assert words in unescape(answer.content.decode())
    assert Permalink.objects.get().title == "as it was"


@pytest.mark.parametrize("is_deleted", [True, False], ids=["deleted", "handed over"])
def test_a_permalink_that_is_gone_at_the_last_moment_is_not_saved(
    client: Client, jo: User, al: User, monkeypatch: pytest.MonkeyPatch, is_deleted: bool
) -> None:
    make_score("ext4")
    link = pinned(jo, title="as it was", visibility="public")
    client.force_login(jo)
    is_valid = sharing.SharingForm.is_valid

    def meanwhile(form: sharing.SharingForm) -> bool:
        rows = Permalink.objects.filter(pk=link.pk)
        if is_deleted:
            rows.delete()
        else:
            rows.update(created_by=al)
        return is_valid(form)

    monkeypatch.setattr(sharing.SharingForm, "is_valid", meanwhile)
    sent = {"visibility": "public", "title": "mine"}
    status = client.post(f"/p/{link.key}/edit/", sent).status_code
    assert status == (404 if is_deleted else 403)
    assert not Permalink.objects.filter(title="mine").exists()


def test_the_database_takes_no_other_visibility(jo):
    pinned(jo)
    with pytest.raises(IntegrityError), transaction.atomic():
        Permalink.objects.update(visibility="all")


def test_only_its_author_changes_it_and_no_stranger_deletes_it(jo, al):
    link = pinned(jo, title="mine")
    for action in ("edit", "delete", "withdraw"):
        assert signed_in(al).get(f"/p/{link.key}/{action}/").status_code in (403, 405)
        assert signed_in(al).post(f"/p/{link.key}/{action}/", {"title": "his"}).status_code == 403
        assert Client().post(f"/p/{link.key}/{action}/").status_code == 302
    admin = User.objects.create_superuser("root")
    assert signed_in(admin).post(f"/p/{link.key}/edit/", {"title": "his"}).status_code == 403
    Permalink.objects.update(visibility=LinkVisibility.PRIVATE)
    assert signed_in(al).post(f"/p/{link.key}/delete/").status_code == 404
    assert Permalink.objects.get().title == "mine"
    # Nobody else is left who could.
    jo.delete()
    assert signed_in(al).get(f"/p/{link.key}/").status_code == 404
    assert signed_in(admin).get(f"/p/{link.key}/").status_code == 200


def test_editing_changes_what_is_said_and_not_the_numbers(client, jo):
    link = pinned(jo)
    client.force_login(jo)
    answer = client.post(
        f"/p/{link.key}/edit/", {"title": "New", "visibility": "private"}, follow=True
    )
    assert answer.redirect_chain == [(f"/p/{link.key}/", 302)]
    after = Permalink.objects.get()
    assert (after.title, after.visibility) == ("New", "private")
    assert (after.snapshot, after.sha256, after.key) == (link.snapshot, link.sha256, link.key)


def test_deleting_asks_first(client, jo):
    link = pinned(jo)
    client.force_login(jo)
    assert "cannot be undone" in client.get(f"/p/{link.key}/delete/").content.decode()
    assert Permalink.objects.exists()
    answer = client.post(f"/p/{link.key}/delete/", follow=True)
    assert answer.redirect_chain == [("/p/", 302)]
    assert not Permalink.objects.exists()
    assert client.get(f"/p/{link.key}/").status_code == 404


def test_my_permalinks_are_mine(client, jo, al):
    link, other = pinned(jo, title="Jo's own"), pinned(al, title="Al's own")
    Permalink.objects.filter(pk=link.pk).update(expires_on="2020-01-01")
    client.force_login(jo)
    text = unescape(client.get("/p/").content.decode())
    assert "Jo's own" in text
    assert "expired" in text
    assert other.key not in text
    assert 'href="/p/"' in client.get("/account/").content.decode()
    client.force_login(User.objects.create_user("new"))
    assert "You have shared nothing yet" in client.get("/p/").content.decode()


def test_a_link_without_a_title_says_when_it_was_made_and_what_it_compares(client, jo):
    link = pinned(jo)
    client.force_login(jo)
    text = unescape(client.get("/p/").content.decode())
    heading = unescape(client.get(f"/p/{link.key}/").content.decode()).split("<h1>")[1]
    title = heading.split("</h1>")[0]
    assert title.startswith("Comparison of ")
    assert f">{title}</a>" in text
    assert "File systems, each by its best configuration" in text
    # A query that another version wrote may not be understood: the link is listed all the same.
    Permalink.objects.filter(pk=link.pk).update(query="by=moon")
    assert f">{title}</a>" in client.get("/p/").content.decode()


def test_the_checksum_is_of_the_snapshot_that_anyone_can_fetch(client, jo):
    link = pinned(jo, title="t", note="n")
    content = client.get(f"/p/{link.key}/snapshot.json").content
    assert hashlib.sha256(content).hexdigest() == link.sha256
    assert link.sha256 in client.get(f"/p/{link.key}/").content.decode()
    assert json.loads(content)["tables"][0]["rows"][0]["score"] == 100


def test_the_view_is_restored_with_its_job_and_what_differed(client, jo):
    make_run(make_score("ext4", 100, hardware="old").series)
    make_score("xfs", 50, hardware="new")
    live = client.get("/compare/?sort=-score").content.decode()
    link = records.pin(ComparisonSpec(sort="-score"), jo)
    make_score("xfs", 500, hardware="new")
    text = client.get(f"/p/{link.key}/").content.decode()
    for page in (live, text):
        assert "differ in more than the file system" in page
        rows = page[page.index('title="100.0 KB/s') : page.rindex("</tbody>")]
        assert rows.index('title="100.0 KB/s') < rows.index('title="50.0 KB/s')
        assert ">500<" not in rows
    comparison = records.read(link)
    assert comparison.sort == "-score"
    assert comparison.differences is not None
    assert "hardware" in {difference.one for difference in comparison.differences.unintended}
    assert 'href="/compare/?papers=yes&amp;sort=-score"' in text  # all studies, as it has


def test_a_link_of_an_older_version_still_opens(client, jo):
    link = pinned(jo)
    content = json.loads(link.snapshot)
    for name in ("by", "sort", "differences"):
        del content[name]
    for row in content["tables"][0]["rows"]:
        for name in ("interval", "verdict", "change_verdict", "label", "series_id"):
            row.pop(name, None)
    older = json.dumps(content)
    Permalink.objects.update(snapshot=older, sha256=hashlib.sha256(older.encode()).hexdigest())
    for path in [*FILES, "embed/"]:
        assert client.get(f"/p/{link.key}/{path}").status_code == 200, path


@pytest.mark.parametrize("title", ["", *HOSTILE])
def test_the_picture_is_a_png_of_the_size_that_chats_want(client, jo, title):
    link = pinned(jo, title=title)
    answer = client.get(f"/p/{link.key}/image.png")
    assert answer["Content-Type"] == "image/png"
    picture = Image.open(io.BytesIO(answer.content))
    assert (picture.format, picture.size) == ("PNG", (1200, 630))
    assert len(picture.getcolors(maxcolors=1 << 20)) > 3  # something is drawn


class Elements(HTMLParser):
    """Every element with its attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def meta(self) -> dict[str | None, str | None]:
        return {
            attributes.get("property"): attributes.get("content")
            for tag, attributes in self.found
            if tag == "meta"
        }


@pytest.mark.parametrize("title", HOSTILE)
def test_chats_are_told_what_it_is(client, jo, title):
    link = pinned(jo, title=title)
    meta = Elements(client.get(f"/p/{link.key}/").content.decode()).meta()
    pinned_answer = answer_of(records.read(link).tables)
    assert meta["og:title"] == answer_shown.headline(pinned_answer)
    assert str(meta["og:description"]).startswith(f"{title} · ")
    assert meta["og:url"] == f"http://testserver/p/{link.key}/"
    picture = str(meta["og:image"])
    assert picture.startswith(f"http://testserver/p/{link.key}/image.png?")
    assert client.get(picture).status_code == 200
    Permalink.objects.update(visibility="team")
    client.force_login(jo)
    assert "og:title" not in Elements(client.get(f"/p/{link.key}/").content.decode()).meta()


def test_the_embedded_view_has_no_scripts_forms_or_cookies(jo, settings):
    link = pinned(jo)
    answer = signed_in(jo).get(f"/p/{link.key}/embed/")
    tags = {tag for tag, _ in Elements(answer.content.decode()).found}
    assert not tags & {"script", "form", "input", "button", "iframe"}
    assert "table" in tags
    assert not answer.cookies
    assert "X-Frame-Options" not in answer
    policy = dict(part.split(" ", 1) for part in answer["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == policy["form-action"] == "'none'"
    assert policy["frame-ancestors"] == "'self'"
    settings.EMBED_ORIGINS = ["https://wiki.example", "https://*.lab.example"]
    answer = Client().get(f"/p/{link.key}/embed/")
    allowed = "frame-ancestors 'self' https://wiki.example https://*.lab.example"
    assert allowed in answer["Content-Security-Policy"]
    # No other page may be framed, whatever the setting says.
    page = Client().get(f"/p/{link.key}/")
    assert "frame-ancestors 'none'" in page["Content-Security-Policy"]
    assert page["X-Frame-Options"] == "DENY"


@pytest.mark.parametrize(
    "value",
    [
        "wiki.example",
        "https://wiki.example/path",
        "https://a;script-src *",
        "'self'",
        "https://a b",
    ],
)
def test_what_is_no_site_is_refused_by_name(monkeypatch, value):
    monkeypatch.setenv("FSBENCH_EMBED_ORIGINS", value)
    with pytest.raises(ImproperlyConfigured, match="FSBENCH_EMBED_ORIGINS"):
        env.origins("FSBENCH_EMBED_ORIGINS")
    monkeypatch.setenv("FSBENCH_EMBED_ORIGINS", "https://wiki.example, http://*.lab:8080,*")
    assert env.origins("FSBENCH_EMBED_ORIGINS") == [
        "https://wiki.example",
        "http://*.lab:8080",
        "*",
    ]


def test_one_table_can_be_embedded(client, jo):
    make_score("ext4", 7, test="read")
    link = pinned(jo)
    text = client.get(f"/p/{link.key}/embed/?test=read&category=maximum").content.decode()
    assert ">7<" in text
    assert ">100<" not in text
    assert client.get(f"/p/{link.key}/embed/?test=nope").status_code == 404


@pytest.mark.parametrize("title", HOSTILE)
def test_the_snippet_is_one_frame_whatever_the_title(client, jo, title):
    link = pinned(jo, title=title)
    text = client.get(f"/p/{link.key}/").content.decode()
    snippet = text.split('<textarea id="embed"')[1].split(">", 1)[1].split("</textarea>")[0]
    # What a browser puts into the field, and from there into a wiki.
    [(tag, attributes)] = Elements(unescape(snippet)).found
    assert tag == "iframe"
    assert attributes["title"] == title
    assert attributes["src"] == f"http://testserver/p/{link.key}/embed/"
    assert set(attributes) == {
        "src",
        "title",
        "width",
        "height",
        "loading",
        "referrerpolicy",
        "sandbox",
        "style",
    }


@pytest.fixture
def other_site(tmp_path: Path) -> Iterator[str]:
    """Another site than fsbench, serving the files of ``tmp_path``."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=tmp_path)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_site_that_is_allowed_frames_the_view_and_another_one_does_not(
    page: Page, complaints: list[str], site: str, other_site: str, tmp_path: Path
):
    link = pinned(User.objects.create_user("wiki"), title="In a wiki")
    frame = f'<iframe src="{site}/p/{link.key}/embed/" sandbox="allow-popups"></iframe>'
    (tmp_path / "wiki.html").write_text(f"<!doctype html><link rel=icon href=data:,>{frame}")
    with complaint_about(page, complaints, "frame-ancestors"):
        page.goto(f"{other_site}/wiki.html")
    page.frames[1].wait_for_url(re.compile("^chrome-error:"), wait_until="commit")
    # The site itself may; the sandbox keeps the view apart from it all the same.
    page.goto("/account/sign-in/")
    page.evaluate("frame => document.querySelector('main').innerHTML = frame", frame)
    inside = page.frame_locator("iframe")
    expect(inside.get_by_role("heading", name="In a wiki")).to_be_visible()
    # The style sheet came along; a frame shows its text before its style sheet is there.
    expect(inside.locator("table").first).to_have_css("border-collapse", "collapse")
    # The view has no script: the sandbox now and then stops one with which Playwright looks inside.
    complaints[:] = [one for one in complaints if "frame is sandboxed" not in one]


def test_its_author_is_told_that_a_closed_study_keeps_others_out(al: User) -> None:
    study = make_score("ext4", 100, study="closed").series.study
    study.created_by, study.visibility = al, "private"
    study.save()
    hers = Client()
    hers.force_login(al)
    page = hers.post(
        "/compare/pin/", {"query": "study=closed", "visibility": "public"}, follow=True
    ).content.decode()
    assert "Others may not see this permalink." in page
    assert 'href="/studies/closed/access/"' in page
    link = Permalink.objects.get()
    assert Client().get(f"/p/{link.key}/").status_code == 404
    study.visibility = "public"
    study.save()
    assert "Others may not see" not in hers.get(f"/p/{link.key}/").content.decode()
    assert Client().get(f"/p/{link.key}/").status_code == 200
