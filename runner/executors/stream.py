"""Follow an agent: bytes in, messages out, and an eye on whether to stop."""

import contextlib
import json
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from fsbench_web.platform.log_lines import in_same_context
from runner.executors.base import Message, OnMessage, ShouldStop

# The agent ends its tool and unmounts within this time, or is killed: together with the time to
# notice (one second) a cancelled run has stopped after 5 seconds.
STOP_GRACE_S = 3.0
# What was killed and holds its pipes for longer than this is not waited for.
GONE_S = 60.0
# A message holds at most what a command printed, cut (agent.commands.PRINTED_CHARACTERS).
LONGEST_LINE = 16 * 2**20
# Bounds the memory when the database is slow; then the agent's pipe fills, and it waits.
QUEUE_LENGTH = 1000


@dataclass
class LineReader:
    """Puts bytes together to lines, and lines to messages. Longer lines are cut."""

    _rests: dict[str, bytearray] = field(default_factory=dict)

    def feed(self, stream: str, data: bytes) -> list[Message]:
        rest = self._rests.setdefault(stream, bytearray())
        first, *others = data.split(b"\n")
        rest += first[: max(LONGEST_LINE - len(rest), 0)]
        if not others:
            return []
        lines = [bytes(rest), *others[:-1]]
        rest[:] = others[-1]
        return [message_of(stream, line) for line in lines if line.strip()]

    def end(self) -> list[Message]:
        rests, self._rests = self._rests, {}
        return [message_of(stream, bytes(rest)) for stream, rest in rests.items() if rest.strip()]


def message_of(stream: str, line: bytes) -> Message:
    """The message on a line; anything else (a traceback, a half line) is a line of the log."""
    text = line.decode("utf-8", "replace")
    if stream == "stdout":
        try:
            message = json.loads(text)
        except (ValueError, RecursionError):
            message = None
        if isinstance(message, dict) and isinstance(message.get("type"), str):
            return message
    log = {"type": "log", "at": time.time(), "stream": "stderr", "text": text[:2000]}
    return log | {"is_bare": True}


@dataclass
class LastWords:
    """Hands on messages, and keeps what an agent says that cannot say why it ends."""

    on_message: OnMessage
    _bare_line: str = ""
    _is_done: bool = False

    def take(self, message: Message) -> None:
        if message.get("is_bare"):
            self._bare_line = str(message["text"]).strip().rstrip(".") or self._bare_line
        elif message["type"] == "done":
            self._is_done = True
        self.on_message(message)

    @property
    def reason(self) -> str:
        """The last error line of whatever started or broke off; "" of an agent that ended."""
        if self._is_done or not self._bare_line:
            return ""
        return f"The agent ended early: {self._bare_line}."


def follow(
    chunks: Iterable[tuple[str, bytes]],
    on_message: OnMessage,
    should_stop: ShouldStop,
    *,
    stop: Callable[[], None],
    kill: Callable[[], None],
) -> bool:
    """Hand on all messages until the stream ends; True when ``should_stop`` ended it.

    ``stop`` asks the agent to end, ``kill`` makes it, also after an exception.
    """
    received: queue.Queue[tuple[str, bytes] | None] = queue.Queue(QUEUE_LENGTH)
    abandoned = threading.Event()

    def read() -> None:
        _read(chunks, received, abandoned)

    threading.Thread(target=in_same_context(read), daemon=True, name="agent-output").start()
    reader, kill_at, was_stopped = LineReader(), float("inf"), False
    gone_at = float("inf")
    try:
        while True:
            try:
                chunk = received.get(timeout=0.2)
            except queue.Empty:
                chunk = ("stdout", b"")
            if chunk is None:
                break
            for message in reader.feed(*chunk):
                on_message(message)
            if not was_stopped and should_stop():
                was_stopped, kill_at = True, time.monotonic() + STOP_GRACE_S
                stop()
            if time.monotonic() >= kill_at:
                kill()
                kill_at, gone_at = float("inf"), time.monotonic() + GONE_S
            if time.monotonic() >= gone_at:
                break  # in a call of the kernel that nothing ends
        for message in reader.end():
            on_message(message)
    except BaseException:
        kill()
        raise
    finally:
        abandoned.set()
    return was_stopped


def _read(
    chunks: Iterable[tuple[str, bytes]],
    received: queue.Queue[tuple[str, bytes] | None],
    abandoned: threading.Event,
) -> None:
    """Put all chunks into the queue, and None at their end, until nobody takes them any more."""

    def put(chunk: tuple[str, bytes] | None) -> None:
        while not abandoned.is_set():
            try:
                received.put(chunk, timeout=0.5)
            except queue.Full:
                continue
            return

    try:
        for chunk in chunks:
            put(chunk)
    except OSError as error:
        put(("stderr", f"the agent's output broke off: {error}\n".encode()))
    finally:
        put(None)


# How many an agent is sent in the time without one after which it ends its run.
PER_SILENCE = 8
# A write waits for nobody: the agent reads them all, and those of days would fit into its pipe.
JOIN_S = 1.0


@contextlib.contextmanager
def signs_of_life(write: Callable[[bytes], object], silence_s: float) -> Iterator[None]:
    """Have ``write`` called in a thread of its own, ``PER_SILENCE`` times in ``silence_s`` seconds,
    until the block ends or it raises OSError or ValueError (the agent has ended). 0: never.
    """
    is_over = threading.Event()

    def tell() -> None:
        with contextlib.suppress(OSError, ValueError):
            while not is_over.wait(silence_s / PER_SILENCE):
                write(b"\n")

    if not silence_s:
        yield
        return
    thread = threading.Thread(target=tell, daemon=True, name="signs-of-life")
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join(JOIN_S)
