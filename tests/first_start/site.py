"""`make run` in a bare root: what it prints, what it answers, and how it ends."""

import json
import os
import re
import signal
import time
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.services.bare_root import BareRoot, Inside
from tests.services.redis import accepts, free_port

# A blank in its name, as many a folder has.
CHECKOUT = "/root/fresh clone"
# Limits, not waits: packages or an image are got meanwhile, on a busy machine.
LONG_S = 1200
_NOT_FOR_PEOPLE = r"Warning|Error|Exception|Traceback|Warm shutdown|kombu|was killed"


class Site:
    """``env`` is what `make run` has beside a plain shell's; ``port`` is where it listens."""

    def __init__(self, root: BareRoot, log: Path, port: int, env: dict[str, str]) -> None:
        self.root, self.log, self.port = root, log, port
        self.env = env | {"PORT": str(port)}
        self.data = env.get("FSBENCH_DATA", f"{CHECKOUT}/data")
        self.make: Inside | None = None

    def printed(self) -> str:
        return self.log.read_text()

    def start(self, command: str) -> None:
        """Until it says that it is ready."""
        with self.log.open("w") as output:
            self.make = self.root.popen(
                command.split(), cwd=CHECKOUT, env=self.env, stdout=output, stderr=output
            )
        self.wait_for("Stop with Ctrl-C")

    def wait_for(self, words: str) -> None:
        """Until it has printed them."""
        self._until(lambda: words in self.printed())

    def _until(self, true: Callable[[], bool]) -> None:
        deadline = time.monotonic() + LONG_S
        while not true():
            assert self.make is not None
            assert self.make.poll() is None, self.printed()
            assert time.monotonic() < deadline, self.printed()
            time.sleep(0.2)

    def read(self, path: str) -> Any:
        address = f"http://127.0.0.1:{self.port}/api/v1{path}"
        with urllib.request.urlopen(address, timeout=60) as answer:
            return json.load(answer)

    # Ends

    def interrupt(self) -> bool:
        """Ctrl-C, whatever has become of it; whether it was there."""
        make, self.make = self.make, None
        if make is not None:
            make.send_signal(signal.SIGINT)
            make.wait(300)
        return make is not None

    def end(self, number: signal.Signals | None = None) -> None:
        """By Ctrl-C, which all its group gets, or by a signal to `make` alone, as a service
        manager or another program sends it. All of it ends: no process, no listener and no loop
        device stays.
        """
        assert self.make is not None
        assert self._has_loop_device()
        if number is not None:
            children = Path(f"/proc/{self.make.pid}/task/{self.make.pid}/children").read_text()
            os.kill(int(children), number)
            self.make.wait(300)
        assert self.interrupt()
        assert self._processes() == {}
        assert not accepts(self.port)
        assert not self._has_loop_device()
        output = self.printed()
        assert output.rstrip().endswith("Stopped."), output
        # What people read is about what they did: nothing of the libraries' own affairs.
        assert not re.search(_NOT_FOR_PEOPLE, output), output

    def _processes(self) -> dict[int, list[str]]:
        """Command lines of what works in the checkout, by its number on this machine."""
        inside = Path(f"/proc/{self.root.pid}/ns/pid").readlink()
        commands = {}
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it has ended
                is_of_the_root = (entry / "ns/pid").readlink() == inside
                if is_of_the_root and str((entry / "cwd").readlink()) == CHECKOUT:
                    commands[int(entry.name)] = (entry / "cmdline").read_text().split("\0")
        return commands

    def _has_loop_device(self) -> bool:
        """By inode: what else is below that name on this machine is in other roots."""
        file = self.root.folder / self.data.lstrip("/") / "luns/scratch.img"
        listed = self.root.run(["losetup", "--list", "--noheadings", "--output", "BACK-INO"])
        return str(file.stat().st_ino) in listed.stdout.split()

    # What else befalls it

    def a_second_one_is_refused(self) -> None:
        """By the data folder's lock, or else because the port is taken; each in a sentence."""
        refusal = self._refused(FSBENCH_DATA=self.data, PORT=str(free_port()))
        assert "already uses the data folder" in refusal
        refusal = self._refused(FSBENCH_DATA="/root/other", PORT=str(self.port))
        assert f"127.0.0.1:{self.port} cannot be used: Address already in use" in refusal
        assert "PORT=" in refusal
        refusal = self._refused(FSBENCH_DATA="/root/other", PORT="eight")
        assert (
            refusal.strip() == 'fsbench cannot start: PORT is "eight"; it must be a whole number.'
        )

    def _refused(self, **env: str) -> str:
        serve = [".venv/bin/python", "manage.py", "serve"]
        done = self.root.run(serve, cwd=CHECKOUT, env=env, check=False, timeout_s=180)
        assert done.returncode == 1, done.stdout
        assert "Traceback" not in done.stdout
        return done.stdout

    def a_crashed_worker_comes_back(self) -> None:
        killed = self._workers()
        assert killed
        for number in killed:
            with suppress(ProcessLookupError):  # what the worker asks of its host ends by itself
                os.kill(number, signal.SIGKILL)
        self.wait_for("The worker was ended by SIGKILL; it is started again")
        self._until(lambda: bool(self._workers() - killed) and self._is_healthy())

    def _workers(self) -> set[int]:
        processes = self._processes().items()
        return {number for number, command in processes if command[2:3] == ["worker"]}

    def _is_healthy(self) -> bool:
        try:
            return bool(self.read("/health")["status"] == "ok")
        except OSError:
            return False
