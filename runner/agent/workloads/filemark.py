"""filemark: PostMark's transactions by many workers at once, in phases on one pool of files.

A workload of the FREENIX paper of 2002 (Bryant, Forester, Hawkes), rewritten from what the paper
says of it. Stdlib only. What filemark called threads are processes here, so that
Python's interpreter lock is not measured. Each works on files of its own; all are spread over the
same subdirectories.

``create`` makes the pool in FOLDER, ``transactions`` runs one phase on it, ``report`` says what all
phases came to. Each prints one JSON object; the pool's files and the phases' rates are kept in
FOLDER/state.json, so that the file system can be remounted between two commands. A phase that is
not needed any more, because the phases before are sure enough, says so and does nothing.

Exit status: 0, or 1 with a sentence on standard error.
"""

import argparse
import json
import os
import random
import sys
import time
from typing import Any

sys.path.insert(0, os.path.abspath(__file__).rpartition("/runner/agent/")[0])  # noqa: PTH100 (python -I)
from runner.agent.workloads.contents import Contents, add_arguments

BUFFER = os.urandom(256 * 1024)
# Two-sided 95% points of Student's t for 1 to 30 degrees of freedom; more are taken as 30.
T_95 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
# So long do the workers get to come up before the first transaction.
START_S = 0.2


def half_width_percent(rates: "list[float]") -> "float | None":
    """Half of the 95% interval of the mean, in percent of it; None for fewer than two."""
    count = len(rates)
    if count < 2:
        return None
    mean = sum(rates) / count
    if mean <= 0:
        return None
    deviation = (sum((rate - mean) ** 2 for rate in rates) / (count - 1)) ** 0.5
    return float(100 * T_95[min(count - 1, 30) - 1] * deviation / count**0.5 / mean)


class Pool:
    """The files of one worker, by number; a file's subdirectory follows from its number."""

    def __init__(
        self, options: argparse.Namespace, files: "list[list[int]]", number: int, step: int
    ) -> None:
        self.options = options
        self.files = files
        self.number, self.step = number, step
        self.random = random.Random(f"{options.seed} {number}")  # noqa: S311
        self.contents = Contents(options, BUFFER, f"{options.seed} {number}")
        self.counts = dict.fromkeys(("read", "append", "create", "delete"), 0)

    def path(self, number: int) -> str:
        return f"pool/s{number % self.options.subdirectories}/{number}"

    def create(self) -> None:
        size = self.random.randint(self.options.smallest, self.options.largest)
        number, self.number = self.number, self.number + self.step
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        descriptor = os.open(self.path(number), flags, 0o600)
        self._write(descriptor, size)
        self.files.append([number, size])

    def delete(self) -> None:
        place = self.random.randrange(len(self.files))
        self.files[place], self.files[-1] = self.files[-1], self.files[place]
        number, _ = self.files.pop()
        os.unlink(self.path(number))  # noqa: PTH108 (nothing but system calls is to be measured)

    def read(self) -> None:
        number, _ = self.random.choice(self.files)
        descriptor = os.open(self.path(number), os.O_RDONLY)
        try:
            while os.read(descriptor, self.options.io_bytes):
                pass
        finally:
            os.close(descriptor)

    def append(self) -> None:
        file = self.random.choice(self.files)
        # As PostMark: within the largest size; a file that is full already is opened alone.
        room = self.options.largest - file[1]
        size = self.random.randint(1, room) if room > 0 else 0
        descriptor = os.open(self.path(file[0]), os.O_WRONLY | os.O_APPEND)
        self._write(descriptor, size)
        file[1] += size

    def _write(self, descriptor: int, size: int) -> None:
        try:
            while size:
                part = min(size, self.options.io_bytes, len(BUFFER))
                size -= os.write(descriptor, self.contents.piece(part))
        finally:
            os.close(descriptor)

    def transaction(self) -> None:
        """A read or an append, and a creation or a deletion."""
        if self.files:
            is_read = self.random.random() * 100 < self.options.read_percent
            self.read() if is_read else self.append()
            self.counts["read" if is_read else "append"] += 1
        is_creation = self.random.random() * 100 < self.options.create_percent
        is_creation = is_creation or not self.files
        self.create() if is_creation else self.delete()
        self.counts["create" if is_creation else "delete"] += 1


def work(pool: Pool, start: float, options: argparse.Namespace) -> "dict[str, Any]":
    """Transactions from ``start`` until the end; those of the warm-up are not counted."""
    begins = start + options.warm_up
    ends = begins + options.seconds
    time.sleep(max(0.0, start - time.monotonic()))
    counted = 0
    before: dict[str, int] | None = None
    while True:
        began = time.monotonic()
        if began >= ends:
            break
        if before is None and began >= begins:
            before = dict(pool.counts)
        pool.transaction()
        # What began in the warm-up, or was not ready in time, is none of the phase's.
        if before is not None and time.monotonic() <= ends:
            counted += 1
    before = before or pool.counts
    return {
        "transactions": counted,
        "operations": {name: pool.counts[name] - before[name] for name in pool.counts},
        "files": pool.files,
        "next": pool.number,
    }


