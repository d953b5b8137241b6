"""Workloads that users bring: a job file of fio, or one command without a shell. Pure.

A run keeps the whole text. It is checked again whenever it is used.
"""

import re
import shlex
from collections.abc import Mapping

from fsbench_web.core import formats, requirements
from fsbench_web.core.activity.promises import Syncs
from fsbench_web.core.formats.fio.syncs import syncs as fio_syncs
from fsbench_web.core.formats.result import ParsedResult, Problem, UnreadableFile
from fsbench_web.core.formats.values import test_name
from fsbench_web.core.identity import of_fio
from fsbench_web.core.scoring import testnames
from fsbench_web.core.scoring.ceilings import Request
from fsbench_web.core.workloads.base import (
    UPLOADED_HERE,
    BenchmarkCommand,
    Kind,
    Parameter,
    ParameterError,
    Place,
    Workload,
    time_limit,
)
from fsbench_web.core.workloads.fio.data import asked_data_warning, one_buffer_warning
from fsbench_web.core.workloads.fio.jobs import MOST_BYTES, checked_job
from fsbench_web.core.workloads.fio.requests import least_written_at_once, options_of, requests

MIB = 1024 * 1024
ALLOWED_PREFIX = "own:"
"""Before a program in what a worker says it has: its own configuration allows users to call it."""

MOST_WORDS = 100
FOLDER = "{folder}"
# What follows makes another folder of it (``{folder}n``), or means a slash to some programs.
_BEYOND_FOLDER = re.compile(rf"{re.escape(FOLDER)}(?!/|\Z)")
_PROGRAM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")
_NAME = re.compile(r"[^\x00-\x1f\x7f]{1,150}")
_PARSERS = tuple((name, name) for name in formats.FORMATS)
_PARAMETERS = (
    Parameter("name", "Name", Kind.TEXT, fixed=True),
    Parameter("version", "Version", minimum=1, maximum=100_000, fixed=True),
    Parameter(
        "space_mb",
        "Space needed",
        unit="MiB",
        default=1024,
        minimum=1,
        maximum=2**30,
        fixed=True,
    ),
)


class _OwnWorkload(Workload):
    """What both have in common: name, version, text."""

    def check(self) -> None:
        if not _NAME.fullmatch(str(self.values["name"])):
            raise ParameterError("The name must have 1 to 150 characters, all on one line.")

    def title(self) -> str:
        return f"{self.values['name']}, version {self.version}"

    def space_needed_bytes(self) -> int:
        return int(self.space_mb) * MIB


class OwnFio(_OwnWorkload):
    """A job file of fio with harmless options only."""

    tool = "own-fio"
    name = "fio job file"
    about = "A job file of fio that was uploaded here."
    paper = "Uploaded here"
    question = UPLOADED_HERE
    programs = requirements.WORKLOADS["own-fio"]
    parameters = (
        *_PARAMETERS,
        Parameter("text", "Job file", Kind.TEXT, fixed=True, maximum=MOST_BYTES),
        time_limit(6 * 3600),
    )

    def check(self) -> None:
        super().check()
        self.job = checked_job(self.text)

    def commands(self, place: Place) -> list[BenchmarkCommand]:
        job = f"[global]\ndirectory={place.work}\n{self.job}"
        return [
            BenchmarkCommand(("mkdir", place.work)),
            BenchmarkCommand(
                ("fio", "--output-format=json+", "--eta=never", "-"), output="fio.json", stdin=job
            ),
        ]

    def syncs(self, outputs: Mapping[str, bytes]) -> Mapping[str, Syncs | None]:
        jobs = list(options_of(self.job).values())
        return {name: fio_syncs(data, jobs) for name, data in outputs.items()}

    @property
    def is_direct(self) -> bool:
        return bool(re.search(r"^direct(=1)?$", self.job, re.M))

    @property
    def is_preallocated(self) -> bool:
        """Of any of its jobs; fio preallocates where nobody says."""
        choices = (options.get("fallocate", "native") for options in options_of(self.job).values())
        return any(choice not in ("none", "truncate") for choice in choices)

    def data_warning(self) -> str:
        """Of what its jobs ask for, the most that one of them does."""
        if re.search(r"^zero_buffers(=1)?$", self.job, re.M):
            return "The job asks for data that compress."
        compress, dedupe = (
            max(map(int, re.findall(rf"^{name}=([0-9]+)$", self.job, re.M)), default=0)
            for name in ("buffer_compress_percentage", "dedupe_percentage")
        )
        asked = asked_data_warning("fio", compress, dedupe)
        return asked or one_buffer_warning(least_written_at_once(self.job))

    def counterpart(self, test: str, record_kb: int | None = None) -> Request | None:
        """That of the job with the test's identity, or with a name that the test begins with."""
        name, load = testnames.parts(test)
        options = options_of(self.job)
        for (job, direction), request in requests(self.job).items():
            done = of_fio(options[job])
            is_named = done is not None and name.startswith(f"{done.name}_") and done.load == load
            if is_named or name.startswith(f"{test_name(job, direction)}_"):
                return request
        return None


