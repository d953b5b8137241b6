"""What the command line takes: its commands, their options, and the help on them."""

import argparse
from collections.abc import Callable
from typing import Any

from fsbench import (
    __version__,
    account,
    comparing,
    completion,
    listing,
    outputs,
    permalinks,
    showing,
    steering,
    submitting,
    terminal,
    watches,
    watching,
)
from fsbench.transport import LONGEST_TIMEOUT_S

_EXITS = """exit codes:
  0  fine                          5  watch, log, retry ...: a run did not end well
  1  check: something got slower   6  submit, retry: not confirmed
  2  wrong use                     7  the site cannot be reached
  3  refused                       8  no token, or one that opens nothing
  4  check: no verdict             9  submit, watch --job: its time left runs out"""

_Commands = Any  # argparse names the type of its sub-commands for nobody
_Add = Callable[..., argparse.ArgumentParser]


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--url", default="", help="address of the site (FSBENCH_URL; last login)")
    common.add_argument("--json", action="store_true", help="print what the API answers")
    common.add_argument(
        "--timeout", type=_seconds, default=60.0, metavar="S", help="seconds for one call (60)"
    )
    common.add_argument(
        "--ca-file",
        default="",
        metavar="FILE",
        help="certificates of the authorities to trust instead of the system's (FSBENCH_CA_FILE)",
    )
    parser = argparse.ArgumentParser(
        prog="fsbench",
        description="File system benchmarks: submit jobs, import results, compare.",
        epilog=_EXITS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"fsbench {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(
        name: str, command: Callable[..., int], help_text: str, *, is_former: bool = False
    ) -> argparse.ArgumentParser:
        # Without a help text it is taken and not shown: what it was called before.
        help_entry: dict[str, Any] = {} if is_former else {"help": help_text}
        subparser = commands.add_parser(name, parents=[common], description=help_text, **help_entry)
        subparser.set_defaults(command=command)
        return subparser

    login = add("login", account.login, "keep a token of a site, for you alone")
    login.add_argument("--token-stdin", action="store_true", help="read it from standard input")
    logout = add("logout", account.logout, "revoke the token and forget it")
    logout.add_argument("--keep-token", action="store_true", help="forget it here alone")
    add("whoami", account.whoami, "who the token is, and what it may")
    _add_list(add("list", listing.show, "studies, runs, LUNs, workers, workloads ..."))
    _add_import(add("import", account.import_files, "store result files, archives and folders"))
    for name in ("submit", "run"):
        about = "submit a job; ALL DATA on its LUNs is lost"
        _add_submit(add(name, submitting.submit, about, is_former=name == "run"))
    _add_steering(add)
    _add_output(add)
    deltas = add("deltas", comparing.deltas, "delta tables, and what of them is more than chance")
    deltas.epilog = (
        "Worst first. delta 1: how much slower than the best; delta 2: how much faster the best "
        "is, negative; change: how much faster than the baseline. What scores and flags are: "
        "/glossary/ of the site."
    )
    _add_filters(deltas)
    deltas.add_argument("--baseline", help="a contender that all are set against too")
    export = add("export", comparing.export, "a comparison as a file")
    export.add_argument("format", choices=[*comparing.FORMATS, "latex", "markdown"])
    export.add_argument("-o", "--output", default="", metavar="FILE")
    export.add_argument("-q", "--quiet", action="store_true")
    _add_filters(export)
    export.add_argument("--baseline")
    _add_check(add("check", comparing.check, "fail if something got slower (for pipelines)"))
    _add_permalinks(commands, common)
    _add_watches(commands, common)
    words = commands.add_parser(
        "completion", help="what a shell needs to complete this command", epilog=completion.HOW
    )
    words.formatter_class = argparse.RawDescriptionHelpFormatter
    words.add_argument("shell", choices=completion.SHELLS)
    words.set_defaults(command=completion.show)
    return parser


