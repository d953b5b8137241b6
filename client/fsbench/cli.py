"""The command ``fsbench``: what it takes, and which exit code it ends with."""

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence

from fsbench import account, completion, credentials, terminal
from fsbench.client import Client
from fsbench.commands import arguments
from fsbench.exits import FINE, INTERRUPTED, REFUSED, UNAUTHORISED, UNREACHABLE, USAGE
from fsbench.transport import Problem, UnexpectedResponse, Unreachable


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=terminal.PLAINER)  # a terminal that has no ellipsis
    try:
        with terminal.readers_may_leave():
            return _run(arguments().parse_args(argv))
        return FINE
    except Problem as problem:
        lines = [account.line_of(entry) for entry in problem.errors] or [problem.detail]
        terminal.complain(f"Refused ({problem.status}).", *map(terminal.clean, lines))
        if problem.status == 401:
            terminal.complain("fsbench login keeps a token; FSBENCH_TOKEN goes before it.")
            return UNAUTHORISED
        return REFUSED
    except Unreachable as error:
        terminal.complain(terminal.clean(error))
        return REFUSED if isinstance(error, UnexpectedResponse) else UNREACHABLE
    except EOFError:  # Ctrl-D where something is asked
        terminal.complain("Nothing was given, and nothing is done.")
        return USAGE
    except (ValueError, OSError, credentials.CredentialsError) as error:
        terminal.complain(terminal.clean(error))
        return USAGE
    except (LookupError, TypeError, AttributeError, ArithmeticError) as error:
        # Python would end with 1, which of `check` says that something fell.
        reason = terminal.clean(f"{type(error).__name__}: {error}")
        terminal.complain(
            f"The site's answer is not what this fsbench understands ({reason}).",
            "Is it another site, or another version? pip install the client of the site's version.",
        )
        return REFUSED
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return INTERRUPTED


def _run(options: argparse.Namespace) -> int:
    if options.command is completion.show:
        return completion.show(arguments(), options.shell)
    url = credentials.chosen_url(options.url).rstrip("/")
    options.ca_file = options.ca_file or os.environ.get("FSBENCH_CA_FILE", "")
    if options.command is account.login:
        return account.login(url, options)
    command: Callable[[Client, argparse.Namespace], int] = options.command
    token = credentials.token_for(url)
    return command(Client(url, token, options.timeout, options.ca_file), options)


if __name__ == "__main__":
    sys.exit(main())