class OwnCommand(_OwnWorkload):
    """One program with its words. Which programs may be called is for each worker's host to say."""

    tool = "own-command"
    name = "Command"
    about = "A command that was uploaded here. It is started without a shell."
    paper = "Uploaded here"
    question = UPLOADED_HERE
    parameters = (
        *_PARAMETERS,
        Parameter("text", "Command", Kind.TEXT, fixed=True, maximum=4096),
        Parameter("parser", "Output read as", Kind.CHOICE, choices=_PARSERS, fixed=True),
        time_limit(6 * 3600),
    )

    def check(self) -> None:
        super().check()
        self.words = checked_words(self.text)

    @property
    def needs(self) -> Mapping[str, str]:
        return {f"{ALLOWED_PREFIX}{self.words[0]}": ""}

    def commands(self, place: Place) -> list[BenchmarkCommand]:
        words = tuple(word.replace(FOLDER, place.work) for word in self.words)
        return [
            BenchmarkCommand(("mkdir", place.work)),
            BenchmarkCommand(words, output="output.txt"),
        ]

    def parse(self, outputs: Mapping[str, bytes]) -> dict[str, ParsedResult]:
        results = super().parse(outputs)
        for result in results.values():
            if result.format != self.parser:
                text = f"it is {result.format}, and not {self.parser} as the workload says"
                raise UnreadableFile([Problem(None, None, text)])
        return results


def checked_words(text: str) -> tuple[str, ...]:
    """The words of a command. Paths must begin with ``{folder}``. Raises ParameterError."""
    if any(ord(character) < 32 or ord(character) == 127 for character in text):
        raise ParameterError("A command is one line, without control characters.")
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise ParameterError(f"The command cannot be split into words: {error}.") from None
    if not words or len(words) > MOST_WORDS:
        raise ParameterError(f"A command has 1 to {MOST_WORDS} words.")
    if not _PROGRAM.fullmatch(words[0]):
        raise ParameterError("The first word must be the name of a program, without a path.")
    for word in words[1:]:
        rest = word.replace(FOLDER, "")
        if "{" in rest or "}" in rest:
            raise ParameterError(f"“{word[:60]}”: the only placeholder is {FOLDER}.")
        if ".." in word:
            raise ParameterError(f"“{word[:60]}”: .. may lead out of the folder.")
        if _BEYOND_FOLDER.search(word) or "\\" in word.partition(FOLDER)[2]:
            raise ParameterError(
                f"“{word[:60]}”: after {FOLDER} comes a slash or nothing, and no backslash."
            )
        if "/" in word.partition(FOLDER)[0] or re.search(r"[^\w.+-]/", word.replace(FOLDER, "F")):
            raise ParameterError(f"“{word[:60]}”: a path must begin with {FOLDER}.")
    return words
