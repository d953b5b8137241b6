"""kombu's filesystem transport, with complete messages only.

kombu writes a message under its final name, so a reader may find half of it. Here a message gets
its name when it is complete (rename(2) is atomic), and a lock guards the tables of bindings. What
is broken already is reported and left out: messages are nudges (docs/decisions.md).
"""

import fcntl
import logging
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from queue import Empty
from tempfile import TemporaryDirectory
from typing import Any

from kombu.transport import filesystem

from fsbench_web.platform import private_files

logger = logging.getLogger("fsbench.messages")

# Beside the messages, so that a rename stays in one file system.
UNFINISHED = "unfinished-"
# Seconds. A message is written in milliseconds: an older folder is of a writer that was killed.
FORGOTTEN_AFTER_S = 600


def clear(folder: Path) -> None:
    """Take away what writers that were killed left in this folder of messages."""
    for left in folder.glob(f"{UNFINISHED}*"):
        with suppress(OSError):  # another process takes it away just now
            if time.time() - left.stat().st_mtime > FORGOTTEN_AFTER_S:
                shutil.rmtree(left, ignore_errors=True)


class Channel(filesystem.Channel):
    """One process's way to the folders."""

    _has_tables = False

    @contextmanager
    def whole_messages(self) -> Iterator[None]:
        """What is put here meanwhile gets its name at the end. Raises OSError."""
        with TemporaryDirectory(prefix=UNFINISHED, dir=self.data_folder_in) as folder:
            out_folder, self.data_folder_out = self.data_folder_out, folder
            try:
                yield
            finally:
                self.data_folder_out = out_folder
            for message in sorted(Path(folder).iterdir()):
                message.replace(Path(out_folder) / message.name)

    def basic_publish(self, *args: Any, **kwargs: Any) -> None:
        with self.whole_messages():
            super().basic_publish(*args, **kwargs)

    # What was taken and not worked on is put back by these three.
    def basic_reject(self, *args: Any, **kwargs: Any) -> None:
        with self.whole_messages():
            super().basic_reject(*args, **kwargs)

    def basic_recover(self, *args: Any, **kwargs: Any) -> None:
        with self.whole_messages():
            super().basic_recover(*args, **kwargs)

    def close(self) -> None:
        is_there = Path(self.data_folder_in).is_dir()  # or the data folder went before us
        with self.whole_messages() if is_there else nullcontext():
            super().close()

    def drain_events(self, *args: Any, **kwargs: Any) -> Any:
        """The next message. Raises queue.Empty, also in the place of one that cannot be read."""
        try:
            return super().drain_events(*args, **kwargs)
        except ValueError as error:  # JSONDecodeError and UnicodeDecodeError
            logger.exception("A message in %s could not be read and is gone.", self.data_folder_in)
            raise Empty from error

    @contextmanager
    def _tables(self, operation: int) -> Iterator[None]:
        if self._has_tables:  # a call within a call: flock(2) would wait for ourselves
            yield
            return
        private_files.make_folder(self.control_folder)
        with (self.control_folder / "lock").open("w") as lock:
            fcntl.flock(lock, operation)
            self._has_tables = True
            try:
                yield
            finally:
                self._has_tables = False

    def get_table(self, exchange: str) -> list[Any]:
        """Bindings of this exchange; none where its table was left unfinished."""
        with self._tables(fcntl.LOCK_SH):
            try:
                bindings: list[Any] = super().get_table(exchange)
            except ValueError:
                logger.warning("The bindings of %s cannot be read and are made again.", exchange)
                return []
        return bindings

    def queue_bind(self, queue: str, exchange: str | None = None, *args: Any, **more: Any) -> None:
        with self._tables(fcntl.LOCK_EX):
            name = exchange or "amq.direct"  # as kombu calls it
            try:
                super().get_table(name)
            except ValueError:
                (self.control_folder / f"{name}.exchange").unlink()
            super().queue_bind(queue, exchange, *args, **more)

    def queue_delete(self, *args: Any, **kwargs: Any) -> None:
        with self._tables(fcntl.LOCK_EX), suppress(ValueError):  # a broken table binds nothing
            super().queue_delete(*args, **kwargs)


class Transport(filesystem.Transport):
    """What the address ``filesystem://`` stands for (``fsbench_web.celery``)."""

    Channel = Channel
