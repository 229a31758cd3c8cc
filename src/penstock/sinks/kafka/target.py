"""A sink's topics as a batch sees them: small, picklable; they go to the tasks and into the manifest."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.sinks.contract import Writer
    from penstock.sinks.kafka.registered import Registered


@dataclass(frozen=True)
class KafkaTarget:
    """Where the rows of a sink are frozen, and what they become."""

    sink: str
    pipeline: str
    stage: str
    """The batch's own folder."""
    topic: str | None
    """The topic of all rows, or None: each row names its own."""
    value: str
    """`json`, `raw`, or a format of the schema registry."""
    key: bool
    headers: bool
    limits: dict[str, int] = field(default_factory=dict)
    """Topic -> most bytes of a record, of every topic that a row may go to."""
    registered: Registered | None = None
    """The schema of the values, where they have one."""
    named: bool = False
    """Does each record say which sink sent it? Where another one writes to the same topic."""

    @property
    def extras(self) -> tuple[str, ...]:
        wanted = {
            "__value": self.value == "raw",
            "__key": self.key,
            "__topic": self.topic is None,
            "__headers": self.headers,
        }
        return tuple(name for name, needed in wanted.items() if needed)

    def writer(self, tag: str) -> Writer:
        from penstock.sinks.kafka.writer import KafkaWriter

        return KafkaWriter(self, tag)

    def to_json(self) -> dict[str, Any]:
        schema = {"schema_id": self.registered.schema.id} if self.registered else {}
        named = {"named": self.sink} if self.named else {}
        own = {"stage": self.stage, "topic": self.topic, "value": self.value, "pipeline": self.pipeline}
        return {**own, **schema, **named}


@dataclass(frozen=True)
class DeadLetterTarget:
    """Where rejected records are frozen, on their way to the dead-letter topic."""

    sink: str
    stage: str
    topic: str
    limit: int
    """Most bytes of a record in that topic."""

    @property
    def extras(self) -> tuple[str, ...]:
        return ()

    def writer(self, tag: str) -> Writer:
        from penstock.sinks.kafka.dead_letters import DeadLetterWriter

        return DeadLetterWriter(self, tag)

    def to_json(self) -> dict[str, Any]:
        return {"stage": self.stage, "topic": self.topic}
