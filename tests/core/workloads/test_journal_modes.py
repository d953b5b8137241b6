"""The job in docs/workloads.md that measures writing by journal mode."""

import re
from pathlib import Path

from fsbench_web.studies.jobs.documents.plan import expand
from fsbench_web.studies.jobs.documents.text import read

GUIDE = Path(__file__).parents[3] / "docs" / "workloads.md"


def test_the_documented_job_has_each_journal_mode_of_each_file_system() -> None:
    section = GUIDE.read_text("utf-8").split("## Write by journal mode")[1]
    (document,) = re.findall(r"```yaml\n(.*?)```", section, re.S)
    plan = expand(read(document))
    assert plan.unreadable == {}
    assert {
        (configuration.filesystem, configuration.options["journal_mode"])
        for configuration in plan.configurations
    } == {
        (filesystem, mode)
        for filesystem in ("ext3", "ext4", "reiser3")
        for mode in ("ordered", "writeback", "journal")
    }
    (workload,) = plan.workloads
    assert workload.name == "iozone-small"
