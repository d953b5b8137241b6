"""The command ``fsbench``: its commands with their options, and which exit code each ends with."""

import inspect
import io
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, Literal, cast

import typer
from typer.completion import completion_init, get_completion_script
from typer.exceptions import TyperException

from fsbench import (
    __version__,
    account,
    comparing,
    credentials,
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
from fsbench.client import Client
from fsbench.exits import FINE, INTERRUPTED, REFUSED, UNAUTHORISED, UNREACHABLE, USAGE
from fsbench.local import By, sealed
from fsbench.local import commands as local
from fsbench.transport import LONGEST_TIMEOUT_S, Problem, UnexpectedResponse, Unreachable

_EXITS = """\b
exit codes:
  0  fine                          5  watch, log, retry ...: a run did not end well
  1  check: something got slower   6  submit, retry: not confirmed
  2  wrong use                     7  the site cannot be reached
  3  refused                       8  no token, or one that opens nothing
  4  check, compare: no verdict    9  submit, watch --job: its time left runs out"""

Body = Callable[[Client, SimpleNamespace], int]
Along = Literal["date", "kernel"]
app = typer.Typer(
    help="File system benchmarks: submit jobs, import results, compare.",
    epilog=_EXITS,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=terminal.PLAINER)  # a terminal that has no ellipsis
    try:
        with terminal.readers_may_leave():
            return _run(argv)
        return FINE
    except TyperException as error:
        terminal.complain(error.format_message(), "fsbench COMMAND --help shows the options.")
        return USAGE
    except Problem as problem:
        lines = [account.line_of(entry) for entry in problem.errors] or [problem.detail]
        terminal.complain(f"Refused ({problem.status}).", *map(terminal.clean, lines))
        if problem.status == 401:
            terminal.complain("fsbench login saves a token; FSBENCH_TOKEN overrides it.")
            return UNAUTHORISED
        return REFUSED
    except Unreachable as error:
        terminal.complain(terminal.clean(error))
        return REFUSED if isinstance(error, UnexpectedResponse) else UNREACHABLE
    except EOFError:  # Ctrl-D where something is asked
        terminal.complain("No input: nothing to do.")
        return USAGE
    except (ValueError, OSError, ImportError, credentials.CredentialsError) as error:
        said = str(error)
        if isinstance(error, OSError) and error.filename and error.strerror:
            said = f"{error.filename}: {error.strerror}."
        terminal.complain(*map(terminal.clean, said.splitlines()))
        return USAGE
    except (LookupError, TypeError, AttributeError, ArithmeticError) as error:
        # Python would end with 1, which of `check` says that something fell.
        reason = terminal.clean(f"{type(error).__name__}: {error}")
        terminal.complain(
            f"This fsbench does not understand the site's answer ({reason}).",
            "Is it another site, or another version? pip install the client of the site's version.",
        )
        return REFUSED
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return INTERRUPTED


def _run(argv: Sequence[str] | None) -> int:
    """Typer only reads the command line: it would turn Ctrl-C and a closed pipe into 1."""
    completion_init()
    command = typer.main.get_command(app)
    words = None if argv is None else list(argv)
    chosen = command.main(args=words, prog_name="fsbench", standalone_mode=False)
    if not isinstance(chosen, tuple):  # --help and --version
        return FINE
    body, options = chosen
    if body is _completion:
        return _completion(options)
    if body in (local.compare, local.read, sealed.verify):
        return int(body(options))
    url = credentials.chosen_url(options.url).rstrip("/")
    options.ca_file = options.ca_file or os.environ.get("FSBENCH_CA_FILE", "")
    if body is account.login:
        return account.login(url, options)
    token = credentials.token_for(url)
    return int(body(Client(url, token, options.timeout, options.ca_file), options))


def _completion(options: SimpleNamespace) -> int:
    script = get_completion_script(
        prog_name="fsbench", complete_var="_FSBENCH_COMPLETE", shell=options.shell
    )
    terminal.print_line(script)
    return FINE


def _option(*names: str, kind: Any = str, default: Any = "", **how: Any) -> inspect.Parameter:
    """An option. Its value has the longest of its names."""
    name = max(names, key=len).lstrip("-").replace("-", "_")
    annotation = cast(Any, Annotated)[kind, typer.Option(*names, show_default=False, **how)]
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def _choice(name: str, kind: Any, help: str, **how: Any) -> inspect.Parameter:
    return _option(name, kind=kind | None, default=None, help=help, **how)


def _flag(*names: str, help: str, **how: Any) -> inspect.Parameter:
    return _option(*names, kind=bool, default=False, help=help, **how)


def _several(name: str, help: str, **how: Any) -> inspect.Parameter:
    return _option(name, kind=list[str] | None, default=None, help=help, **how)


def _argument(
    name: str, kind: Any = str, default: Any = inspect.Parameter.empty, **how: Any
) -> inspect.Parameter:
    annotation = cast(Any, Annotated)[kind, typer.Argument(show_default=False, **how)]
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def _add(
    group: typer.Typer,
    name: str,
    body: Callable[..., int],
    help: str,
    *parameters: inspect.Parameter,
    is_former: bool = False,
    common: Sequence[inspect.Parameter] | None = None,
) -> None:
    """A command that ``body`` carries out. Former names are taken and not shown."""

    def command(**values: Any) -> tuple[Callable[..., int], SimpleNamespace]:
        if former := values.pop("sweep", None):
            values["job"] = former
        return body, SimpleNamespace(**values)

    signature = inspect.Signature([*parameters, *(_COMMON if common is None else common)])
    command.__signature__ = signature  # type: ignore[attr-defined]
    group.command(name, help=help, hidden=is_former)(command)


def _seconds(text: object) -> float:
    try:
        seconds = float(str(text))
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= LONGEST_TIMEOUT_S:
        raise typer.BadParameter(
            f"{text} is no time to wait: say seconds above 0, and at most {LONGEST_TIMEOUT_S:,.0f}"
        )
    return seconds


def _level(text: object) -> float:
    """Of what the site calls a change, which is what is below ``terminal.LIMIT``."""
    try:
        level = float(str(text))
    except ValueError:
        level = 0.0
    if not 0 < level <= terminal.LIMIT:
        raise typer.BadParameter(
            f"{text} is not a level: say a number above 0 and at most {terminal.LIMIT:g}, such "
            f"as 0.01"
        )
    return level


def _limit(text: object) -> int | None:
    words = str(text)
    if words == "all":
        return None
    if not words.isdecimal() or int(words) == 0:
        raise typer.BadParameter(f"{text} is not a number of entries: say 1 or more, or all")
    return int(words)


def _list_name(text: str) -> str:
    """What to list; jobs were called sweeps before."""
    name = "jobs" if text == "sweeps" else text
    if name not in listing.LISTS:
        raise typer.BadParameter(f"{text} is not a list: choose from {', '.join(listing.LISTS)}")
    return name


_COMMON = (
    _option("--url", help="address of the site (FSBENCH_URL; last login)"),
    _flag("--json", help="print what the API answers"),
    _option(
        "--timeout",
        kind=float,
        default=60.0,
        parser=_seconds,
        metavar="S",
        help="seconds for one call (60)",
    ),
    _option(
        "--ca-file",
        metavar="FILE",
        help="certificates of the authorities to trust instead of the system's (FSBENCH_CA_FILE)",
    ),
)
_INTERVAL = _option(
    "--interval",
    kind=float,
    default=watching.POLL_S,
    parser=_seconds,
    metavar="S",
    help="between two looks (2)",
)
_LIMIT = _option(
    "--limit", kind=int, default=50, parser=_limit, metavar="N|all", help="at most so many (50)"
)
_YES_ERASE = _several(
    "--yes-erase",
    metavar="LUN",
    help="confirm without asking, once for each LUN that is erased",
)
_CONFIRMATION = (
    _YES_ERASE,
    _flag("--watch", help="follow it until it has ended"),
    _INTERVAL,
)
_RUN = _argument("number", int, help="of the run")
_WATCH = _argument("number", int, help="of the watch (fsbench watches list)")
_OUTPUT = ("-o", "--output")


def _job(help: str, kind: Any = bool, default: Any = False) -> tuple[inspect.Parameter, ...]:
    """``--job``, and ``--sweep``, as it was called before, which is taken and not shown."""
    return (
        _option("--job", kind=kind, default=default, help=help),
        _option("--sweep", kind=kind, default=default, hidden=True),
    )


def _filters(
    margin: str = "with --rule freenix: percent by which means must differ (10)",
) -> tuple[inspect.Parameter, ...]:
    """What is compared, and how."""
    return (
        *(
            _several(f"--{name}", "what is compared; repeatable", metavar=name.upper())
            for name in comparing.FILTERS
        ),
        _option("--by", default="filesystem", help="what is ranked: filesystem, study, ..."),
        _choice("--rule", Literal["freenix"], "the rule of FREENIX 2002"),
        _option("--margin", help=margin),
        _option("--equivalence", help="percent below which a difference is none (2)"),
        _option("--min-runs", help="runs behind a score, at least"),
        _choice("--cells", Literal["sound", "cached", "uncached"], "which cells count"),
        _choice("--units", Literal["binary", "decimal", "printed"], "(printed)"),
        _flag("--matched", help="cells that all have, alone"),
    )


def _add_account() -> None:
    add = partial(_add, app)
    add(
        *("login", account.login, "keep a token of a site, for you alone"),
        _flag("--token-stdin", help="read it from standard input"),
    )
    add(
        *("logout", account.logout, "revoke the token and forget it"),
        _flag("--keep-token", help="forget it here alone"),
    )
    add("whoami", account.whoami, "who the token is, and what it may")
    add(
        *("list", listing.show, "studies, runs, LUNs, workers, workloads ..."),
        _argument(
            "what",
            parser=_list_name,
            autocompletion=lambda: list(listing.LISTS),
            help=", ".join(listing.LISTS),
        ),
        _LIMIT,
        _option("--study", help="of runs, jobs, lines and hardware"),
        _option("--worker", help="of runs and LUNs"),
        *(_option(f"--{name}", help="of runs and lines") for name in _OF_LINES),
        _several("--state", "of runs; repeatable"),
        *_job("of runs: those of one job", int | None, None),
    )
    add(
        *("import", account.import_files, "store result files, archives and folders"),
        _argument("paths", list[Path], metavar="PATH..."),
        _option("--study", default=..., help="slug or title; made when it is new"),
        _option("--filesystem", help="such as ext4"),
        _option("--configuration", help="a label such as ext4_noatime"),
        _option("--hardware", help="name of a hardware profile"),
        _option("--kernel", help="its release, as uname -r prints it"),
        _option("--source", help="who measured it, or where it is from"),
        _option("--licence", help="what others may do with it"),
        _option("--repeat", help="which repeat the files are; else the next"),
        _choice(
            "--blocks",
            Literal["folders"],
            "files in folders of the same name are one round of runs",
        ),
        _choice(
            "--kilobyte",
            Literal["1000", "1024"],
            "bytes of a KB where neither unit nor tool says it; MB and GB likewise",
        ),
        _choice(
            "--repeats-differ",
            Literal["yes"],
            "yes: these are repeats although they differ by more than a factor of 3",
        ),
        _option(
            "--leave-out", metavar="NAMES", help="of files, by commas, with * and ?: not to be read"
        ),
        _choice(
            "--ignore-columns",
            str,
            "of tables, by commas: not to be read; any other that nothing reads is refused then",
            metavar="NAMES",
        ),
        _flag("--strict", help="store nothing where anything is left out"),
        _flag("--preview", help="look, and store nothing yet"),
        _flag("--if-new", help="skip runs that are stored already"),
    )


def _add_jobs() -> None:
    add = partial(_add, app)
    for name in ("submit", "run"):
        add(
            *(name, submitting.submit, "submit a job; ALL DATA on its LUNs is lost"),
            _argument("document", default="", help="YAML or JSON; - for standard input"),
            _option("--study", help="slug, or title of a new one"),
            _option("--lun", help="the LUN that is erased"),
            _option("--worker", help="where several have a LUN of that name"),
            _several("--filesystem", "repeatable", metavar="FS[:KEY=VALUE,...]"),
            _several("--scheduler", "repeatable"),
            _option("--workload", help="see: fsbench list workloads"),
            _several("--parameter", "repeatable", metavar="KEY=VALUE"),
            _option("--repeats", kind=int, default=0, help="of each configuration (2)"),
            _choice(
                "--best-within",
                float,
                "instead of repeats: find the best of the configurations",
                metavar="HOURS",
            ),
            _option(
                "--start-at",
                metavar="TIME",
                help="no run begins before; ISO 8601 with its zone, 2026-11-23T22:00+01:00",
            ),
            _option(
                "--stop-before",
                metavar="TIME",
                help="no run begins that would not end before; the same",
            ),
            _flag("--dry-run", help="show it, and submit nothing"),
            *_CONFIRMATION,
            is_former=name == "run",
        )
    number = _argument("number", int, help="of the run, or of the job")
    steered: tuple[tuple[str, Body, str, tuple[inspect.Parameter, ...]], ...] = (
        ("show", showing.show, "all that is known of a run or a job", ()),
        ("watch", watching.watch, "follow a run or a job until it has ended", (_INTERVAL,)),
        ("cancel", watching.cancel, "cancel a run or a job", ()),
        ("pause", steering.pause, "let no further run of a job start", ()),
        (
            *("retry", steering.retry),
            "submit again what did not end well; ALL DATA is lost again",
            (
                _choice(
                    "--state",
                    list[steering.RetriedState],
                    "of a job: the runs that are so (failed and lost); repeatable",
                ),
                *_CONFIRMATION,
            ),
        ),
    )
    for name, body, help, more in steered:
        add(name, body, help, number, *_job("it is the number of a job"), *more)
    add(
        *("resume", steering.resume, "let a paused job or a drained worker go on"),
        _argument("name", metavar="NUMBER|WORKER"),
        *_job("it is the number of a job"),
        _flag("--worker", help="it is the name of a worker"),
    )
    add(
        *("drain", steering.drain, "let a worker take no further runs, for maintenance"),
        _argument("name", metavar="WORKER"),
        _flag("--wait", help="until it runs nothing any more"),
        _INTERVAL,
    )
    add(
        *("log", showing.log, "what a run says", _RUN),
        _flag("-f", "--follow", help="until it has ended"),
        _INTERVAL,
    )
    add(
        *("download", outputs.download, "a run's raw output as files, byte by byte", _RUN),
        _several("--artefact", "this output alone; repeatable", metavar="N|NAME"),
        _flag("--list", help="show what there is"),
        _option(*_OUTPUT, metavar="FOLDER", help="(run-N); - for standard output, of one"),
    )


def _add_comparisons() -> None:
    add = partial(_add, app)
    baseline = _option("--baseline", help="an entry that all are set against too")
    add(
        "deltas",
        comparing.deltas,
        "Delta tables, worst first, with significance.\n\n"
        "delta 1: how much slower than the best; delta 2: how much faster the best is, negative; "
        "change: how much faster than the baseline. What scores and flags are: /glossary/ of the "
        "site.",
        *_filters(),
        baseline,
    )
    add(
        *("export", comparing.export, "a comparison as a file"),
        _argument("format", Literal["csv", "json", "md", "tex", "xlsx", "latex", "markdown"]),
        _option(*_OUTPUT, metavar="FILE", help="where it is kept"),
        _flag("-q", "--quiet", help="do not say how large it is"),
        *_filters(),
        baseline,
    )
    study = _argument("study", metavar="STUDY", help="its slug")
    add(
        *("seal", outputs.seal, "runs of a study with raw output and tables, signed", study),
        _option(*_OUTPUT, metavar="FILE", help="(STUDY-sealed.zip)"),
    )
    add(
        *("table", outputs.table, "numbers of a study as Parquet or Arrow", study),
        _argument("table", Literal["measurements", "scores"]),
        _option(*_OUTPUT, default=..., metavar="FILE", help="ends with .parquet or .arrows"),
    )
    add(
        *("check", comparing.check, "fail if something got slower (for pipelines)"),
        _option("--baseline", help="the entry it may not fall against"),
        _several("--contender", "what is checked; repeatable; none: all others"),
        _flag("--allow-mixed", help="also where workloads, hardware or LUNs differ"),
        _choice(
            "--along",
            Along,
            "instead of a baseline: a line over days or kernels against its own past",
        ),
        _option(
            "--since",
            metavar="POINT",
            help="with --along: only a change at this day (2026-11-01) or kernel, or later",
        ),
        _choice(
            "--level",
            float,
            "with --along: how likely noise may be called a change (0.05); 0.01 for a check that "
            "runs every night",
            parser=_level,
            metavar="P",
        ),
        _option("--junit", metavar="FILE", help="the result as JUnit XML"),
        _option("--github", metavar="FILE", help="as the body of a GitHub check run (GITHUB_SHA)"),
        _option("--gitlab", metavar="FILE", help="as the body of a GitLab commit status"),
        _option("--markdown", metavar="FILE", help="as a comment"),
        *_filters(margin="what falls by less than so many percent does not fail (10)"),
    )
    add(
        *("completion", _completion, "what a shell needs to complete this command"),
        _argument("shell", Literal["bash", "zsh", "fish"], help=_HOW_TO_COMPLETE),
    )


_HOW_TO_COMPLETE = (
    "bash: > ~/.local/share/bash-completion/completions/fsbench; zsh: > a folder of $fpath, as "
    "_fsbench; fish: > ~/.config/fish/completions/fsbench.fish"
)
_OF_LINES = ("filesystem", "workload", "lun")


def _add_local() -> None:
    add = partial(_add, app, common=())
    paths = _argument("paths", list[str], metavar="PATH...")
    add(
        *("compare", local.compare),
        "Compare result files on this machine: needs no site.\n\n"
        "PATH is a folder, a file, a pattern or an archive. Of several folders each is an entry; "
        "of one, each folder in it.",
        paths,
        _choice("--by", By, "what the entries are (folders, or what a table names)"),
        _option("--baseline", help="the entry that all are set against (the runner-up)"),
        _option(
            *("--equivalence",),
            kind=float,
            default=2.0,
            help="percent below which nothing differs (2)",
        ),
        _choice(
            *("--blocks", Literal["folders"]),
            "files in folders of the same name are one round of runs",
        ),
        _choice("--units", Literal["binary", "decimal", "printed"], "(of most of the files)"),
        _flag("--json", help="answer and tables, as GET /comparison of a site has them"),
        _flag("--markdown", help="for an issue"),
        _option("--html", metavar="FILE", help="write one page that needs nothing else"),
        _flag("--check", help="end with 1 if an entry is slower than the --baseline"),
        _option("--margin", help="--check: what is slower by less does not fail (10 percent)"),
        _flag("--allow-mixed", help="--check: also where workloads differ"),
        _flag("--strict", help="end with 3 if any file is not read or not counted"),
    )
    add(
        *("read", local.read, "The numbers of result files, with units: needs no site.", paths),
        _flag("--csv", help="as CSV"),
        _flag("--json", help="as JSON, a line for each number"),
        _option("--parquet", metavar="FILE", help="write Parquet (pip install 'fsbench[pyarrow]')"),
    )
    add(
        *("verify", sealed.verify),
        "Check a sealed file on this machine (pip install 'fsbench[cryptography]').\n\n"
        "Ends with 3 if anything was changed, or does not follow from the raw output.",
        _argument("file", metavar="FILE"),
        _several("--key", "a public key (PEM) that you trust; repeatable", metavar="FILE"),
        _option("--site", metavar="URL", help="trust the keys of this site"),
        _flag("--json", help="what was found, as JSON"),
    )


def _add_permalinks() -> None:
    group = typer.Typer(help="comparisons kept under a short address")
    app.add_typer(group, name="permalinks")
    add = partial(_add, group)
    add("list", permalinks.show_all, "those that you made", _LIMIT)
    add(
        *("create", permalinks.create, "keep a comparison as it is now, print its address"),
        _option("--title", help="what stands above it"),
        _option("--note", help="what stands below its title"),
        _option(
            "--visibility",
            kind=Literal["public", "team", "private"],
            default="public",
            help="(public)",
        ),
        _option("--expires", metavar="YYYY-MM-DD", help="its last day"),
        _option("--baseline", help="an entry that all are set against too"),
        *_filters(),
    )
    key = _argument("key", help="the end of its address, after /p/")
    add("show", permalinks.show, "its numbers, and whether there are newer ones", key)
    add("delete", permalinks.delete, "for good: its address opens nothing any more", key)


def _add_watches() -> None:
    group = typer.Typer(help="get a message when a line over time gets slower")
    app.add_typer(group, name="watches")
    add = partial(_add, group)
    add("list", watches.show_all, "those of yours")
    add(
        *("add", watches.add, "watch a line from now on"),
        _option("--series", kind=int, default=..., help="any of its line (fsbench list lines)"),
        _option("--test", default=..., help="what is measured"),
        _option("--category", default="total_average", help="(total_average)"),
        _option("--along", kind=Along, default="date", help="(date)"),
        _option("--margin", kind=int, default=5, help="slower by so many percent (5)"),
        _option("--email", help="your account's own confirmed address"),
        _option("--webhook", metavar="URL", help="https address for messages"),
    )
    add("pause", watches.pause, "look at nothing and send nothing", _WATCH)
    add("resume", watches.resume, "look again from now on; what had waited is not sent", _WATCH)
    add(
        *("confirm", watches.confirm, "measure old and new again before it tells", _WATCH),
        _option("--rounds", kind=int, default=5, help="of old and new; 0: never (5)"),
        _option("--hours", kind=int, default=8, help="in which the rounds must end (8)"),
        _YES_ERASE,
    )
    add(
        *("mark", watches.mark, "say of a change that it is expected or fixed", _WATCH),
        _argument("change", int, help="number of its message"),
        _option("--state", kind=Literal["expected", "fixed", "new"], default=..., help="it is"),
        _option("--note", help="why"),
    )
    add("remove", watches.remove, "watch it no more, and delete its messages", _WATCH)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        terminal.print_line(f"fsbench {__version__}")
        raise typer.Exit


@app.callback()
def _before(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="print it")
    ] = False,
) -> None:
    """File system benchmarks: submit jobs, import results, compare."""


for _adding in (
    _add_local,
    _add_account,
    _add_jobs,
    _add_comparisons,
    _add_permalinks,
    _add_watches,
):
    _adding()

if __name__ == "__main__":
    sys.exit(main())
