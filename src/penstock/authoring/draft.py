"""The draft of a pipeline: a sample in, the text of a file out, with everything that led to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from penstock.authoring import render
from penstock.authoring.checks import Proposal, propose
from penstock.authoring.evidence import Evidence, kept
from penstock.authoring.infer import MOST_FIELDS, infer
from penstock.authoring.recognise import OBJECT
from penstock.authoring.request import Request
from penstock.authoring.sample import Content, Sample, content_of
from penstock.authoring.schema_text import schema_lines
from penstock.authoring.values import parse
from penstock.authoring.verify import Outcome, judge
from penstock.errors import InvalidPipeline, PenstockError
from penstock.formats.json import Json
from penstock.formats.raw import Raw
from penstock.pipeline import Pipeline
from penstock.spec import pipeline_from_text

LARGEST = 900_000
"""Bytes of the file; a pipeline file may have 1 MB."""


@dataclass(frozen=True)
class Draft:
    """A pipeline file that validates, and why it says what it says."""

    request: Request
    sample: Sample
    content: Content
    fields: tuple[Evidence, ...]
    """None where the topic is not JSON."""
    outcome: Outcome
    proposals: list[Proposal]
    text: str = ""

    @property
    def is_json(self) -> bool:
        return bool(kept(self.fields))

    def as_data(self) -> dict[str, Any]:
        """The evidence, for `--json`."""
        return {
            "pipeline": self.request.name,
            "origin": self.sample.origin,
            "sample": self.sample.how,
            "records": len(self.sample.records),
            "bytes": self.sample.size,
            "remarks": list(self.sample.remarks),
            "kinds": self.content.as_data(),
            "decode": "json" if self.is_json else "raw",
            "fields": [each.as_data() for each in self.fields],
            "outcome": self.outcome.as_data(),
            "checks": [each.as_data() for each in self.proposals],
        }


def draft(request: Request, sample: Sample) -> Draft:
    """The proposal for this sample. Raises where there is nothing to infer from."""
    content = content_of(sample)
    if not content.values:
        raise _nothing(sample, content)
    fields = tuple[Evidence, ...]()
    if content.is_json:
        pairs = zip(sample.records, content.kinds, strict=True)
        parsed = [parse(record.value or b"") for record, kind in pairs if kind.name == OBJECT]
        objects = [each for each in parsed if each is not None]
        fields = _that_fit_a_file(objects)
    decode = Json(schema="\n".join(schema_lines(fields))) if kept(fields) else Raw()
    made = Draft(request, sample, content, fields, judge(sample, decode), propose(fields))
    return _settled(made)


def _that_fit_a_file(objects: list[dict[str, Any]]) -> tuple[Evidence, ...]:
    """The evidence of as many fields as a pipeline file has room for."""
    most = MOST_FIELDS
    while True:
        fields = infer(objects, most=most)
        # Two bytes for each indentation and the reject counts that are not there yet: half of the room is left free.
        if not kept(fields) or most <= 1 or len("\n".join(schema_lines(fields)).encode()) <= LARGEST // 2:
            return fields
        most //= 2


def _settled(made: Draft) -> Draft:
    """With a text that this version of penstock accepts: checks stand as comments where it knows no checks."""
    cautious = replace(made, proposals=[replace(each, live=False) for each in made.proposals])
    first = made if "checks" in Pipeline.model_fields else cautious
    for attempt in (first, cautious):
        text = render.text_of(attempt)
        try:
            validated(text, made.request)
        except InvalidPipeline:
            if attempt is cautious:
                raise
            continue
        return replace(attempt, text=text)
    raise AssertionError("unreachable: the last attempt returns or raises")


def validated(text: str, request: Request) -> Pipeline:
    """The pipeline of this text. Raises InvalidPipeline, with the lines of the file as it would be."""
    file = Path(request.file)
    return pipeline_from_text(text, file=str(file), folder=file.absolute().parent)


def _nothing(sample: Sample, content: Content) -> PenstockError:
    if not sample.records:
        what, remedy = "is empty", "Write records first, or point to a file of them:  penstock init --from FILE.jsonl"
    else:
        told = ", ".join(f"{each.count:,} x {each.name}" for each in content.holdings)
        what = f"holds no record that says anything ({told})"
        remedy = "Take a larger sample:  --sample 100000"
    return PenstockError(f"init: {sample.origin} {what}.", data="No file was written.", remedy=remedy)
