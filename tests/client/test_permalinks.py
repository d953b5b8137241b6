"""``fsbench permalinks``: kept, listed, shown and deleted."""

import json
from collections.abc import Callable

from fsbench_web.accounts import tokens
from fsbench_web.accounts.models import Role
from fsbench_web.compare.models import Permalink
from tests.accounts.people import person
from tests.client.conftest import Command

Measured = Callable[..., None]
QUERY = ("--study", "lab", "--test", "write", "--category", "overall")


def test_a_comparison_is_kept_shown_and_deleted(fsbench: Command, measured: Measured) -> None:
    measured("Lab", ext4=[100, 101], xfs=[50, 51])
    options = ("--title", "Before the update", "--visibility", "private", "--expires", "2099-12-31")
    created = fsbench("permalinks", "create", *QUERY, "--baseline", "ext4", *options)
    assert created.returncode == 0, created.stderr
    link = Permalink.objects.get()
    assert created.stdout == f"{fsbench.site}/p/{link.key}/\n"
    assert (link.visibility, str(link.expires_on)) == ("private", "2099-12-31")

    listed = fsbench("permalinks", "list").stdout
    assert link.key in listed
    assert "Before the update" in listed
    assert "2099-12-31" in listed

    measured("Lab", ext4=[120])
    done = fsbench("permalinks", "show", link.key)
    assert done.returncode == 0, done.stderr
    assert "write, overall [score, higher is better]" in done.stdout
    assert "ext4 *" in done.stdout
    assert "baseline" in done.stdout
    assert "Since then: 1 newer runs" in done.stdout
    assert json.loads(fsbench("permalinks", "show", link.key, "--json").stdout)["key"] == link.key

    gone = fsbench("permalinks", "delete", link.key)
    assert (gone.returncode, Permalink.objects.exists()) == (0, False)
    for action in ("show", "delete"):
        assert fsbench("permalinks", action, link.key).returncode == 3


def test_changed_numbers_are_no_success(fsbench: Command, measured: Measured) -> None:
    measured("Lab", ext4=[100, 101])
    fsbench("permalinks", "create", *QUERY)
    Permalink.objects.update(sha256="0" * 64)
    key = Permalink.objects.get().key
    done = fsbench("permalinks", "show", key)
    assert (done.returncode, "NOT those that were kept" in done.stderr) == (3, True)
    assert fsbench("permalinks", "show", key, "--json").returncode == 3


def test_refusals_say_why(fsbench: Command, measured: Measured) -> None:
    empty = fsbench("permalinks", "list")
    assert (empty.returncode, "permalinks create" in empty.stderr) == (0, True)
    nothing = fsbench("permalinks", "create", "--study", "no-such")
    assert (nothing.returncode, "query" in nothing.stderr) == (3, True)
    measured("Lab", ext4=[100, 101])
    late = fsbench("permalinks", "create", *QUERY, "--expires", "tomorrow")
    assert (late.returncode, "expires_on" in late.stderr) == (3, True)
    odd = fsbench("permalinks", "show", "../me")
    assert odd.returncode == 3
    viewer = tokens.create(person(Role.VIEWER, "eve"), "client")[1]
    refused = fsbench("permalinks", "create", *QUERY, FSBENCH_TOKEN=viewer)
    assert (refused.returncode, "needs the role contributor" in refused.stderr) == (3, True)
    assert fsbench("permalinks").returncode == 2
