"""Ports for what we start."""

from __future__ import annotations

import socket

from penstock.dev.ports import HIGHEST, LOWEST, free_port, is_free


def test_a_free_port_is_none_that_a_system_would_give_to_a_client() -> None:
    drawn = {free_port() for _ in range(50)}
    assert len(drawn) > 40, "they differ: two processes that draw at once hardly meet"
    assert all(LOWEST <= port < HIGHEST < 32_768 for port in drawn)


def test_one_that_is_listened_on_is_not_free() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        assert not is_free(held.getsockname()[1])
    assert is_free(free_port())
