"""One source for all topics, or one for each: fixed by the checkpoint, which has a line for each source."""

from __future__ import annotations

from penstock import files
from penstock.errors import Refused
from penstock.ledger.checkpoint import Checkpoint
from penstock.ledger.sparklog import planned
from penstock.pipeline import Pipeline
from penstock.sources.kafka import topics_apart


def check_layout(pipeline: Pipeline, checkpoint: Checkpoint) -> None:
    """Refuse a checkpoint whose sources are not those that the query would have: Spark would mix up their offsets."""
    number = checkpoint.planned
    if number is None:
        return
    found = planned(number, files.read(checkpoint.folder / "offsets" / str(number)) or b"")
    held = [sorted({topic for topic, _ in source.positions}) for source in found.sources]
    wanted = topics_apart(pipeline.source) if pipeline.pace.fair == "by_topic" else []
    if len(wanted) > 1:
        same = len(held) == len(wanted) and all(set(have) <= {topic} for have, topic in zip(held, wanted, strict=True))
    else:
        same = len(held) == 1
    if not same:
        now = f"a source for each of {', '.join(wanted)}" if len(wanted) > 1 else "one source for all topics"
        was = "; ".join(", ".join(topics) or "nothing yet" for topics in held)
        raise Refused(
            f"{pipeline.name}: the checkpoint has {len(held)} source{'s' * (len(held) != 1)} ({was}), and "
            f"`pace.fair: {pipeline.pace.fair}` now asks for {now}.",
            data="The offsets of one would be taken for those of another. Nothing was written.",
            remedy="Change it back; or start afresh where it stands, keeping the tables:  penstock new-generation",
        )
