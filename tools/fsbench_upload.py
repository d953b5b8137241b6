#!/usr/bin/env python3
"""Upload benchmark results to fsbench. Needs nothing but Python 3.7 or newer; copy this one file.

    export FSBENCH_TOKEN=fsb_...
    python3 fsbench_upload.py --url https://fsbench.example --study "Array test" results/

Files, archives (zip, tar.gz) and folders; in a folder each sub-folder is a configuration, and its
files are the repeats. The token comes from the environment, so that no list of processes shows it.

What is left out of the files is printed as a warning; with --strict nothing is stored then.

Exit codes: 0 stored, 1 refused (every problem is printed, nothing was stored), 2 wrong use,
3 the token opens nothing, 4 the server cannot be reached or failed.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import ssl
import sys
import tarfile
import tempfile
import time
import urllib.parse
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

STORED, REFUSED, WRONG_USE, NOT_ALLOWED, UNREACHABLE = 0, 1, 2, 3, 4
FIELDS = (
    *("study", "filesystem", "configuration", "hardware", "kernel", "repeat"),
    *("source", "licence", "blocks", "kilobyte", "repeats_differ", "leave_out"),
)
PIECE_BYTES = 256 * 1024
POLL_S = 1.0


def main(argv: Sequence[str] | None = None) -> int:
    """Upload what the command line names; returns the exit code."""
    options = arguments().parse_args(argv)
    token = os.environ.get("FSBENCH_TOKEN", "")
    if not token or not token.isascii() or not token.isprintable():
        return complain(
            WRONG_USE, "FSBENCH_TOKEN is not set: make a token on fsbench's account page."
        )
    missing = [path for path in options.paths if not path.exists()]
    if missing:
        return complain(WRONG_USE, *(f"{path}: no such file or folder" for path in missing))
    fields = [(name, getattr(options, name)) for name in FIELDS if getattr(options, name)]
    if options.strict:
        fields.append(("strict", "true"))
    if options.ignore_columns is not None:
        fields.append(("ignore_columns", options.ignore_columns))
    try:
        with tempfile.TemporaryFile() as body:
            content_type = write_form(body, fields, options.paths)
            status, answer = ask(options, token, "/api/v1/imports", body, content_type)
        while status in (200, 202) and answer.get("state") == "accepted":
            time.sleep(POLL_S)  # it is large: the site stores it beside its other work
            status, answer = ask(options, token, f"/api/v1/imports/{answer.get('id')}")
    except (OSError, http.client.HTTPException) as error:
        return complain(UNREACHABLE, f"{options.url} cannot be reached: {error}")
    except ValueError as error:
        return complain(WRONG_USE, str(error))
    return report(status, answer)


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(description="Upload benchmark results to fsbench.")
    parser.add_argument(
        "paths", nargs="+", type=Path, metavar="PATH", help="a file, an archive or a folder"
    )
    parser.add_argument(
        "--url",
        default=os.environ.get("FSBENCH_URL", "http://localhost:8000"),
        help="address of fsbench (FSBENCH_URL; %(default)s)",
    )
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
        "--ignore-columns", metavar="NAMES", help="of tables, by commas: not to be read"
    )
    parser.add_argument(
        "--strict", action="store_true", help="store nothing where anything is left out"
    )
    parser.add_argument("--timeout", type=float, default=600, help="seconds (%(default)s)")
    return parser


def write_form(body: IO[bytes], fields: Sequence[tuple[str, str]], paths: Sequence[Path]) -> str:
    """Write a multipart form into a file, folders packed on the way; returns its content type."""
    boundary = f"fsbench-{uuid.uuid4().hex}"
    for name, text in fields:
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n'
        body.write(head.encode() + text.encode() + b"\r\n")
    for path in paths:
        name = path.resolve().name + (".tar.gz" if path.is_dir() else "")
        quoted = name.replace("\\", "_").replace('"', "%22").replace("\r", "").replace("\n", "")
        head = (
            f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{quoted}"\r\n'
            "Content-Type: application/octet-stream\r\n\r\n"
        )
        body.write(head.encode("utf-8", "replace"))
        if path.is_dir():
            pack(path, body)
        else:
            with path.open("rb") as file:
                copy(file, body)
        body.write(b"\r\n")
    body.write(f"--{boundary}--\r\n".encode())
    return f"multipart/form-data; boundary={boundary}"


def pack(folder: Path, body: IO[bytes]) -> None:
    """Write a folder as tar.gz: regular files only, hidden ones left out."""
    root = folder.resolve()
    with tarfile.open(fileobj=body, mode="w|gz") as archive:
        for path in sorted(root.rglob("*")):
            label = path.relative_to(root.parent)
            if path.is_file() and not any(part.startswith(".") for part in label.parts[1:]):
                entry = tarfile.TarInfo(label.as_posix())
                with path.open("rb") as file:
                    entry.size = os.fstat(file.fileno()).st_size
                    archive.addfile(entry, file)


def copy(file: IO[bytes], body: IO[bytes]) -> None:
    """Copy a file in pieces."""
    while True:
        piece = file.read(PIECE_BYTES)
        if not piece:
            return
        body.write(piece)


def ask(
    options: argparse.Namespace,
    token: str,
    path: str,
    body: IO[bytes] | None = None,
    content_type: str = "",
) -> tuple[int, dict[str, Any]]:
    """Send the form, or ask without one; returns status and answer. Raises OSError, or ValueError
    for the address.
    """
    parts = urllib.parse.urlsplit(options.url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{options.url} is not an address such as https://fsbench.example")
    connection: http.client.HTTPConnection
    if parts.scheme == "https":
        connection = http.client.HTTPSConnection(
            parts.hostname,
            parts.port,
            timeout=options.timeout,
            context=ssl.create_default_context(),
        )
    else:
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=options.timeout)
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
    if body is not None:
        headers.update({"Content-Type": content_type, "Content-Length": str(body.tell())})
        body.seek(0)
    try:
        # Refused while it is sent: the answer says why.
        with contextlib.suppress(BrokenPipeError):
            method = "GET" if body is None else "POST"
            connection.request(method, parts.path.rstrip("/") + path, body, headers)
        response = connection.getresponse()
        text = response.read().decode("utf-8", "replace")
    finally:
        connection.close()
    try:
        answer = json.loads(text)
    except ValueError:
        answer = {}
    return response.status, answer if isinstance(answer, dict) else {}


def report(status: int, answer: dict[str, Any]) -> int:
    """Print what the server said; returns the exit code."""
    for warning in answer.get("warnings", []):
        count = warning.get("count", 1)
        print(line_of(warning) + (f" ({count} times)" if count > 1 else ""), file=sys.stderr)
    if status in (200, 201) and answer.get("state") == "done":
        runs = answer.get("runs", [])
        print(f"Import {answer.get('id')}: {len(runs)} runs stored.")
        return STORED
    if status in (401, 403):
        return complain(NOT_ALLOWED, answer.get("detail", "The token opens nothing."))
    problems = answer.get("errors", []) or answer.get("problems", [])
    lines = [line_of(problem) for problem in problems]
    if status in (200, 413, 422):
        return complain(REFUSED, "Nothing was stored.", *(lines or [answer.get("detail", "")]))
    text = answer.get("detail") or "no reason given"
    return complain(UNREACHABLE, f"The server answered {status}: {text}")


def line_of(problem: dict[str, Any]) -> str:
    """A problem as compilers write theirs."""
    places = [problem.get(name) for name in ("file", "line", "column")]
    place = ":".join(str(part) for part in places if part is not None)
    message = str(problem.get("message", ""))
    return f"{place}: {message}" if place else message


def complain(code: int, *lines: str) -> int:
    """Print to standard error; returns the exit code."""
    for line in lines:
        print(line, file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
