"""The keeper of a pipeline's schemas, made from the pipeline: for a run, or for a look that leaves no trace."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from penstock.files import Place
from penstock.formats.framed import RegistryDecode
from penstock.observe.events import Emit, nowhere
from penstock.pipeline import Pipeline
from penstock.schemas.keeper import Keeper
from penstock.schemas.registry import open_registry
from penstock.schemas.shelf import Shelf
from penstock.sources.cluster import Cluster
from penstock.sources.peek import peek

if TYPE_CHECKING:
    import pyarrow as pa

SAMPLED = 100
"""Records that are looked at for their schema ids, where only they can name the subjects."""


def keeper_of(
    pipeline: Pipeline, state: Callable[[], Place], emit: Emit = nowhere, stopping: threading.Event | None = None
) -> Keeper | None:
    """The keeper, if the pipeline's format has a registry."""
    if pipeline.registry is None or not has_registry(pipeline):
        return None
    place = state()
    return Keeper(pipeline, open_registry(pipeline.registry, place), Shelf(place), emit, stopping)


def looking_keeper(pipeline: Pipeline, state: Callable[[], Place]) -> Keeper | None:
    """The same for a look: what the state holds is read, and nothing is written."""
    if pipeline.registry is None or not has_registry(pipeline):
        return None
    place = state()
    return Keeper(pipeline, open_registry(pipeline.registry, place, write=False), Shelf(place, write=False), nowhere)


def has_registry(pipeline: Pipeline) -> bool:
    return isinstance(pipeline.decode, RegistryDecode)


def topics_of(pipeline: Pipeline, cluster: Cluster | None) -> list[str]:
    """The topics that the pipeline reads, as far as they are known."""
    if cluster is not None:
        return sorted({topic for topic, _ in cluster.read_by(pipeline.source)})
    return [*(pipeline.source.topics or pipeline.source.partitions or ())]


def sampled(pipeline: Pipeline, cluster: Cluster | None) -> Iterable[tuple[str, int]]:
    """Topic and schema id of the newest records."""
    if cluster is None:
        return ()
    return ids_in(peek(cluster, cluster.read_by(pipeline.source), SAMPLED))


def ids_in(records: pa.RecordBatch) -> list[tuple[str, int]]:
    """Topic and schema id of these records, each once."""
    return list(dict.fromkeys(_ids(records["topic"].to_pylist(), records["value"].to_pylist())))


def _ids(topics: list[str], values: list[bytes | None]) -> Iterator[tuple[str, int]]:
    for topic, value in zip(topics, values, strict=True):
        if value is not None and len(value) >= 5 and value[0] == 0:
            yield topic, int.from_bytes(value[1:5], "big")
