"""What to do with a topic that is not JSON objects, by what it is."""

from __future__ import annotations

from penstock.authoring.recognise import COMPRESSED

RAW = "`decode: raw` lands the bytes in a column `value`; nothing is lost, and they can be decoded later."
_BY_KIND = {
    "registry frame, JSON inside": "Registry formats come with a later version of penstock.",
    "registry frame, Avro or Protobuf inside": "Registry formats come with a later version of penstock.",
    "registry frame of AWS Glue": "Registry formats come with a later version of penstock.",
    "Avro container": "Each record is a whole Avro file, schema included. Avro comes with a later version of penstock.",
    "Protobuf-like binary": "Protobuf comes with a later version of penstock; it will need the message's definition.",
    "JSON array": "A record must be one object. Ask the producer to send each element as a record of its own.",
    "JSON text": "The producer serialises twice: the value is a JSON text, maybe with an object inside it.",
    "JSON number, true, false or null": "A record must be a JSON object to have fields.",
    "broken JSON": "The values begin like JSON and are not. The codes say what is wrong; see docs/json.md.",
    "CSV-looking text": "Split it after landing, e.g.  split(CAST(value AS STRING), ',')  in a step.",
    "XML or HTML": "Decode it after landing, e.g. with a Python step.",
    "plain text": "As text after landing:  CAST(value AS STRING)",
    "MessagePack": "Ask the producer for JSON, or decode it after landing with a Python step.",
    "Parquet": "A file in a record. Land files in a lake directly, not through a topic.",
    "serialized Java object": "Only Java reads it. Ask the producer for JSON.",
    "binary": "No format was recognised: Avro without its registry frame looks like this, and so does encryption.",
}


def advice_for(kind: str) -> str:
    """One or two sentences."""
    if kind in COMPRESSED:
        return (
            f"The producer packs each value with {kind} itself. Kafka's own compression (the producer's setting "
            "`compression.type`) does the same and is unpacked on the way; ask for that instead."
        )
    return _BY_KIND.get(kind, "")
