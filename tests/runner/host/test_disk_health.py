"""What is kept of smartctl's JSON. The samples are parts of files of real disks in testdata/ of
https://github.com/prometheus-community/smartctl_exporter, which say what they are of.
"""

import json
from typing import Any

import pytest

from runner.host import lun_state
from runner.safety.blockdev import ToolError

# testdata/nvme-null-Samsung_SSD_970_EVO_Plus_250GB-nvme0.json
NVME = {
    "nvme_smart_health_information_log": {
        **{"available_spare": 100, "available_spare_threshold": 10, "controller_busy_time": 892},
        **{"critical_warning": 0, "data_units_read": 2025034, "data_units_written": 1969459},
        **{"media_errors": 0, "num_err_log_entries": 22, "percentage_used": 0},
        **{"temperature": 35, "temperature_sensors": [35, 39], "unsafe_shutdowns": 12},
    },
    "power_on_time": {"hours": 3149},
    "smart_status": {"nvme": {"value": 0}, "passed": True},
    "smartctl": {"exit_status": 0},
    "temperature": {"current": 35},
}
# testdata/sat-HGST_Ultrastar_7K6000-HGST_HUS726020ALE614-sda.json
ATA = {
    "ata_smart_attributes": {
        "revision": 16,
        "table": [
            {"id": 5, "name": "Reallocated_Sector_Ct", "raw": {"string": "0", "value": 0}},
            {"id": 194, "raw": {"string": "27 (Min/Max 21/39)", "value": 167505100827}},
            {"id": 197, "name": "Current_Pending_Sector", "raw": {"string": "0", "value": 0}},
            {"id": 198, "name": "Offline_Uncorrectable", "raw": {"string": "0", "value": 0}},
        ],
    },
    "power_on_time": {"hours": 67518},
    "smart_status": {"passed": True},
    "temperature": {"current": 27},
}
# testdata/nonexistent-device.json
GONE = {
    "json_format_version": [1, 0],
    "smartctl": {
        "messages": [
            {
                "string": "/dev/nonexistent: Unable to detect device type",
                "severity": "error",
            }
        ],
        "exit_status": 1,
    },
}


def test_of_nvme_wear_and_errors() -> None:
    assert lun_state.parsed_health(NVME) == {
        **{"passed": True, "power_on_hours": 3149, "temperature_c": 35, "percentage_used": 0},
        **{"available_spare": 100, "media_errors": 0, "critical_warning": 0},
        **{"data_units_written": 1969459, "data_units_read": 2025034, "unsafe_shutdowns": 12},
    }


def test_of_ata_its_sectors_by_the_numbers_of_their_attributes() -> None:
    assert lun_state.parsed_health(ATA) == {
        **{"passed": True, "power_on_hours": 67518, "temperature_c": 27},
        **{"reallocated_sectors": 0, "pending_sectors": 0, "offline_uncorrectable": 0},
    }


@pytest.mark.parametrize(
    "report",
    [
        GONE,
        {},
        [],
        None,
        {"smart_status": "passed", "ata_smart_attributes": {"table": "x"}},
        {"temperature": {"current": -1}, "power_on_time": {"hours": True}},
        {"ata_smart_attributes": {"table": [None, {"id": 5, "raw": 7}]}},
    ],
)
def test_what_nobody_told_is_left_out(report: Any) -> None:
    assert lun_state.parsed_health(report) == {}


@pytest.mark.parametrize("printed", ["", "no JSON", json.dumps(GONE)])
def test_without_the_tool_or_its_answer_there_is_nothing(
    monkeypatch: pytest.MonkeyPatch, printed: str
) -> None:
    monkeypatch.setattr(lun_state, "run_tool", lambda *_, **__: printed)
    assert lun_state.health("/dev/nonexistent") == {}

    def missing(*_: str, **__: object) -> str:
        raise ToolError("smartctl is not installed on this host.")

    monkeypatch.setattr(lun_state, "run_tool", missing)
    assert lun_state.health("/dev/nonexistent") == {}
