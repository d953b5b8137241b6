"""Whether the server of a mount is still there while a run uses it."""

import contextlib
import threading
from typing import Self

from runner.safety import mounts
from runner.safety.luns import LunEntry

EVERY_S = 20.0
# A server under the load of a benchmark may be slow; so many times in a row it is gone.
SILENCES = 3


class MountWatch(contextlib.AbstractContextManager["MountWatch"]):
    """Asks about a mount now and then, in a thread. ``problem`` is why the run is to end, or ""."""

    def __init__(self, entry: LunEntry, mark: str) -> None:
        self.problem = ""
        self._entry, self._mark = entry, mark
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._ask, daemon=True, name="mount-watch")

    def __enter__(self) -> Self:
        if self._entry.is_mount:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()

    def _ask(self) -> None:
        silences = 0
        while not self._is_over.wait(EVERY_S):
            try:
                why = mounts.folder_problem(self._entry, self._mark, is_asked_again=True)
                is_silent = False
            except mounts.ServerSilent as silent:
                why, is_silent = str(silent), True
            except mounts.MountError as error:
                why, is_silent = str(error), False
            silences = silences + 1 if is_silent else 0
            if why and (not is_silent or silences >= SILENCES):
                self.problem = why
                return