def at_once(pools: "list[Pool]", options: argparse.Namespace) -> "list[dict[str, Any]]":
    """The work of all pools, each in a process of its own. Raises OSError with a worker's."""
    start = time.monotonic() + START_S + len(pools) * 0.005
    children = []
    for pool in pools:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            try:
                result = work(pool, start, options)
            except OSError as error:
                result = {"errno": error.errno, "error": error.strerror}
            with os.fdopen(writer, "w") as stream:
                json.dump(result, stream)
            os._exit(0)
        os.close(writer)
        children.append((child, reader))
    answers: list[dict[str, Any]] = []
    for child, reader in children:
        with os.fdopen(reader) as stream:
            text = stream.read()
        os.waitpid(child, 0)
        answers.append(json.loads(text) if text else {"errno": 0, "error": "a worker was killed"})
    for answer in answers:
        if "error" in answer:
            raise OSError(answer["errno"], answer["error"])
    return answers


def load() -> "dict[str, Any]":
    with open("state.json", encoding="utf-8") as file:  # noqa: PTH123
        state: dict[str, Any] = json.load(file)
    return state


def save(state: "dict[str, Any]") -> None:
    with open("state.json", "w", encoding="utf-8") as file:  # noqa: PTH123
        json.dump(state, file)


def create(options: argparse.Namespace) -> "dict[str, Any]":
    """The pool, by one process, as PostMark makes it."""
    os.mkdir("pool", 0o700)  # noqa: PTH102
    pool = Pool(options, [], 0, 1)
    started = time.monotonic()
    for number in range(options.subdirectories):
        os.mkdir(f"pool/s{number}", 0o700)  # noqa: PTH102
    for _ in range(options.files):
        pool.create()
    seconds = time.monotonic() - started
    creation = {
        "files": options.files,
        "bytes": sum(size for _, size in pool.files),
        "seconds": round(seconds, 6),
        "files_per_s": round(options.files / seconds, 3),
    }
    save({"creation": creation, "files": pool.files, "next": pool.number, "phases": []})
    return {"filemark": "creation", **creation}


def is_precise(phases: "list[dict[str, Any]]", options: argparse.Namespace) -> bool:
    """Whether the phases, without the first, are as sure as was asked for."""
    rates = [phase["transactions_per_s"] for phase in phases[1:]]
    half_width = half_width_percent(rates)
    return (
        len(phases) >= options.least and half_width is not None and half_width <= options.half_width
    )


def transactions(options: argparse.Namespace) -> "dict[str, Any]":
    """One phase, or a word that it is not needed."""
    state = load()
    number = len(state["phases"]) + 1
    if is_precise(state["phases"], options):
        return {"filemark": "phase", "skipped": "the phases before are sure enough"}
    # Another choice of random numbers in each phase, and the same ones in each run.
    options.seed = f"{options.seed} phase {number}"
    count = options.threads
    pools = [
        Pool(options, state["files"][i::count], state["next"] + i, count) for i in range(count)
    ]
    answers = at_once(pools, options)
    done = sum(answer["transactions"] for answer in answers)
    phase = {
        "phase": number,
        "transactions": done,
        "seconds": options.seconds,
        "transactions_per_s": round(done / options.seconds, 3),
        "operations": {
            name: sum(answer["operations"][name] for answer in answers)
            for name in ("read", "append", "create", "delete")
        },
    }
    state["phases"].append(phase)
    state["files"] = [file for answer in answers for file in answer["files"]]
    state["next"] = max(answer["next"] for answer in answers)
    save(state)
    return {"filemark": "phase", "threads": count, "files_left": len(state["files"]), **phase}


def report(options: argparse.Namespace) -> "dict[str, Any]":
    """What all phases came to, the first discarded."""
    state = load()
    phases = state["phases"]
    rates = [phase["transactions_per_s"] for phase in phases[1:]]
    width = half_width_percent(rates)
    return {
        "filemark": "report",
        "threads": options.threads,
        "files": state["creation"]["files"],
        "creation_files_per_s": state["creation"]["files_per_s"],
        "transactions_per_s": round(sum(rates) / len(rates), 3) if rates else None,
        "half_width_percent": round(width, 3) if width is not None else None,
        "is_sure": is_precise(phases, options),
        "discarded": [phase["transactions_per_s"] for phase in phases[:1]],
        "samples": rates,
        "phases": phases,
    }


def main(arguments: "list[str]") -> int:
    parser = argparse.ArgumentParser(prog="fsbench-filemark", description=__doc__.split("\n\n")[0])
    parser.add_argument("command", choices=("create", "transactions", "report"))
    parser.add_argument("folder", help="the folder of the workload, which exists")
    for name, default in (
        *(("--files", 10000), ("--subdirectories", 10), ("--smallest", 512)),
        *(("--largest", 10000), ("--io-bytes", 512), ("--read-percent", 75)),
        *(("--create-percent", 50), ("--threads", 1), ("--least", 3), ("--half-width", 10)),
        *(("--warm-up", 30), ("--seconds", 120), ("--seed", 42)),
    ):
        parser.add_argument(name, type=int, default=default)
    add_arguments(parser)
    options = parser.parse_args(arguments)
    commands = {"create": create, "transactions": transactions, "report": report}
    try:
        os.chdir(options.folder)
        print(json.dumps(commands[options.command](options), indent=1))
    except OSError as error:
        print(f"filemark cannot go on: {error.strerror or error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
