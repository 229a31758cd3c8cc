"""Work that goes on beside a test: again and again, while a block runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def meanwhile(work: Callable[[int], object], pause: Callable[[], float]) -> Iterator[None]:
    """While the block runs, `work` is called with 0, 1, 2, ..., each time after so many seconds."""
    over = threading.Event()

    def go() -> None:
        number = 0
        while not over.wait(pause()):
            work(number)
            number += 1

    thread = threading.Thread(target=go)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