def _add_steering(add: _Add) -> None:
    """Follow and steer what was submitted, and workers."""
    for name, command, text in (
        ("show", showing.show, "all that is known of a run or a job"),
        ("watch", watching.watch, "follow a run or a job until it has ended"),
        ("cancel", watching.cancel, "cancel a run or a job"),
        ("pause", steering.pause, "let no further run of a job start"),
        ("retry", steering.retry, "submit again what did not end well; ALL DATA is lost again"),
    ):
        parser = add(name, command, text)
        parser.add_argument("number", type=int, help="of the run, or of the job")
        _add_job(parser, "it is the number of a job", action="store_true")
        if name == "watch":
            _add_interval(parser)
        if name == "retry":
            parser.add_argument(
                "--state",
                action="append",
                choices=[*steering.RETRIED, "cancelled"],
                help="of a job: the runs that are so (failed and lost); repeatable",
            )
            _add_confirmation(parser)
    resume = add("resume", steering.resume, "let a paused job or a drained worker go on")
    resume.add_argument("name", metavar="NUMBER|WORKER")
    kinds = resume.add_mutually_exclusive_group(required=True)
    _add_job(kinds, "it is the number of a job", action="store_true")
    kinds.add_argument("--worker", action="store_true", help="it is the name of a worker")
    drain = add("drain", steering.drain, "let a worker take no further runs, for maintenance")
    drain.add_argument("name", metavar="WORKER")
    drain.add_argument("--wait", action="store_true", help="until it runs nothing any more")
    _add_interval(drain)


def _add_job(parser: argparse._ActionsContainer, help_text: str, **how: Any) -> None:
    """``--job``, and ``--sweep``, as it was called before, which is taken and not shown."""
    parser.add_argument("--job", help=help_text, **how)
    # Its default would be the last word on the value of both.
    default = argparse.SUPPRESS
    parser.add_argument("--sweep", dest="job", help=argparse.SUPPRESS, default=default, **how)


def _add_output(add: _Add) -> None:
    """What a run said and left."""
    log = add("log", showing.log, "what a run says")
    log.add_argument("number", type=int, help="of the run")
    log.add_argument("-f", "--follow", action="store_true", help="until it has ended")
    _add_interval(log)
    download = add("download", outputs.download, "a run's raw output as files, byte by byte")
    download.add_argument("number", type=int, help="of the run")
    download.add_argument(
        "--artefact", action="append", metavar="N|NAME", help="this output alone; repeatable"
    )
    download.add_argument("--list", action="store_true", help="show what there is")
    download.add_argument(
        "-o",
        "--output",
        default="",
        metavar="FOLDER",
        help="(run-N); - for standard output, of one",
    )


def _add_check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--baseline", default="", help="the contender it may not fall against")
    parser.add_argument(
        "--contender", action="append", help="what is checked; repeatable; none: all others"
    )
    parser.add_argument(
        "--allow-mixed", action="store_true", help="also where workloads, hardware or LUNs differ"
    )
    parser.add_argument(
        "--along",
        choices=["date", "kernel"],
        help="instead of a baseline: a line over days or kernels against its own past",
    )
    parser.add_argument(
        "--since",
        default="",
        metavar="POINT",
        help="with --along: only a change at this day (2026-11-01) or kernel, or later",
    )
    parser.add_argument(
        "--level",
        type=_level,
        metavar="P",
        help="with --along: how likely noise may be called a change (0.05); 0.01 for a check that "
        "runs every night",
    )
    _add_filters(parser, margin="what falls by less than so many percent does not fail (10)")


def _group(commands: _Commands, common: argparse.ArgumentParser, name: str, help_text: str) -> _Add:
    """A command whose first word says what to do; gives what adds these."""
    parser = commands.add_parser(name, help=help_text, description=help_text)
    actions = parser.add_subparsers(required=True, metavar="ACTION")

    def add(action: str, command: Callable[..., int], text: str) -> argparse.ArgumentParser:
        subparser: argparse.ArgumentParser = actions.add_parser(
            action, parents=[common], help=text, description=text
        )
        subparser.set_defaults(command=command)
        return subparser

    return add


