"""The revisions of a pipeline's reader, kept in its state: `<state>/schemas/readers/<n>.json`, each created once.

A revision says what the columns are from then on, how each known schema is read, and what changed: the history of the
row type. It is written before the first batch that needs it is frozen, so a crash leaves the old one or the new one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from penstock import files
from penstock.files import Place
from penstock.formats.schemas import parse_ddl
from penstock.formats.types import to_ddl
from penstock.schemas.cache import from_json, to_json
from penstock.schemas.contract import Reader, Registry, Writer


@dataclass(frozen=True)
class News:
    """What a revision changed: a schema that was met, and what became of it."""

    topic: str
    subject: str
    before: int | None
    """Id of the schema that its columns were taken from until then; None where the subject is new."""
    after: int
    action: str
    changes: tuple[dict[str, str], ...] = ()
    batch_id: int | None = None


class Shelf:
    """Where the revisions are. For a look nothing is written."""

    def __init__(self, state: Place | None, *, write: bool = True) -> None:
        self.folder = None if state is None else state / "schemas" / "readers"
        self.write = write

    def newest(self) -> dict[str, Any] | None:
        """The newest revision, as it was written."""
        numbers = [] if self.folder is None else files.numbered(self.folder, ".json")
        return self.revision(numbers[-1]) if numbers else None

    def revision(self, number: int) -> dict[str, Any]:
        assert self.folder is not None, "only a shelf with a place has revisions"
        path = self.folder / f"{number}.json"
        body = files.read(path)
        return files.parse(path, body or b"")

    def history(self) -> list[dict[str, Any]]:
        """Every revision, the oldest first."""
        numbers = [] if self.folder is None else files.numbered(self.folder, ".json")
        return [self.revision(number) for number in numbers]

    def keep(self, reader: Reader, place: str, policy: dict[str, str], news: Sequence[News]) -> dict[str, Any]:
        """Write a revision; what stands under its number now: another process's, where that was first."""
        body = {
            "revision": reader.revision,
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "registry": place,
            "policy": policy,
            "columns": to_ddl(reader.fields),
            "readers": {subject: to_json(schema) for subject, schema in reader.readers.items()},
            "writers": [
                {"topic": topic, "id": number, "subject": writer.subject, "parked": writer.parked}
                for (topic, number), writer in sorted(reader.writers.items())
            ],
            "news": [each.__dict__ for each in news],
        }
        if self.folder is None or not self.write:
            return body
        path = self.folder / f"{reader.revision}.json"
        return files.parse(path, files.create_once(path, files.to_json(body)))


def reader_of(body: dict[str, Any], registry: Registry) -> Reader:
    """The reader that a revision tells of. Its writers' schemas are kept beside it: no registry is needed."""
    readers = {subject: from_json(schema) for subject, schema in body["readers"].items()}
    writers = {}
    for each in body["writers"]:
        bare = each["id"] < 0
        schema = readers[each["subject"]] if bare else registry.by_id(each["id"])
        writers[each["topic"], each["id"]] = Writer(each["subject"], schema, each["parked"])
    return Reader(parse_ddl(body["columns"]), readers, writers, body["revision"])
