"""A mix of stress-ng's jobs by many tasks over CPU counts, in the manner of AIM7."""

from collections.abc import Iterator

from fsbench_web.core import requirements
from fsbench_web.core.formats.result import load_text
from fsbench_web.core.workloads.base import (
    MIXED,
    BenchmarkCommand,
    Kind,
    Limits,
    Parameter,
    ParameterError,
    Place,
    Preset,
    Workload,
    seed,
    time_limit,
)

PROGRAM = "fsbench-multiuser"
# The files of a task at any time: one job's, of 4 MB at most or 2,048 empty ones.
TASK_BYTES = 10 * 1024 * 1024


class Multiuser(Workload):
    """For each number of CPUs the rates at rising numbers of tasks, up to the peak."""

    tool = "multiuser"
    name = "Multiuser mix"
    about = (
        "Jobs per minute of a mix of small jobs (files, directories, processes, memory) at rising "
        "numbers of tasks, up to the peak, for each number of CPUs. It is not AIM7, which the "
        "FREENIX paper used: its jobs are stress-ng's, and its numbers are its own."
    )
    paper = "FREENIX 2002"
    question = MIXED
    programs = requirements.WORKLOADS["multiuser"]
    parameters = (
        Parameter(
            "cpus",
            "CPUs",
            Kind.WHOLES,
            default=[2, 4, 8, 16, 24, 28],
            minimum=1,
            maximum=1024,
            help="The first so many of the machine; each number is measured after the other.",
            paper="2, 4, 8, 16, 24, 28",
        ),
        Parameter(
            "tasks",
            "Tasks",
            Kind.WHOLES,
            default=[1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
            minimum=1,
            maximum=2048,
            help="Tried in rising order until the rate has fallen twice.",
            paper="to the peak; does not say in which steps",
        ),
        Parameter(
            "rounds",
            "Rounds of each task",
            default=4,
            minimum=1,
            maximum=1000,
            help="How often a task runs the mix of sixteen jobs.",
            paper="does not say",
        ),
        seed("the order of the jobs: the same seed is the same order in every task."),
        time_limit(24 * 3600),
    )
    presets = (
        Preset(
            "multiuser-small",
            "Multiuser mix, small",
            "1 CPU, 1 and 2 tasks, one round: seconds, to see that it works.",
            {"cpus": [1], "tasks": [1, 2], "rounds": 1, "time_limit_s": 600},
        ),
        Preset(
            "multiuser-scaled",
            "Multiuser mix, 1 to 4 CPUs",
            "1, 2 and 4 CPUs, up to 64 tasks: minutes.",
            {"cpus": [1, 2, 4], "tasks": [1, 2, 4, 8, 16, 32, 64]},
        ),
        Preset(
            "multiuser-freenix",
            "Multiuser mix, FREENIX 2002",
            "2, 4, 8, 16, 24 and 28 CPUs as in the paper, up to 512 tasks. It needs a machine with "
            "28 CPUs, and is not AIM7.",
            {},
        ),
    )

    def check(self) -> None:
        if len(self.tasks) < 2:
            raise ParameterError(
                "There must be at least two numbers of tasks, or there is no peak among them."
            )

    def title(self) -> str:
        return (
            f"Multiuser mix (not AIM7), {', '.join(map(str, self.cpus))} CPUs, {self.tasks[0]} to "
            f"{self.tasks[-1]} tasks, {self.rounds} rounds"
        )[:200]

    def data_warning(self) -> str:
        """Measured of the files that its jobs have open; the other jobs write no data."""
        return (
            "stress-ng's files compress to 0.5% (fallocate, sync-file), 2% (hdd), 3% (seek) and "
            "16 to 19% (readahead, by its version). stress-ng has no option for it."
        )

    def space_needed_bytes(self) -> int:
        return int(max(self.tasks)) * TASK_BYTES

    def limits(self) -> Limits:
        return Limits(cpus=max(self.cpus))

    def commands(self, place: Place) -> list[BenchmarkCommand]:
        counts = tuple(map(str, self.tasks))
        return [
            BenchmarkCommand(("mkdir", place.work)),
            *(
                BenchmarkCommand(
                    (
                        *(PROGRAM, place.work, f"--cpus={cpus}", f"--rounds={self.rounds}"),
                        *(f"--seed={self.seed}", "--tasks", *counts),
                    ),
                    output=f"multiuser-{cpus}.txt",
                    remount=True,
                )
                for cpus in self.cpus
            ),
        ]

    def expected(self) -> Iterator[tuple[str, str, int | None, int | None]]:
        for cpus in self.cpus:
            yield "multiuser_peak", load_text(cpus=cpus), None, None
