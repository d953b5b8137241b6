"""``fsbench download``, ``seal`` and ``table``: a run's raw output, and a study, as files."""

import hashlib
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from fsbench import terminal
from fsbench.client import Client
from fsbench.comparing import segment
from fsbench.exits import FINE
from fsbench.terminal import Column
from fsbench.transport import UnexpectedResponse


def download(client: Client, options: SimpleNamespace) -> int:
    """Write the run's output into a folder of its own; nothing there is ever overwritten."""
    artefacts = client.get(f"/runs/{options.number}/artefacts")["artefacts"]
    chosen = _chosen_artefacts(artefacts, options.artefact)
    nothing = f"Run {options.number} has no raw output."
    if options.list:
        terminal.show_list(options, _COLUMNS, chosen, nothing)
        return FINE
    if not chosen:
        terminal.complain(nothing)
        return FINE
    if options.output == "-":
        _to_standard_output(client, options, chosen)
        return FINE
    folder = Path(options.output or f"run-{options.number}")
    folder.mkdir(parents=True, exist_ok=True)
    for artefact, name in zip(chosen, names(chosen), strict=True):
        path = folder / name
        if path.exists():
            if hashlib.sha256(path.read_bytes()).hexdigest() != artefact["sha256"]:
                raise ValueError(
                    f"{path} exists with other content: move it, or choose another folder with -o."
                )
        else:
            _write(path, _content(client, options.number, artefact))
        if not options.json:
            terminal.print_line(str(path))
    if options.json:
        terminal.print_json(chosen)
    return FINE


def seal(client: Client, options: SimpleNamespace) -> int:
    """Write the sealed file of a study; never over another file."""
    path = Path(options.output or f"{options.study}-sealed.zip")
    content = client.download(f"/studies/{segment(options.study)}/sealed.zip")
    _write(path, content)
    terminal.note(f"{path}: {terminal.size(len(content))}. fsbench verify {path} checks it.")
    return FINE


def table(client: Client, options: SimpleNamespace) -> int:
    """Write measurements or scores of a study as Parquet, or as a stream of Arrow."""
    study, path = client.study(options.study), Path(options.output)
    found = study.scores() if options.table == "scores" else study.measurements()
    writers = {".parquet": found.to_parquet, ".arrows": found.to_arrows}
    if path.suffix not in writers:
        raise ValueError("-o FILE ends with .parquet or .arrows.")
    if path.exists():
        raise ValueError(f"{path} is there already: choose another name.")
    writers[path.suffix](path)
    terminal.note(f"{path}: {terminal.size(path.stat().st_size)}.")
    return FINE


def names(artefacts: Sequence[Mapping[str, Any]]) -> list[str]:
    """A file name for each: no path, nothing hidden, and no name twice."""
    file_names: list[str] = []
    for artefact in artefacts:
        last = re.split(r"[/\\]", terminal.clean(artefact["name"]))[-1].strip()
        # 200 bytes, not characters: file systems count those.
        name = last.encode()[:200].decode(errors="ignore")
        name = re.sub(r"^\.+", "_", name) or "output"
        file_names.append(f"{int(artefact['id'])}-{name}" if name in file_names else name)
    return file_names


def _chosen_artefacts(
    artefacts: Sequence[Mapping[str, Any]], wanted: Sequence[str] | None
) -> list[Mapping[str, Any]]:
    """Those of these numbers or names; all where none is named. Raises ValueError."""
    if not wanted:
        return list(artefacts)
    missing = [
        text
        for text in wanted
        if not any(text in (str(artefact["id"]), artefact["name"]) for artefact in artefacts)
    ]
    if missing:
        offered = ", ".join(
            f"{artefact['id']} ({terminal.clean(artefact['name'])})" for artefact in artefacts
        )
        raise ValueError(f"There is no output {', '.join(missing)}; there is {offered or 'none'}.")
    return [
        artefact
        for artefact in artefacts
        if str(artefact["id"]) in wanted or artefact["name"] in wanted
    ]


_COLUMNS = (
    Column.number("output", "id"),
    Column.name("name", "name"),
    Column.number("size", lambda artefact: terminal.size(artefact["size_bytes"])),
    Column("SHA-256", "sha256"),
)


def _to_standard_output(
    client: Client, options: SimpleNamespace, chosen: Sequence[Mapping[str, Any]]
) -> None:
    if len(chosen) != 1:
        raise ValueError(f"There are {len(chosen)} outputs: choose one with --artefact.")
    if terminal.is_terminal():
        raise ValueError("It may hold control characters: use -o FOLDER, or pipe it to a program.")
    sys.stdout.buffer.write(_content(client, options.number, chosen[0]))
    sys.stdout.buffer.flush()


def _content(client: Client, run: int, artefact: Mapping[str, Any]) -> bytes:
    """Raises UnexpectedResponse where it is not what the site says it is."""
    content = client.download(f"/runs/{run}/artefacts/{int(artefact['id'])}")
    if hashlib.sha256(content).hexdigest() != artefact["sha256"]:
        raise UnexpectedResponse(
            f"Output {artefact['id']} of run {run} arrived damaged: its SHA-256 differs from the "
            f"site's. Nothing was saved; try again."
        )
    return content


def _write(path: Path, content: bytes) -> None:
    """All of it or nothing, and never over something else."""
    with path.open("xb") as file:
        try:
            file.write(content)
            file.flush()
        except BaseException:
            path.unlink(missing_ok=True)
            raise
