"""The keeper of a running pipeline's schemas: which there are, how each is read, what a new one does to the columns.

Everything that it decides is kept in the state before a batch is frozen with it. A schema that was decided on is never
asked for again: a registry that is away holds up only what was never seen.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace

from penstock.errors import SchemaRefused, SchemaStopped
from penstock.formats.framed import Framed, RegistryDecode
from penstock.observe.events import Emit, SchemaChanged
from penstock.pipeline import Pipeline
from penstock.schemas.asking import MOST_ASKED, Asking
from penstock.schemas.cache import Kept
from penstock.schemas.contract import BARE, Change, Reader, Schema, Writer
from penstock.schemas.opening import Opening, Sample
from penstock.schemas.policy import Judgement, judge, spoken
from penstock.schemas.rowtype import joining, lacking, taking, united
from penstock.schemas.shelf import News, Shelf, reader_of

MOST_VERSIONS = 50
"""Versions of a subject that are learned at the first start; older ones when records of them come."""

Strange = Mapping[tuple[str, int], int]


class Keeper:
    """Keeps the reader of one pipeline."""

    def __init__(
        self, pipeline: Pipeline, registry: Kept, shelf: Shelf, emit: Emit, stopping: threading.Event | None = None
    ) -> None:
        self.pipeline, self.registry, self.shelf, self.emit = pipeline, registry, shelf, emit
        self.options: RegistryDecode = pipeline.decode
        self.codec = self.options.codec()
        self.policy = pipeline.schema_changes
        self.asking = Asking(pipeline, registry, stopping or threading.Event())
        self.reader = Reader(())

    def format(self, *, closed: bool = False) -> Framed:
        """The format with all that is known now."""
        refused = tuple((number, self._refusal(number, why).words) for number, why in self.asking.refused.items())
        return Framed(self.options, self.reader, self.asking.missing, refused, closed)

    # at the start

    def open(self, topics: Iterable[str], sample: Sample = tuple) -> Framed:
        """The format as the state keeps it; at the first start, as the registry says."""
        body = self.shelf.newest()
        if body is not None:
            self._take_up(body)
        else:
            self._begin(sorted(set(topics)), sample)
        return self.format()

    def _take_up(self, body: dict[str, object]) -> None:
        """Go on where the last revision left off.

        Under another policy, or with another registry, whose ids mean other schemas, every schema is decided on anew
        when it is met. The columns stay; a subject of which they lack something joins anew.
        """
        same = body["registry"] == self.registry.place and body["policy"] == self.policy.model_dump()
        anew = not same and self.options.framing != "bare"
        self.reader = self._portable(reader_of({**body, "writers": []} if anew else body, self.registry))
        if anew:
            row, readers = self.reader.fields, self.reader.readers
            whole = {name: each for name, each in readers.items() if not lacking(row, self.codec.fields(each))}
            self.reader = replace(self.reader, readers=whole)

    def _portable(self, reader: Reader) -> Reader:
        readers = {subject: self.codec.portable(schema) for subject, schema in reader.readers.items()}
        writers = {
            key: replace(writer, schema=writer.schema if writer.parked else self.codec.portable(writer.schema))
            for key, writer in reader.writers.items()
        }
        return replace(reader, readers=readers, writers=writers)

    def _begin(self, topics: list[str], sample: Sample) -> None:
        """The first revision: the columns of the version that the file asks for."""
        opening = Opening(self.pipeline, self.registry, self.codec)
        subjects = opening.subjects(topics, sample)
        chosen = opening.chosen(subjects, topics)
        fields = united({subject: self.codec.fields(schema) for subject, schema in chosen.items()})
        self.reader = Reader(fields, chosen, {}, 1)
        for topic, subject in subjects.items():
            if subject in chosen:
                self._learn_versions(topic, subject)
        self._keep([])

    def _learn_versions(self, topic: str, subject: str) -> None:
        """Know the ids that are registered already, so that their records need no second pass."""
        if self.options.framing == "bare":
            bare = Writer(subject, self.reader.readers[subject])
            self.reader = replace(self.reader, writers={**self.reader.writers, (topic, BARE): bare})
            return
        order, newest = self._order(subject), self.reader.readers[subject].id
        known = order[: order.index(newest) + 1] if newest in order else [newest]
        for number in known[-MOST_VERSIONS:]:
            schema = self.registry.by_id(number)
            judged = self._old(schema, subject)
            if judged.action == "read":  # else it is decided on when there are records of it
                self._decide(topic, subject, schema, judged)

    # while running

    def meet(self, strange: Strange, batch_id: int) -> bool:
        """Look up these topics and schema ids. True if some are new: the pass that met them is void."""
        fresh = {*self.asking.missing, *self.asking.refused}
        wanted = {key: count for key, count in strange.items() if key[1] not in fresh}
        wanted = {key: count for key, count in wanted.items() if key not in self.reader.writers}
        if not wanted:
            return False
        ordered = sorted(wanted, key=lambda key: (-wanted[key], key))[:MOST_ASKED]
        found = self.asking.found({number for _, number in ordered})
        self._tell_refused(ordered, batch_id)
        new = sorted((key for key in ordered if key[1] in found), key=lambda key: (key[1], key[0]))  # the oldest first
        while new:
            news = [self._met(topic, found[number], batch_id) for topic, number in new]
            self.reader = replace(self.reader, revision=self.reader.revision + 1)
            self._keep(news)
            new = [
                key for key in new if key not in self.reader.writers
            ]  # another process was first: on top of its word
        return True

    def _tell_refused(self, met: list[tuple[str, int]], batch_id: int) -> None:
        """Stop, or tell, where the registry cannot give one of these schemas. Nothing of it is kept."""
        for topic, number in met:
            if number in self.asking.refused:
                judged = self._refusal(number, self.asking.refused[number])
                subject = self.options.subject_of(topic, "")
                before = self.reader.readers.get(subject)
                if judged.action == "stop":
                    raise self._stop(topic, subject, before, number, judged)
                self._tell(topic, subject, before, number, judged, batch_id)

    def _refusal(self, number: int, why: SchemaRefused) -> Judgement:
        told = f"schema {number}: {why.what.rstrip('.')}"
        return judge([Change("incompatible", "", "", told)], self.policy)

    def _met(self, topic: str, schema: Schema, batch_id: int) -> News:
        """Decide on a schema that was never read before in this topic."""
        try:
            subject = self.options.subject_of(topic, self.codec.name(schema))
        except SchemaRefused as refused:
            subject = self.options.subject_of(topic, "")
            judged = judge([Change("incompatible", "", "", refused.what)], self.policy)
            return self._decided(topic, subject, schema, judged, batch_id)
        before = self.reader.readers.get(subject)
        if before is None:
            judged = self._joining(subject, schema)
        elif self._is_older(subject, schema.id, before.id):
            judged = self._old(schema, subject)
        else:
            judged = judge(self.codec.changes(before, schema), self.policy)
        return self._decided(topic, subject, schema, judged, batch_id)

    def _decided(self, topic: str, subject: str, schema: Schema, judged: Judgement, batch_id: int) -> News:
        before = self.reader.readers.get(subject)
        judged = self._decide(topic, subject, schema, judged)
        if judged.action == "stop":
            raise self._stop(topic, subject, before, schema.id, judged)
        return self._tell(topic, subject, before, schema.id, judged, batch_id)

    def _tell(
        self, topic: str, subject: str, before: Schema | None, number: int, judged: Judgement, batch_id: int
    ) -> News:
        changes = tuple(change.__dict__ for change in judged.changes)
        old = None if before is None else before.id
        event = SchemaChanged(
            pipeline=self.pipeline.name,
            batch_id=batch_id,
            topic=topic,
            subject=subject,
            old=old,
            new=number,
            action=judged.action,
            changes=changes,
            told="; ".join(spoken(change) for change in judged.changes),
        )
        self.emit(event)
        return News(topic, subject, old, number, judged.action, changes, batch_id)

    def _decide(self, topic: str, subject: str, schema: Schema, judged: Judgement) -> Judgement:
        """Take the schema in as it was judged, columns and all; park it, if it cannot be read even so."""
        reader, writer = self.reader, Writer(subject, schema)
        if judged.action == "read":
            try:
                reader, writer = self._with(subject, schema, judged), Writer(subject, self.codec.portable(schema))
                self.codec.payloads(writer.schema, reader.fields, reader.readers[subject])
            except SchemaRefused as refused:
                judged = judge([Change("incompatible", "", "", refused.what)], self.policy)
                reader = self.reader
        if judged.action != "read":
            writer = Writer(subject, schema, f"Schema {schema.id}: {judged.words}")
        self.reader = replace(reader, writers={**reader.writers, (topic, schema.id): writer})
        return judged

    def _with(self, subject: str, schema: Schema, judged: Judgement) -> Reader:
        """The reader with what the policy takes of this schema."""
        before = self.reader.readers.get(subject)
        if before is None:
            mine = self.codec.portable(schema)
        elif judged.taken:
            mine = self.codec.evolved(before, schema, judged.taken)
        else:
            return self.reader
        had = None if before is None else self.codec.fields(before)
        fields = taking(self.reader.fields, had, self.codec.fields(mine), judged.ignored)
        return replace(self.reader, fields=fields, readers={**self.reader.readers, subject: mine})

    def _joining(self, subject: str, schema: Schema) -> Judgement:
        """What becomes of the first schema of a subject that joins."""
        return judge(list(joining(self.reader.fields, self.codec.fields(schema))), self.policy)

    def _old(self, schema: Schema, subject: str) -> Judgement:
        """An older version is no change: it is read, or it does not fit."""
        try:
            self.codec.payloads(self.codec.portable(schema), self.reader.fields, self.reader.readers[subject])
        except SchemaRefused as refused:
            return judge([Change("incompatible", "", "", refused.what)], self.policy)
        return Judgement("read")

    def _is_older(self, subject: str, number: int, than: int) -> bool:
        """Did the subject have this schema before that one, or is it the same?"""
        if number == than:
            return True
        order = self._order(subject)
        return number in order and than in order and order.index(number) < order.index(than)

    def _order(self, subject: str) -> list[int]:
        """The ids of a subject's versions, the oldest first; none, where the registry has no such subject."""
        made = []
        try:
            for each in self.registry.versions(subject):
                with suppress(SchemaRefused):  # told when its records are read
                    made.append(self.registry.version(subject, each).id)
        except LookupError:
            return []
        return made

    def _stop(self, topic: str, subject: str, before: Schema | None, number: int, judged: Judgement) -> SchemaStopped:
        was = f"schema {before.id}" if before is not None else "the columns"
        return SchemaStopped(
            f"{self.pipeline.name}, topic {topic}, subject {subject}: schema {number} differs from {was}: "
            f"{judged.words}",
            data="Nothing of this batch is visible, and nothing was skipped.",
            remedy="Mend the producer, or allow the change (schema_changes), then run again.",
        )

    def _keep(self, news: list[News]) -> None:
        """Write the revision down. Where another process was first, its word counts."""
        body = self.shelf.keep(self.reader, self.registry.place, self.policy.model_dump(), news)
        kept = reader_of(body, self.registry)
        if (kept.fields, set(kept.writers)) != (self.reader.fields, set(self.reader.writers)):
            self.reader = self._portable(kept)