def _add_permalinks(commands: _Commands, common: argparse.ArgumentParser) -> None:
    add = _group(commands, common, "permalinks", "comparisons kept under a short address")
    listed = add("list", permalinks.show_all, "those that you made")
    listed.add_argument(
        "--limit", type=_limit, default=50, metavar="N|all", help="at most so many (50)"
    )
    create = add("create", permalinks.create, "keep a comparison as it is now, print its address")
    create.add_argument("--title", default="")
    create.add_argument("--note", default="")
    create.add_argument(
        "--visibility", choices=permalinks.VISIBILITIES, default="public", help="(public)"
    )
    create.add_argument("--expires", default="", metavar="YYYY-MM-DD", help="its last day")
    create.add_argument("--baseline", help="a contender that all are set against too")
    _add_filters(create)
    for name, command, text in (
        ("show", permalinks.show, "its numbers, and whether there are newer ones"),
        ("delete", permalinks.delete, "for good: its address opens nothing any more"),
    ):
        add(name, command, text).add_argument("key", help="the end of its address, after /p/")


def _add_watches(commands: _Commands, common: argparse.ArgumentParser) -> None:
    add = _group(commands, common, "watches", "be told when a line over time gets slower")
    add("list", watches.show_all, "those of yours")
    parser = add("add", watches.add, "watch a line from now on")
    parser.add_argument(
        "--series", type=int, required=True, help="any of its line (fsbench list lines)"
    )
    parser.add_argument("--test", required=True)
    parser.add_argument("--category", default="total_average", help="(total_average)")
    parser.add_argument("--along", choices=["date", "kernel"], default="date", help="(date)")
    parser.add_argument("--margin", type=int, default=10, help="slower by so many percent (10)")
    parser.add_argument("--email", default="", help="your account's own confirmed address")
    parser.add_argument("--webhook", default="", metavar="URL", help="https address for messages")
    for name, command, text in (
        ("pause", watches.pause, "look at nothing and send nothing"),
        ("resume", watches.resume, "look again from now on; what had waited is not sent"),
        ("remove", watches.remove, "watch it no more, and delete its messages"),
    ):
        parser = add(name, command, text)
        parser.add_argument("number", type=int, help="of the watch (fsbench watches list)")


def _add_filters(
    parser: argparse.ArgumentParser,
    margin: str = "with --rule freenix: percent by which means must differ (10)",
) -> None:
    group = parser.add_argument_group("what is compared (each may be repeated; none: all)")
    for name in comparing.FILTERS:
        group.add_argument(f"--{name}", action="append", metavar=name.upper())
    group = parser.add_argument_group("how it is compared")
    group.add_argument("--by", default="filesystem", help="what is ranked: filesystem, study, ...")
    group.add_argument("--rule", choices=["freenix"], help="the rule of FREENIX 2002")
    group.add_argument("--margin", help=margin)
    group.add_argument("--equivalence", help="percent below which a difference is none (2)")
    group.add_argument("--min-runs", help="runs behind a score, at least")
    group.add_argument("--cells", choices=["sound", "cached", "uncached"])
    group.add_argument("--units", choices=["binary", "decimal", "printed"], help="(printed)")
    group.add_argument("--matched", action="store_true", help="cells that all have, alone")


def _add_list(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=list(listing.LISTS), type=_list_name)
    parser.add_argument(
        "--limit", type=_limit, default=50, metavar="N|all", help="at most so many (50)"
    )
    parser.add_argument("--study", default="", help="of runs, jobs, lines and hardware")
    parser.add_argument("--worker", default="", help="of runs and LUNs")
    for name in ("filesystem", "workload", "lun"):
        parser.add_argument(f"--{name}", default="", help="of runs and lines")
    parser.add_argument("--state", action="append", help="of runs; repeatable")
    _add_job(parser, "of runs: those of one job", type=int)


