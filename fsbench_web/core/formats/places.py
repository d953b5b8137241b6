"""Where the runs of one file were made, as far as their command lines and options say it. Pure.

Paths are no settings: repeats may have other ones. Those of several runs may as well be several
file systems, which nobody but the reader knows.
"""

import re
from collections.abc import Sequence

# How a run begins that names its paths, and where they stand: behind it, or in lines that follow.
_COMMAND = re.compile(r"^\s*#?\s*(?:Command line(?: used)?|COMMAND LINE)\s*:\s*\S+(.*)$")
_COMMANDS = {
    "elbencho": _COMMAND,
    "fs_mark": re.compile(r"^#\s+\S*fs_mark(\s.*)$"),
    "ioping": re.compile(r"^--- (.+) ioping statistics ---"),
    "ior": _COMMAND,
    "iozone": _COMMAND,
    "iozone-throughput": _COMMAND,
    "mdtest": _COMMAND,
}
_REPORT = re.compile(r'"fio version"\s*:')
_OPTION = re.compile(r'"(?:directory|filename)"\s*:\s*"([^"]+)"')
_PATH = re.compile(r"(?:^|[\s=\"'])(/[^\s\"'=]+)")


def of_runs(format: str, lines: Sequence[str]) -> list[tuple[str, ...]]:
    """The paths of each run of a file, the same ones once; empty where the format says none."""
    runs: list[tuple[str, ...]] = []
    if format == "fio-json":
        for line in lines:
            if _REPORT.search(line):
                runs.append(())
            if runs and (option := _OPTION.search(line)) is not None:
                runs[-1] = (*runs[-1], option[1])
    elif (command := _COMMANDS.get(format)) is not None:
        runs = [
            tuple(_PATH.findall(match[1]))
            for line in lines
            if (match := command.match(line)) is not None
        ]
    return list(dict.fromkeys(tuple(sorted(set(run))) for run in runs if run))


def several(places: Sequence[tuple[str, ...]]) -> str:
    """What to say of runs in several places."""
    named = ", ".join(" and ".join(paths)[:60] for paths in places[:3])
    more = f" and {len(places) - 3} more" if len(places) > 3 else ""
    return (
        f"The runs of this file were made in several places ({named}{more}) and are taken as those "
        "of one contender: if these are several file systems, make each a file of its own."
    )
