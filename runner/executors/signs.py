"""Signs of life: what an agent hears of its worker, and ends its run without (WorkerWatch)."""

import contextlib
import threading
from collections.abc import Callable, Iterator

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
