"""Which identity names the tests of a fio job, and options of commands typed above a report. Pure.

A test is named by what was done (core.identity) where fio's options are known and the job ran
alone: what one of several processes did at the same time is no work of its own. Two jobs that did
the same keep their own names, so that none passes for a repeat of the other.
"""

import shlex
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from operator import itemgetter

from fsbench_web.core import identity
from fsbench_web.core.formats.repeats import places
from fsbench_web.core.formats.result import ParsedResult
from fsbench_web.core.formats.text import quoted
from fsbench_web.core.formats.values import test_name
from fsbench_web.core.identity import Identity

Options = Mapping[str, str]
NamedJob = tuple[str, Identity | None]
"""The name of a job, and what it did where that is known."""
TypedCommand = tuple[int, Mapping[str, Options]]
"""The line of a fio command, and the options of each of its jobs."""
_MOST_NAMED = 20


def naming_identities(reports: Sequence[Sequence[NamedJob]]) -> list[list[Identity | None]]:
    """For each job of each report the identity that names its tests; None: its own name does.

    A job has one in all reports or in none.
    """
    own_name = {name for jobs in reports for name, found in jobs if not found or not found.stem}
    names: dict[tuple[str, str], set[str]] = defaultdict(set)
    for jobs in reports:
        keys = Counter(_key(found) for _, found in jobs)
        for name, found in jobs:
            names[_key(found)].add(name)
            if keys[_key(found)] > 1:
                own_name.add(name)
    own_name |= {name for of_key in names.values() if len(of_key) > 1 for name in of_key}
    return [[None if name in own_name else found for name, found in jobs] for jobs in reports]


def _key(found: Identity | None) -> tuple[str, str]:
    return ("", "") if found is None else (found.name, found.load)


def note_names(result: ParsedResult, jobs: Sequence[str]) -> None:
    """Keep the names of jobs as a label, where tests have names of their own."""
    if names := list(dict.fromkeys(jobs)):
        result.facts.append(("Jobs", quoted(", ".join(names[:_MOST_NAMED]), 200).strip('"')))


def stages(options: Sequence[Options]) -> list[int]:
    """For each job of a report which stage it ran in: a job with stonewall waits for all before."""
    stage, found = 0, []
    for place, of_job in enumerate(options):
        waits = any(of_job.get(name, "0") != "0" for name in ("stonewall", "wait_for_previous"))
        stage += 1 if waits and place else 0
        found.append(stage)
    return found


def typed_jobs(lines: Sequence[str]) -> list[TypedCommand]:
    """Of each fio command in a text the jobs that ran alone, with all their options.

    A command with a job file says nothing: {}.
    """
    commands: list[TypedCommand] = []
    for line, text in places.typed_commands("fio", lines):
        jobs = _jobs_of(text)
        of_jobs = stages(list(jobs.values()))
        alone = zip(jobs.items(), of_jobs, strict=True)
        commands.append((line, {name: of for (name, of), n in alone if of_jobs.count(n) == 1}))
    return commands


def options_above(commands: Sequence[TypedCommand], line: int, job: str) -> Options | None:
    """The options of a job, as ``test_name`` has it, by the last command above a line.

    None where it does not say them.
    """
    place = bisect_left(commands, line, key=itemgetter(0)) - 1
    if place < 0:
        return None
    jobs = commands[place][1]
    return next((options for name, options in jobs.items() if test_name(name) == job), None)


def _jobs_of(command: str) -> dict[str, Options]:
    try:
        words = shlex.split(command)
    except ValueError:
        return {}
    shared: dict[str, str] = {}
    jobs: dict[str, dict[str, str]] = {}
    options = shared
    place = 0
    while place < len(words):
        word, place = words[place], place + 1
        if not word.startswith("-") or not (name := word.lstrip("-")):
            return {}  # a job file
        name, has_value, value = name.partition("=")
        name = name.replace("-", "_")
        following = words[place] if place < len(words) else "-"
        takes = not following.startswith("-") and (
            following in ("0", "1") if identity.is_flag(name) else True
        )
        if not has_value and takes:
            value, place = following, place + 1
        if name == "name":
            options = jobs.setdefault(value, dict(shared))
        options[name] = value
    return dict(jobs)
