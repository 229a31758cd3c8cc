"""A cluster's marker against the ledger: it moves in the transaction of a batch, so it says how far the topics are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.counting import counted
from penstock.operate.audit.findings import Finding
from penstock.operate.audit.scope import DEEP, Scope
from penstock.operate.audit.topics import TopicReader
from penstock.sinks.contract import app_id
from penstock.sinks.kafka.marker import Marker


def marker_findings(reader: TopicReader, sinks: Iterable[str], scope: Scope) -> Iterator[Finding]:
    """What is wrong with the marker of the newest generation. `sinks` are those on this cluster."""
    names = list(sinks)
    last = next((batch for batch in reversed(scope.judged) if batch.sound), None)
    expected = last.told.last_written.get(reader.cluster) if last and last.told else None
    if last is None or expected is None or not names:
        return
    app = app_id(scope.books.pipeline, last.generation, reader.cluster)
    marker = reader.marker(app)
    where = f"topics of cluster {reader.cluster}"
    if marker is None:
        what = f"{where}: the ledger says that batch {expected} is there, but group {app} has no marker."
        yield Finding("unproven", what, names[0], remedy=f"It expired, or was deleted. {DEEP}", rows_decide=True)
    elif marker.batch_id < expected:
        what = f"{where}: the ledger says that batch {expected} is there, but the marker ends at {marker.batch_id}."
        for name in names:
            missing = sum(
                batch.told.records(name)
                for batch in scope.judged
                if batch.told and batch.generation == last.generation and batch.batch_id > marker.batch_id
            )
            yield Finding("lost", f"{what} Sink {name}: {counted(missing, 'record')}.", name, missing, rows_decide=True)
    elif not marker.closed:
        yield from _digest(marker, where, names[0], scope, last.generation)


def _digest(marker: Marker, where: str, sink: str, scope: Scope, generation: int) -> Iterator[Finding]:
    key = generation, marker.batch_id
    intent = scope.books.intent(*key)
    told = marker.story.get("digest")
    if intent is None:
        what = f"{where}: the marker says batch {marker.batch_id}, of which the ledger knows nothing."
        yield Finding("unproven", what, sink, remedy="The state is older than the topics: restore the newest state.")
    elif told is not None and told != intent.digest:
        what = f"{where}: the marker of batch {marker.batch_id} has another digest than the ledger: not penstock's."
        yield Finding("unproven", what, sink, remedy="Somebody moved it. Do not go on before you know who.")