def _add_import(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", metavar="PATH")
    parser.add_argument("--study", required=True, help="slug or title; made when it is new")
    parser.add_argument("--filesystem", default="", help="such as ext4")
    parser.add_argument("--configuration", default="", help="a label such as ext4_noatime")
    parser.add_argument("--hardware", default="", help="name of a hardware profile")
    parser.add_argument("--kernel", default="", help="its release, as uname -r prints it")
    parser.add_argument("--source", default="", help="who measured it, or where it is from")
    parser.add_argument("--licence", default="", help="what others may do with it")
    parser.add_argument("--repeat", default="", help="which repeat the files are; else the next")
    parser.add_argument(
        "--blocks",
        choices=("folders",),
        help="files in folders of the same name were measured beside each other",
    )
    parser.add_argument(
        "--kilobyte",
        choices=("1000", "1024"),
        help="bytes of a KB where neither unit nor tool says it; MB and GB likewise",
    )
    parser.add_argument(
        "--repeats-differ",
        choices=("yes",),
        help="yes: these are repeats although they differ by more than a factor of 3",
    )
    parser.add_argument(
        "--leave-out", metavar="NAMES", help="of files, by commas, with * and ?: not to be read"
    )
    parser.add_argument(
        "--ignore-columns",
        metavar="NAMES",
        help="of tables, by commas: not to be read; any other that nothing reads is refused then",
    )
    parser.add_argument(
        "--strict", action="store_true", help="store nothing where anything is left out"
    )
    modes = parser.add_mutually_exclusive_group()
    modes.add_argument("--preview", action="store_true", help="look, and store nothing yet")
    modes.add_argument(
        "--if-new", action="store_true", help="pass over runs whose very numbers are there already"
    )


def _add_submit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("document", nargs="?", help="YAML or JSON; - for standard input")
    parser.add_argument("--study", default="", help="slug, or title of a new one")
    parser.add_argument("--lun", default="", help="the LUN that is erased")
    parser.add_argument("--worker", default="", help="where several have a LUN of that name")
    parser.add_argument(
        "--filesystem", action="append", metavar="FS[:KEY=VALUE,...]", help="repeatable"
    )
    parser.add_argument("--scheduler", action="append", help="repeatable")
    parser.add_argument("--workload", default="", help="see: fsbench list workloads")
    parser.add_argument("--parameter", action="append", metavar="KEY=VALUE", help="repeatable")
    parser.add_argument("--repeats", type=int, default=0, help="of each configuration (2)")
    parser.add_argument(
        "--best-within",
        type=float,
        metavar="HOURS",
        help="instead of repeats: find the best of the configurations",
    )
    parser.add_argument(
        "--start-at",
        default="",
        metavar="TIME",
        help="no run begins before; ISO 8601 with its zone, 2026-11-23T22:00+01:00",
    )
    parser.add_argument(
        "--stop-before",
        default="",
        metavar="TIME",
        help="no run begins that would not end before; the same",
    )
    parser.add_argument("--dry-run", action="store_true", help="show it, and submit nothing")
    _add_confirmation(parser)


def _add_confirmation(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--yes-erase",
        action="append",
        default=[],
        metavar="LUN",
        help="confirm without asking, once for each LUN that is erased",
    )
    parser.add_argument("--watch", action="store_true", help="follow it until it has ended")
    _add_interval(parser)


def _add_interval(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--interval",
        type=_seconds,
        default=watching.POLL_S,
        metavar="S",
        help="between two looks (2)",
    )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= LONGEST_TIMEOUT_S:
        raise argparse.ArgumentTypeError(
            f"{text} is no time to wait: say seconds above 0, and at most {LONGEST_TIMEOUT_S:,.0f}"
        )
    return seconds


def _list_name(text: str) -> str:
    """What to list; jobs were called sweeps before."""
    return "jobs" if text == "sweeps" else text


def _level(text: str) -> float:
    """Of what the site calls a change, which is what is below ``terminal.LIMIT``."""
    try:
        level = float(text)
    except ValueError:
        level = 0.0
    if not 0 < level <= terminal.LIMIT:
        raise argparse.ArgumentTypeError(
            f"{text} is no level: say a number above 0 and at most {terminal.LIMIT:g}, such as 0.01"
        )
    return level


def _limit(text: str) -> int | None:
    if text == "all":
        return None
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text} is no number of entries: say 1 or more, or all")
    return int(text)
