"""Starts the embedded broker, as a program of its own:  launcher.py LOCK_FD PARENT_PID COMMAND...

With a parent it stays, and ends the broker when that process ends, however it ends. A bare PR_SET_PDEATHSIG would
fire when the *thread* that forked ends, and exists on Linux only; watching the process is right from any thread.
With PARENT_PID 0 it detaches and becomes the broker. It needs the standard library only: `-I -S` starts it in 20 ms.

LOCK_FD is an open file on which a lock is held. The broker inherits it, so the lock says "alive" exactly as long as
the broker is; the process that answers to signals writes its id into the file, and `ending` once it ends the broker.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import sys
from types import FrameType

GRACE_SECONDS = 15
_PR_SET_PDEATHSIG = 1


def main(lock: int, parent: int, command: list[str]) -> int:
    if not parent and os.fork():
        return 0  # the caller's child ends here; the broker is nobody's child, so it leaves no zombie
    os.setsid()  # Ctrl-C in the terminal is for the pipeline, which still needs the broker for its last batch
    say(lock, str(os.getpid()))
    if not parent:
        os.set_inheritable(lock, True)
        os.execv(command[0], command)
    return supervise(lock, parent, command)


def say(lock: int, text: str) -> None:
    """Write one short line over what the lock file says."""
    os.pwrite(lock, text.ljust(24).encode(), 0)


def supervise(lock: int, parent: int, command: list[str]) -> int:
    """Run the broker until it ends, or the parent does, or someone asks this process to end."""
    broker = subprocess.Popen(command, pass_fds=(lock,), preexec_fn=die_with_this_process)  # noqa: PLW1509 one thread

    def forward(_signal: int, _frame: FrameType | None) -> None:
        say(lock, f"{os.getpid()} ending")
        broker.terminate()  # the loop below goes on until the broker has ended

    signal.signal(signal.SIGTERM, forward)
    watched = [os.pidfd_open(broker.pid)] if hasattr(os, "pidfd_open") else []
    watched += parent_handle(parent) if watched else []
    while broker.poll() is None and os.getppid() == parent:
        select.select(watched, [], [], 5 if watched else 0.2)
    say(lock, f"{os.getpid()} ending")
    return end(broker)


def parent_handle(parent: int) -> list[int]:
    """A file that becomes readable when the parent ends; none when it has ended already (getppid tells)."""
    try:
        return [os.pidfd_open(parent)]
    except ProcessLookupError:
        return []


def end(broker: subprocess.Popen[bytes]) -> int:
    if broker.poll() is None:
        broker.terminate()
    try:
        return broker.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        broker.kill()
        return broker.wait()


def die_with_this_process() -> None:
    """In the broker, before it starts: should this launcher be killed, the kernel kills the broker too."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


if __name__ == "__main__":
    raise SystemExit(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))
