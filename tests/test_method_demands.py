"""docs/method.md says what the literature demands and what fsbench does.

What its table names (options, settings, limits) is in the code.
"""

import re
from pathlib import Path

import pytest
from django.conf import settings

from fsbench_web.catalog.configurations.preparation import SPRANDOM_FROM, Preparation
from fsbench_web.core.scoring import busy, ceilings, steady_state
from fsbench_web.core.workloads.fio.steady import STEADY
from fsbench_web.core.workloads.registry import BUILTIN
from fsbench_web.studies.jobs.spec import JobSpec

ROOT = Path(settings.BASE_DIR)
METHOD = (ROOT / "docs/method.md").read_text()


def table() -> dict[str, tuple[str, str]]:
    """{demand: (source, what is done)} of the page's last section."""
    section = METHOD.partition("\n## Demands, and what fsbench does\n")[2].partition("\n## ")[0]
    rows = [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in section.splitlines()
        if line.startswith("| ")
    ]
    assert rows[:2] == [
        ["demand", "source", "what fsbench does"],
        ["---", "---", "---"],
    ]
    return {demand: (source, done) for demand, source, done in rows[2:]}


def test_every_demand_has_its_source_and_its_answer() -> None:
    assert table()
    assert all(source and done for source, done in table().values())


@pytest.mark.parametrize(
    "source",
    ["Traeger", "Tarasov", "SNIA", "Kalibera and Jones", "Hoefler and Belli", "CONFIRM", "Cao"],
)
def test_the_fields_sources_are_answered(source: str) -> None:
    assert any(source in sources for sources, _ in table().values())


def test_options_that_the_table_names_are_those_of_a_job() -> None:
    _, purge = table()[
        "Purge the device, then twice its capacity one after the other with random data"
    ]
    assert set(re.findall(r"`(\w+)`", purge)) <= set(Preparation.__dataclass_fields__)
    assert {"probe_s", "until", "race", "reference"} <= set(JobSpec.model_fields)
    _, held = table()["Record the processors' frequency and idle states, and hold them"]
    (setting,) = re.findall(r"`(FSBENCH_\w+)`", held)
    assert f"`{setting}`" in (ROOT / "docs/settings.md").read_text()


def test_limits_that_the_page_names_are_those_of_the_code() -> None:
    source, _ = table()["The steady state of random writes in one pass"]
    assert "{}.{} and later".format(*SPRANDOM_FROM) in source
    assert f"fio {SPRANDOM_FROM[0]}.{SPRANDOM_FROM[1]} or later" in METHOD
    _, steady = table()["Then the workload itself until it is steady, and measure there"]
    assert "windows of five intervals" in steady
    assert (steady_state.WINDOW, ceilings.SURE_PERCENT) == (5, 3)
    assert f"differ by at most {steady_state.MOST_RANGE_PERCENT:g}%" in METHOD
    assert f"falls by at most {steady_state.MOST_SLOPE_PERCENT:g}% of it" in METHOD
    assert busy.MOST_IDLE == 0.5


def test_workloads_of_fio_may_stop_at_steady_state_and_choose_their_data() -> None:
    steady, data = STEADY[0].key, "compress_percent"
    names = {kind.tool: {parameter.key for parameter in kind.parameters} for kind in BUILTIN}
    assert {tool for tool, keys in names.items() if steady in keys} == {"fio-depths", "pgmeter"}
    assert {tool for tool, keys in names.items() if data in keys} >= {
        *("fio-depths", "pgmeter", "random-access", "rocksdb"),
        *("filemark", "mongo", "maildir", "sqlite", "container-image", "pgbench"),
    }
    assert "contents" in names["iozone"]
