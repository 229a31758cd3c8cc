"""The first start with a registry: which subjects a pipeline's topics have, and which schema of each is the row."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from penstock.errors import SchemaRefused, Unavailable
from penstock.formats.framed import Named, RegistryDecode
from penstock.pipeline import Pipeline
from penstock.schemas.cache import Kept
from penstock.schemas.contract import Codec, Schema

Sample = Callable[[], Iterable[tuple[str, int]]]
"""Gives topic and schema id of some records of the source."""


@dataclass(frozen=True)
class Opening:
    """Asks the registry what nothing in the state says yet."""

    pipeline: Pipeline
    registry: Kept
    codec: Codec

    @property
    def options(self) -> RegistryDecode:
        found: RegistryDecode = self.pipeline.decode
        return found

    def subjects(self, topics: list[str], sample: Sample) -> dict[str, str]:
        """Topic -> subject. Where records name it, a look at some of them tells."""
        if isinstance(self.options.subject, Named) or self.options.subject == "by_topic":
            return {topic: self.options.subject_of(topic, "") for topic in topics}
        found: dict[str, str] = {}
        for topic, number in sample():
            try:
                found[topic] = self.options.subject_of(topic, self.codec.name(self.registry.by_id(number)))
            except (LookupError, SchemaRefused):
                continue  # told when its records are read
        return found

    def chosen(self, subjects: dict[str, str], topics: list[str]) -> dict[str, Schema]:
        """Subject -> the schema that is the row. Raises Unavailable while the registry has none of any."""
        found: dict[str, Schema] = {}
        for subject in dict.fromkeys(subjects.values()):
            version = self._version(subject)
            if version is not None:
                found[subject] = self.codec.portable(version)
        if not found:
            raise self._nothing_yet(sorted(set(subjects.values())) or topics)
        return found

    def _version(self, subject: str) -> Schema | None:
        """The version that the file asks for; None where the registry has no such subject yet."""
        try:
            if self.options.version == "latest":
                return self.registry.latest(subject)[1]
            return self.registry.version(subject, int(self.options.version))
        except LookupError as error:
            if self.options.version != "latest":
                raise SchemaRefused(
                    f"{self.pipeline.name}, decode: {error}, and `version` asks for it.",
                    data="Nothing was read.",
                    remedy="See what there is:  penstock schema list",
                ) from error
            return None

    def _nothing_yet(self, subjects: list[str]) -> Unavailable:
        return Unavailable(
            f"{self.pipeline.name}, registry {self.registry.place}: it has no schema yet for {', '.join(subjects)}, so "
            "the columns are not known.",
            data="Nothing was read.",
            remedy="It goes on when a producer has registered one. Is the subject named so?  penstock schema list",
        )
