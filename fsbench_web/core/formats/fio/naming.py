"""Which identity names the tests of a fio job, and what commands and job files say of jobs. Pure.

A test is named by what was done (core.identity) where fio's options are known and the job ran
alone. Two jobs that did the same keep their own names, so they are no repeats of each other.
Source: fio(1), "Job file format".
"""

import re
import shlex
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TypeVar

from fsbench_web.core import identity
from fsbench_web.core.formats.json_text import JsonObject
from fsbench_web.core.formats.repeats import typed_commands
from fsbench_web.core.formats.result import ParsedResult, Problem
from fsbench_web.core.formats.text import quoted
from fsbench_web.core.formats.values import test_name
from fsbench_web.core.identity import Identity

Options = Mapping[str, str]
Jobs = Mapping[str, Options]
"""Jobs that ran alone with all their options, by name as ``test_name`` has it."""
Beside = Mapping[str, Jobs]
"""What other files say of a text's jobs, by the names of these files."""
NOTHING_BESIDE: Beside = {}
Description = tuple[int, Jobs]
"""The line where a fio command or a job file stands, and its jobs."""
_ONE_WAY = ("read", "write", "trim")
_MOST_NAMED = 20
_MOST_OPTIONS = 200
_MOST_JOBS = 500
"""Of one job file: each has a copy of what is shared."""
_LONGEST_VALUE = 200
_SECTION = re.compile(r"\[([^\[\]]{1,100})\]")
_OPTION_NAME = re.compile("[a-z][a-z0-9_]{0,60}")
_OF_LOGS = {
    **{"bw": "write_bw_log", "iops": "write_iops_log"},
    **dict.fromkeys(("lat", "clat", "slat"), "write_lat_log"),
    **dict.fromkeys(("hist", "clat_hist"), "write_hist_log"),
}
# Labels, the load and what is printed: all other options make another workload.
_NO_SETTING = re.compile(
    r"name|description|directory|filename|filename_format|opendir|hostname|port|numjobs|iodepth|"
    r"randseed|output.*|eta.*|status.interval|.*_log|log_.*|per_job_logs"
)


@dataclass
class FioJob:
    """A job in a report; ``identity`` names its tests, or its own ``name`` if that is None."""

    name: str
    ran_alone: bool = field(default=False, kw_only=True)
    identity: Identity | None = field(default=None, kw_only=True)

    @property
    def label(self) -> str:
        return self.name


_Job = TypeVar("_Job", bound=FioJob)


def name_by_identity(
    result: ParsedResult, reports: Sequence[Sequence[_Job]], did: Callable[[_Job], Identity | None]
) -> None:
    """Give jobs the identities that name their tests, and keep the names of these as a label.

    A job has one in all reports or in none.
    """
    found = [[(job, did(job)) for job in jobs] for jobs in reports]
    own_name = {job.name for jobs in found for job, of_job in jobs if not of_job or not of_job.stem}
    names: dict[tuple[str, str], set[str]] = defaultdict(set)
    for jobs in found:
        keys = Counter(_key(of_job) for _, of_job in jobs)
        for job, of_job in jobs:
            names[_key(of_job)].add(job.name)
            if keys[_key(of_job)] > 1:
                own_name.add(job.name)
    own_name |= {name for of_key in names.values() if len(of_key) > 1 for name in of_key}
    for jobs in found:
        for job, of_job in jobs:
            job.identity = None if job.name in own_name else of_job
    labels = [job.label for jobs in reports for job in jobs if job.identity is not None]
    if labels := list(dict.fromkeys(labels)):
        note_names(result, labels)


def _key(found: Identity | None) -> tuple[str, str]:
    return ("", "") if found is None else (found.name, found.load)


def note_names(result: ParsedResult, jobs: Sequence[str]) -> None:
    """Keep the names of jobs as a label, where tests have names of their own."""
    result.facts.append(("Jobs", quoted(", ".join(jobs[:_MOST_NAMED]), 200).strip('"')))


def time_unit(version: str) -> str:
    """The unit that fio's JSON counts times in: nanoseconds since 2.99."""
    found = re.match(r"([0-9]{1,9})\.([0-9]{1,9})", version)
    is_old = found is not None and (int(found[1]), int(found[2])) < (2, 99)
    return "µs" if is_old else "ns"


