"""A table as an append needs to know it: small, however many files the table has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from penstock.sinks.delta import allow
from penstock.sinks.delta.history import Past
from penstock.sinks.delta.state import TableState

Action = dict[str, Any]


class Picture:
    """What the log says up to a version: protocol, columns, properties, and the last batch of every application."""

    def __init__(self, table: str, version: int, actions: Iterable[Action] = ()) -> None:
        """`version` is -1 before the first commit."""
        self.table, self.version = table, version
        self.watermarks: dict[str, int] = {}
        self.past = Past(table, version)
        self._protocol: dict[str, Any] | None = None
        self._metadata: dict[str, Any] | None = None
        self._learn(actions)

    def grow(self, actions: Sequence[Action]) -> None:
        """Go on by one commit."""
        self._learn(actions)
        self.version += 1
        self.past.add(self.version, actions)

    @property
    def whole(self) -> bool:
        """Does it say what the table is? A log without these is none."""
        return self._protocol is not None and self._metadata is not None

    @property
    def state(self) -> TableState:
        return replace(self._state, version=self.version)

    @cached_property
    def objections(self) -> list[str]:
        """What stands against appending to the table; see allow.py."""
        return allow.objections(self._state)

    @cached_property
    def _state(self) -> TableState:
        assert self._protocol is not None
        assert self._metadata is not None
        return TableState.from_log(self.table, self.version, self._protocol, self._metadata)

    def _learn(self, actions: Iterable[Action]) -> None:
        for action in actions:
            if "txn" in action:
                self.watermarks[action["txn"]["appId"]] = int(action["txn"]["version"])
            if "protocol" in action:
                self._protocol = _filled(action["protocol"])
                self._doubt()
            if "metaData" in action:
                self._metadata = _filled(action["metaData"])
                self._doubt()

    def _doubt(self) -> None:
        for name in ("_state", "objections"):
            self.__dict__.pop(name, None)


def _filled(action: dict[str, Any]) -> dict[str, Any]:
    """The action without what is null: some writers leave it out, some write it down."""
    return {name: value for name, value in action.items() if value is not None}
