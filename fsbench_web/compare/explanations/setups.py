"""What is recorded to differ between the set-up of two series, for their explanation."""

from collections.abc import Iterator

from fsbench_web.catalog.configurations import preparation
from fsbench_web.catalog.configurations.filesystems import FILESYSTEMS
from fsbench_web.catalog.configurations.limits import WORDS
from fsbench_web.core.setup_effects import SetupDifference
from fsbench_web.studies.models import Series

MOST_SETUPS = 20
_Recorded = dict[str, tuple[str, str]]
"""(label, value) by name; "" is nothing, or the tool's default."""


def setups(first: Series, second: Series) -> list[SetupDifference]:
    """What is on record of both and differs: of ``first``, then of ``second``. At most some."""
    of_first, of_second = (dict(_series_settings(series)) for series in (first, second))
    if first.configuration.is_known and second.configuration.is_known:
        of_first |= dict(_configuration_settings(first))
        of_second |= dict(_configuration_settings(second))
    return list(_setup_differences(of_first, of_second))[:MOST_SETUPS]


def _setup_differences(of_first: _Recorded, of_second: _Recorded) -> Iterator[SetupDifference]:
    for name in dict.fromkeys([*of_first, *of_second]):
        label = (of_first.get(name) or of_second[name])[0]
        values = [side.get(name, ("", ""))[1] for side in (of_first, of_second)]
        usual = "default" if name.startswith("option.") else "none"
        if values[0] != values[1] and (all(values) or name not in _NEVER_NONE):
            yield SetupDifference(name, label, values[0] or usual, values[1] or usual)


_NEVER_NONE = ("filesystem", "kernel", "workload", "lun", "hardware")
"""Every run has them: where there is none, nobody wrote it down."""


def _configuration_settings(series: Series) -> Iterator[tuple[str, tuple[str, str]]]:
    """Of a configuration whose options are known."""
    configuration = series.configuration
    spec = FILESYSTEMS.get(configuration.filesystem)
    names = {option.key: option.name for option in spec.options} if spec else {}
    for key, value in sorted(configuration.options.items()):
        yield f"option.{key}", (names.get(key, key), str(value))
    yield "scheduler", ("I/O scheduler", configuration.scheduler)
    where = "on a LUN of its own" if configuration.external_journal else "on the data LUN"
    yield "journal", ("journal", where)


def _series_settings(series: Series) -> Iterator[tuple[str, tuple[str, str]]]:
    machine = series.runs_on
    yield "filesystem", ("file system", series.configuration.filesystem)
    for name, limit in machine.limits.stored().items():
        yield f"limits.{name}", (WORDS[name], str(limit))
    if machine.is_guest:
        yield "guest", ("guest", machine.words)
    yield "stack", ("other LUNs", series.stack_luns)
    yield "preparation", ("preparation", preparation.in_words(series.preparation))
    yield "kernel", ("kernel", series.kernel)
    yield "workload", ("workload", series.workload.title if series.workload else "")
    yield "lun", ("LUN", series.lun.name if series.lun else "")
    yield "hardware", ("hardware", series.hardware.name if series.hardware else "")