def work_unsaid(line: int) -> Problem:
    """A note that nothing says what a job did, so its tests have the job's own name."""
    message = (
        "It is not known what this job did alone, so its tests have its own name. To compare it "
        "with other jobs, put the fio command above it, or upload the job file too."
    )
    return Problem(line, None, message, is_note=True, code="fio_work_unsaid")


def cache_unsaid(line: int) -> Problem:
    """A note that a report says neither whether I/O was direct nor when data were flushed."""
    message = (
        "The report does not say whether I/O was direct, or when data were flushed. "
        f'The names of its tests contain "{identity.CACHE_UNKNOWN}". To compare it with other '
        "jobs, put the fio command above it, or upload the job file too."
    )
    return Problem(line, None, message, is_note=True, code="fio_cache_unsaid")


def stages(options: Sequence[Options]) -> list[int]:
    """For each job of a report which stage it ran in: a job with stonewall waits for all before."""
    stage, found = 0, []
    for place, of_job in enumerate(options):
        waits = any(of_job.get(name, "0") != "0" for name in ("stonewall", "wait_for_previous"))
        stage += 1 if waits and place else 0
        found.append(stage)
    return found


def is_setting(option: str) -> bool:
    """Whether an option makes another workload, and is no part of the load."""
    return not _NO_SETTING.fullmatch(option)


def settings_of(options: Options) -> list[str]:
    """The options that make another workload, as modes of a result have them."""
    return [
        f"{option}={text}" if text else option
        for option, text in sorted(options.items())
        if is_setting(option)
    ]


def varying_settings(
    reports: Iterable[Sequence[tuple[str, Mapping[str, str]]]],
) -> dict[str, set[str]]:
    """The settings that differ between reports of one job, which make different tests of it.

    ``reports`` are names of jobs with their settings; of several jobs of a name the first counts.
    """
    choices: dict[str, list[Mapping[str, str]]] = defaultdict(list)
    for jobs in reports:
        for name, settings in dict(reversed(jobs)).items():
            choices[name].append(settings)
    return {
        name: {
            setting
            for setting in set[str]().union(*of_job)
            if len({choice.get(setting) for choice in of_job}) > 1
        }
        for name, of_job in choices.items()
    }


