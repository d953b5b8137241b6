"""``fsbench verify``: what a sealed file is worth, without a site.

What reads and judges is imported where it is used.
"""

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from fsbench import terminal
from fsbench.client import Client
from fsbench.exits import FINE, NOT_COMPARABLE, REFUSED

if TYPE_CHECKING:
    from fsbench_web.core.sealed.verifying import Report


def verify(options: SimpleNamespace) -> int:
    """Check a sealed file on this machine; see docs/client.md."""
    from fsbench.frames import library

    for name in ("cryptography", "pyarrow"):
        library(name)
    from fsbench_web.core.sealed import container, verifying

    trusted, revoked = _keys(options)
    with Path(options.file).open("rb") as file:
        data = file.read(container.MOST_BYTES + 1)
    report = verifying.verify(data, trusted, revoked)
    if options.json:
        terminal.print_json(_as_dict(report))
    else:
        _print(report)
    if report.unknown_rules and len(report.problems) == 1:
        return NOT_COMPARABLE
    return FINE if report.is_sound else REFUSED


def _keys(options: SimpleNamespace) -> tuple[set[str] | None, set[str]]:
    """Keys to trust, None where nobody says any, and revoked ones."""
    from fsbench_web.core.sealed import envelope

    if not options.key and not options.site:
        return None, set()
    trusted: set[str] = set()
    revoked: set[str] = set()
    for name in options.key or ():
        try:
            trusted.add(envelope.key_id(Path(name).read_text("ascii")))
        except ValueError:
            raise ValueError(f"{name} holds no public key (PEM).") from None
    if options.site:
        for row in Client(options.site).get("/keys")["keys"]:
            (revoked if row["state"] == "revoked" else trusted).add(str(row["key"]))
    return trusted - revoked, revoked


_TRUST = {
    True: "You trust this key.",
    False: "You do not trust this key.",
    None: "Whether to trust it is open: give --key FILE or --site URL.",
}


def _print(report: "Report") -> None:
    if report.key:
        terminal.print_line(
            f"Signed with key {terminal.clean(report.key)}. {_TRUST[report.is_trusted]}"
        )
    if report.is_sound:
        counts = (
            terminal.quantity(report.files, "file"),
            terminal.quantity(report.numbers, "number"),
            terminal.quantity(report.scores, "score"),
        )
        terminal.print_line(f"Sound: {', '.join(counts)}. All follow from the raw output.")
    if report.stated:
        terminal.note(f"{report.stated:,} numbers are in no raw file: the signer states them.")
    for problem in report.problems:
        terminal.complain(terminal.clean(problem))


def _as_dict(report: "Report") -> dict[str, Any]:
    study = report.inputs.get("study")
    return {
        "sound": report.is_sound,
        "key": report.key,
        "trusted": report.is_trusted,
        "study": study.get("slug") if isinstance(study, dict) else None,
        "files": report.files,
        "numbers": report.numbers,
        "stated": report.stated,
        "scores": report.scores,
        "problems": [problem._asdict() for problem in report.problems],
    }
