"""How a verb hears that it should stop."""

from __future__ import annotations

import signal
import threading
from types import FrameType


def stop_on_signals() -> threading.Event:
    """An event that SIGTERM and Ctrl-C set."""
    stopping = threading.Event()

    def ask(_number: int, _frame: object) -> None:
        stopping.set()

    signal.signal(signal.SIGTERM, ask)
    signal.signal(signal.SIGINT, ask)
    return stopping


def noted_interrupt() -> threading.Event:
    """An event that Ctrl-C sets, besides raising KeyboardInterrupt as ever.

    For loops that ask Kafka: one raised while librdkafka calls back into Python is printed and lost.
    """
    noted = threading.Event()

    def note(number: int, frame: FrameType | None) -> None:
        noted.set()
        signal.default_int_handler(number, frame)

    signal.signal(signal.SIGINT, note)
    return noted