def plain_percent(text: str) -> str:
    """A percentile as names of tests have it: 99.900000 is 99.9."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def described_jobs(lines: Sequence[str], beside: Beside) -> list[Description]:
    """The fio commands and job files in a text, in order, after those of ``beside``.

    A command with a job file has the jobs of that file in ``beside``, or of the job file above it.
    """
    commands = dict(typed_commands("fio", lines))
    found = [(0, _joined(beside.values()))] if beside else []
    above: Jobs = {}
    place = 0
    while place < len(lines):
        if place + 1 in commands:
            jobs, file = _jobs_of_command(commands[place + 1])
            found.append((place + 1, beside.get(file, above) if file else jobs))
        if lines[place].startswith("["):
            jobs, end = _job_file(lines, place)
            if jobs:
                above = jobs
                found.append((place + 1, jobs))
            place = max(end, place + 1)
        else:
            place += 1
    return found


def jobs_in(lines: Sequence[str]) -> Jobs:
    # A command with a job file has the jobs of the file, which count once.
    found = {id(jobs): jobs for _, jobs in described_jobs(lines, {})}
    return _joined(found.values())


def _joined(described: Iterable[Jobs]) -> Jobs:
    """All jobs that have one set of options."""
    found: dict[str, Options] = {}
    for jobs in described:
        for name, options in jobs.items():
            found[name] = options if found.get(name, options) == options else {}
    return found


def beside_of(beside: Beside, names: Collection[str]) -> Beside:
    found = {
        file: {name: options for name, options in jobs.items() if name in names}
        for file, jobs in beside.items()
    }
    return {file: jobs for file, jobs in found.items() if jobs}


def logged_by(beside: Beside, prefix: str, kind: str) -> Beside:
    """The only job, by its file, with options that name a log of this kind so; else {}."""
    option = _OF_LOGS[kind]
    found = [
        (file, name, options)
        for file, jobs in beside.items()
        for name, options in jobs.items()
        if option in options and (options[option] or options["name"]).rsplit("/", 1)[-1] == prefix
    ]
    return {file: {name: options} for file, name, options in found} if len(found) == 1 else {}


def options_above(descriptions: Sequence[Description], line: int, job: str) -> Options | None:
    """The options of a job by the last description above a line; None: not said."""
    place = bisect_left(descriptions, line, key=itemgetter(0)) - 1
    return descriptions[place][1].get(job) if place >= 0 else None


def _jobs_of_command(command: str) -> tuple[Jobs, str]:
    """The jobs of a command line, or the name of the job file that it names."""
    try:
        words = shlex.split(command)
    except ValueError:
        return {}, ""
    shared: dict[str, str] = {}
    jobs: dict[str, dict[str, str]] = {}
    files: list[str] = []
    options = shared
    place = 0
    while place < len(words):
        word, place = words[place], place + 1
        if not word.startswith("-") or not (name := word.lstrip("-")):
            files.append(word.rsplit("/", 1)[-1])
            continue
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
    if files:
        is_plain = len(files) == 1 and not jobs and all(map(identity.is_label, shared))
        return {}, files[0] if is_plain else ""
    return _known(jobs), ""


def _job_file(lines: Sequence[str], start: int) -> tuple[Jobs, int]:
    """The jobs of a job file that begins at an index of a line, and where it ends."""
    shared: dict[str, str] = {}
    jobs: dict[str, dict[str, str]] = {}
    options: dict[str, str] = shared
    is_bounded = True
    place = start
    while place < len(lines):
        line = lines[place].strip()
        name, has_value, value = (part.strip() for part in line.partition("="))
        if (section := _SECTION.fullmatch(line)) is not None:
            is_bounded = len(jobs) < _MOST_JOBS and len(shared) <= _MOST_OPTIONS
            if section[1].lower() == "global" or not is_bounded:
                options = shared
            else:
                options = jobs.setdefault(section[1], {**shared, "name": section[1]})
        elif line and line[0] not in ";#":
            if not _OPTION_NAME.fullmatch(name) or not (has_value or identity.is_flag(name)):
                break
            options[name] = value
        place += 1
    return (_known(jobs) if is_bounded else {}), place


def _known(jobs: Jobs) -> Jobs:
    """The jobs that ran while no other did; {} for one that is too long, or has variables."""
    if not any({"rw", "readwrite"} & options.keys() for options in jobs.values()):
        return {}
    of_jobs = stages(list(jobs.values()))
    alone = zip(jobs.items(), of_jobs, strict=True)
    return {
        test_name(options["name"]): options if _can_be_known(options) else {}
        for (_, options), n in alone
        if of_jobs.count(n) == 1
    }


def _can_be_known(options: Options) -> bool:
    texts = options.values()
    return len(options) <= _MOST_OPTIONS and not any(
        "$" in text or len(text) > _LONGEST_VALUE for text in texts
    )


def is_sum_of_several(entry: JsonObject, name: str, options: Mapping[str, str]) -> bool:
    """Whether group_reporting merged several jobs into an entry of the JSON.

    The options are of another name, it did what they do not ask for, or it ran too long for them.
    """
    own_name = options.get("name", "")
    if own_name and test_name(own_name) != name:
        return True
    direction = re.sub("^rand", "", options.get("rw") or options.get("readwrite", ""))
    # What was written may be read again to verify it.
    if direction in _ONE_WAY and not any(option.startswith("verify") for option in options):
        others = [kind for kind in _ONE_WAY if kind != direction]
        if any(entry.object(kind).amount("io_bytes") for kind in others):
            return True
    ran_ms, elapsed_s = entry.amount("job_runtime") or 0.0, entry.amount("elapsed")
    count = options.get("numjobs") or "1"
    if not elapsed_s or not re.fullmatch("[0-9]{1,9}", count):
        return False
    return ran_ms > int(count) * elapsed_s * 1000


def several_jobs(name: str, names: Sequence[str] = ()) -> str:
    """What to say of such an entry; ``names`` of its jobs where they are known."""
    which = f" ({', '.join(names)})"[:200] if names else ""
    said = "" if names else ", and fio prints the options of the last only"
    return (
        f"{name} is the sum of several jobs{which} by group_reporting{said}: what each of them did "
        "is unknown. Put new_group or stonewall into each job, or leave group_reporting out."
    )
