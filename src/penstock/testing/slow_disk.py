"""A disk that is slow: a command whose fsyncs below one folder each take some time. Linux only.

    python -m penstock.testing.slow_disk FOLDER SECONDS COMMAND ...

The kernel itself holds the call back (seccomp's user notification): nothing of the command is changed or replaced, and
all of its threads and children are held as well. The process that was started becomes the command, so that signals and
exit codes are its own; a child of it watches, and ends with it.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import platform
import select
import socket
import struct
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

NO_NEW_PRIVS, SET_MODE_FILTER, NEW_LISTENER = 38, 1, 8
NOTIFY, ALLOW, GO_ON = 0x7FC00000, 0x7FFF0000, 1
RECEIVE, SEND = 0xC0502100, 0xC0182101
"""What is asked of the listener: the next call that waits (80 bytes), the answer to one (24)."""
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06


@dataclass(frozen=True)
class Calls:
    """Numbers of system calls, which each machine has its own of."""

    seccomp: int
    held: tuple[int, ...]
    """`fsync` and `fdatasync`."""


CALLS = {"x86_64": Calls(317, (74, 75)), "aarch64": Calls(277, (82, 83))}


class Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("lines", ctypes.c_char_p))


def under(folder: object, seconds: float) -> tuple[str, ...]:
    """What to put before a command, for it to find the disk of this folder slow."""
    return sys.executable, "-m", __name__, str(folder), str(seconds)


def _listener() -> int:
    """From here on fsyncs of this process and its children wait at the descriptor that this gives."""
    calls = CALLS[platform.machine()]
    count = len(calls.held)
    lines = [(LOAD, 0, 0, 0)]
    lines += [(EQUAL, count - place, 0, number) for place, number in enumerate(calls.held)]
    lines += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, NOTIFY)]
    libc = ctypes.CDLL(None, use_errno=True)
    program = Program(len(lines), b"".join(struct.pack("HBBI", *line) for line in lines))
    libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0)
    made = int(libc.syscall(calls.seccomp, SET_MODE_FILTER, NEW_LISTENER, ctypes.byref(program)))
    if made < 0:
        raise OSError(ctypes.get_errno(), "the kernel does not let a process hold its own calls")
    return made


@dataclass(frozen=True)
class Disk:
    """Answers the calls that wait: at once, or late if their file lies below the folder."""

    listener: int
    folder: str
    seconds: float

    def serve(self) -> None:
        """Until the command and all its children have ended."""
        waiting = select.poll()
        waiting.register(self.listener, select.POLLIN)
        while all(event & select.POLLIN for _, event in waiting.poll()):
            call = bytearray(80)
            try:
                fcntl.ioctl(self.listener, RECEIVE, call)
            except (FileNotFoundError, InterruptedError):
                continue  # whoever called was killed meanwhile
            number, thread, file = *struct.unpack_from("QI", call), struct.unpack_from("Q", call, 32)[0]
            late = self.seconds if self._mine(thread, file) else 0.0
            threading.Thread(target=self._answer, args=(number, late), daemon=True).start()

    def _mine(self, thread: int, file: int) -> bool:
        try:
            return str(Path(f"/proc/{thread}/fd/{file}").readlink()).startswith(self.folder)
        except OSError:
            return False

    def _answer(self, number: int, late: float) -> None:
        time.sleep(late)
        try:
            fcntl.ioctl(self.listener, SEND, struct.pack("QqiI", number, 0, 0, GO_ON))
        except OSError:
            return  # whoever called was killed meanwhile


def main(words: Sequence[str]) -> None:
    folder, seconds, *command = words
    here, there = socket.socketpair()
    if os.fork() == 0:
        here.close()
        _, (listener,), _, _ = socket.recv_fds(there, 1, 1)
        Disk(listener, os.path.realpath(folder), float(seconds)).serve()
        os._exit(0)
    there.close()
    listener = _listener()
    socket.send_fds(here, [b"!"], [listener])
    here.close()
    os.close(listener)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
