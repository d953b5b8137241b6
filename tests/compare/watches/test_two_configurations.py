"""A confirmation in rounds of two configurations: another one stands for the old state."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.catalog.models import Lun
from fsbench_web.compare.models import Watch
from fsbench_web.compare.watches import confirming, watching
from fsbench_web.studies.models import Run
from tests.compare.watches.test_confirming import (
    _sends,
    ada,
    announce_kernel,
    disk,
    measure,
    rounds_of,
    told,
    watch_of,
)
from tests.studies.conftest import complete

__all__ = ["_sends", "ada", "disk"]
pytestmark = pytest.mark.django_db


class TestTwoConfigurations:
    """The host's old kernel is gone; XFS, as fast as ext4 before, stands for it."""

    @pytest.fixture
    def watch(self, disk: Lun, ada: User) -> Watch:
        xfs = measure_host(disk, ada, "5.1", 1000.0, "xfs")
        for version in ("5.1", "5.2", "6.1.0"):
            run = measure_host(disk, ada, version, 1000.0)
        watch = watch_of(ada, run, rounds=0)
        assert list(confirming.comparable(watch)) == [xfs.series]
        confirming.set_budget(watch, 5, 8, "disk1", xfs.series)
        return watch

    @pytest.mark.parametrize(
        ("level", "outcome"),
        [(900.0, ("confirmed", "slower")), (1000.0, ("not_reproduced", "less_than_limit"))],
    )
    def test_they_are_paired_in_the_same_rounds(
        self, disk: Lun, ada: User, watch: Watch, level: float, outcome: tuple[str, str]
    ) -> None:
        measure_host(disk, ada, "6.2.0", 900.0)
        announce_kernel("6.2.0")  # a heartbeat, for a machine so busy that the last one is old
        (message,) = watching.run_maintenance()
        assert told(message) == ("new", "ordered")
        runs = rounds_of(message)
        of_block: dict[str, set[str]] = {}
        for run in runs:
            of_block.setdefault(run.block, set()).add(run.series.configuration.filesystem)
        assert list(of_block.values()) == [{"ext4", "xfs"}] * 5
        for run in runs:
            speed = {"ext4": level, "xfs": 1000.0}[run.series.configuration.filesystem]
            complete(run, speed * (1 + 0.01 * (run.repeat % 3 - 1)))
        watching.run_maintenance()
        assert told(message) == outcome
        numbers = message.payload["confirmation"]
        assert (numbers["method"], numbers["rounds"]) == ("paired", 5)
        assert numbers["against"] == "xfs_none"
        assert "kernels" not in numbers
        if level < 1000:
            assert numbers["ratio"] == pytest.approx(0.9, abs=0.02)
            assert (
                f"slower than {numbers['against']}, which stands for the earlier state (95%: "
                in message.sentence
            )
        # Rounds of a confirmation are no candidate of another one.
        assert watching.run_maintenance() == []

    def test_a_configuration_that_cannot_be_made_again_orders_nothing(
        self, disk: Lun, ada: User, watch: Watch
    ) -> None:
        configuration = watch.confirm_against.configuration  # type: ignore[union-attr]
        type(configuration).objects.filter(pk=configuration.pk).update(is_known=False)
        measure_host(disk, ada, "6.2.0", 900.0)
        announce_kernel("6.2.0")  # a heartbeat, for a machine so busy that the last one is old
        (message,) = watching.run_maintenance()
        assert told(message) == ("new", "not_repeatable")

    def test_page_and_api_choose_it_among_those_of_the_lun(
        self, client: Client, ada: User, watch: Watch
    ) -> None:
        client.force_login(ada)
        xfs = watch.confirm_against
        assert xfs is not None
        page = client.get(f"/watches/{watch.pk}/").content.decode()
        assert f'<option value="{xfs.pk}" selected>xfs_none</option>' in page
        sent = {"rounds": 3, "hours": 1, "confirm": "disk1"}
        path = f"/watches/{watch.pk}/confirmation/"
        for wrong in (watch.series_id, 10**9):
            assert client.post(path, sent | {"against": wrong}).status_code == 422
            body = sent | {"against": wrong}
            answer = client.put(f"/api/v1{path[:-1]}", body, "application/json")
            assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "against")
        body = sent | {"against": xfs.pk}
        answer = client.put(f"/api/v1{path[:-1]}", body, "application/json").json()
        assert (answer["confirm_against"], answer["confirm_rounds"]) == (xfs.pk, 3)
        assert client.post(path, sent).status_code == 302
        watch.refresh_from_db()
        assert watch.confirm_against is None


def measure_host(
    disk: Lun, user: User, version: str, level: float, filesystem: str = "ext4"
) -> Run:
    """The last of three runs with the host's own kernel in this version."""
    announce_kernel(version)
    return measure(disk, user, {"": level}, filesystem)[-1]
