"""The streaming plan of a pipeline in real time: Kafka records in, Kafka records out, in Spark's own expressions.

Checks, `select` steps and the sinks' own expressions are the same columns as in a batch; only `decode` is another one:
Spark's JSON parser, which is less strict (docs/latency.md says where). A record that is rejected goes to the topic of
the dead letters in the same projection, so that nothing is filtered away and every record leaves once, at least.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.formats.json import Json
from penstock.formats.types import Field
from penstock.pipeline import Pipeline
from penstock.sinks.kafka import Topic
from penstock.sinks.kafka.names import OFFSET, PARTITION, PIPELINE, TOPIC
from penstock.sinks.kafka.sizes import HEADER, NUMBER, RECORD
from penstock.sql.expression import read_expression
from penstock.sql.values import RowQuery
from penstock.steps.checks import checked
from penstock.steps.frame import LIVE, Frame, column, out
from penstock.steps.queries import projected
from penstock.steps.routes import HEADERS_TYPE, Route, learned, routed
from penstock.version import __version__
from penstock.worker.crossing import CARRIED, ROUTE_PREFIX

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

CORRUPT = "__corrupt"
JSON_OUT = {"ignoreNullFields": "false", "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'"}
DECODE_CODES = ("tombstone", "empty", "too_large", "invalid_utf8", "invalid_json", "missing_field")
SINK_CODES = ("step_failed", "unknown_topic", "too_large_out")
RECORD_TYPE = f"STRUCT<topic: STRING, key: BINARY, value: BINARY, headers: {HEADERS_TYPE}>"


@dataclass(frozen=True)
class Outgoing:
    """What is known of the cluster before the start."""

    limits: Mapping[str, int]
    """Topic -> most bytes of a record."""
    generation: int = 1


def outgoing(records: DataFrame, pipeline: Pipeline, known: Outgoing) -> DataFrame:
    """Spark's Kafka records -> the records to be written: topic, key, value, headers."""
    from pyspark.sql import functions as F  # noqa: N812

    frame = decoded(records, pipeline.decode)
    if pipeline.checks:
        frame = checked(frame, pipeline.checks)
    for step in pipeline.steps:
        items = tuple(read_expression(text) for text in step.select or ())
        frame = projected(frame, RowQuery(text="", items=items), step.name)
    routes = {name: _route(frame, sink.to, sink.where) for name, sink in pipeline.sinks.items()}
    frame = routed(frame, routes)
    sinks = {name: _Sending(name, sink.to, frame, known) for name, sink in pipeline.sinks.items()}
    judged = frame.rows.withColumns({f"__sent_{name}": sending.record(pipeline) for name, sending in sinks.items()})
    judged = judged.withColumn("__out", _verdict(sinks))
    judged = judged.observe("penstock", *_counted(pipeline))
    letters = _letter(pipeline, known)
    sent = [F.when(F.expr(LIVE), column(f"__sent_{name}", "record")) for name in sinks]
    every = F.array_compact(F.array(*sent, F.when(F.expr("__out.fate = 'reject'"), letters)))
    return judged.select(F.explode(every).alias("record")).select("record.*")


def decoded(records: DataFrame, decode: Any) -> Frame:
    """The rows in the form of every Spark stage: the user's columns, what is carried, and `__out`."""
    from pyspark.sql import functions as F  # noqa: N812

    given = {
        "schema_id": F.lit(None).cast("int"),
        "timestamp_type": F.col("timestampType"),
        "headers": F.expr("CASE WHEN size(headers) > 0 THEN to_json(headers) END"),
    }
    values = [given[source] if source in given else F.col(source) for source in CARRIED.values()]
    carried = [value.alias(name) for name, value in zip(CARRIED, values, strict=True)]
    rows = records.select(*carried, F.col("headers").alias("__raw_headers"), _parsed(decode).alias("__data"))
    rows = rows.withColumns({"__out": _decode_verdict(decode), "__warned": F.lit(None).cast("string")})
    names = list(decode.column_types())
    data = [F.when(F.expr(LIVE), column("__data", name)).alias(name) for name in names]
    kept = [column(name) for name in rows.columns if name != "__data"]
    return Frame(rows.select(*data, *kept), tuple(names))


def _parsed(decode: Any) -> Column:
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import StringType, StructType

    if not isinstance(decode, Json):
        return F.struct(F.col("value").alias("value"))
    fields = StructType.fromDDL(decode.schema_)
    assert isinstance(fields, StructType), "a list of fields is a struct"
    schema = fields.add(CORRUPT, StringType())
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT, "allowSingleQuotes": "false"}
    return F.from_json(F.col("value").cast("string"), schema, options)


def _decode_verdict(decode: Any) -> Column:
    """The first thing that is wrong with a record's bytes, as far as Spark can tell."""
    from pyspark.sql import functions as F  # noqa: N812

    value, stage = F.col("__value"), "decode"
    mark = F.when(value.isNull(), out(stage, "tombstone", "The record has no value.", decode.tombstones))
    mark = mark.when(F.length(value) > decode.max_bytes.bytes, out(stage, "too_large", "The value is too large."))
    if not isinstance(decode, Json):
        return mark
    mark = mark.when(F.length(value) == 0, out(stage, "empty", "The value is empty."))
    mark = mark.when(~F.is_valid_utf8(value.cast("string")), out(stage, "invalid_utf8", "The value is not UTF-8."))
    wrong = column("__data").isNull() | column("__data", CORRUPT).isNotNull()
    told = "Spark's parser did not take it; which field is at fault it does not say."
    mark = mark.when(wrong, out(stage, "invalid_json", told))
    for path in _needed(decode.fields):
        missing = out(stage, "missing_field", "The field is missing or null, and must not be.")
        missing = missing.withField("field", F.lit("/" + "/".join(path)))
        mark = mark.when(_lacks(path), missing)
    return mark


def _needed(fields: Sequence[Field], above: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Paths of the fields that must be there, in structs too; inside lists and maps Spark does not look."""
    found = []
    for field in fields:
        path = (*above, field.name)
        if not field.nullable:
            found.append(path)
        found += _needed(field.type.fields, path)
    return found


def _lacks(path: tuple[str, ...]) -> Column:
    """The field is null, and what it stands in is not."""
    here = column("__data", *path).isNull()
    return here if len(path) == 1 else here & column("__data", *path[:-1]).isNotNull()


def _route(frame: Frame, to: Topic, where: str | None) -> Route:
    from pyspark.sql import functions as F  # noqa: N812

    route = Route(where=where, key=to.key, topic=to.topic_from, headers=to.headers)
    return learned(route, lambda text: frame.scope().select(F.expr(text)).schema[0].dataType.simpleString())


class _Sending:
    """One sink's record of each row, and what keeps it from being sent."""

    def __init__(self, name: str, to: Topic, frame: Frame, known: Outgoing) -> None:
        self.name, self.to, self.known = name, to, known
        self.columns = [each for each in frame.columns if not each.startswith("_")]
        self.route = ROUTE_PREFIX + name

    def record(self, pipeline: Pipeline) -> Column:
        """A struct: the record, null where the sink does not take the row; and why it cannot be sent, if so."""
        from pyspark.sql import functions as F  # noqa: N812

        topic = F.lit(self.to.topic) if self.to.topic_from is None else column(self.route, "topic")
        headers = F.concat(_lineage(pipeline), F.coalesce(column(self.route, "headers"), _none()))
        parts = {"topic": topic, "key": column(self.route, "key"), "value": self._value(), "headers": headers}
        record = F.struct(*(part.alias(name) for name, part in parts.items())).cast(RECORD_TYPE)
        taken = F.expr(LIVE) & column(self.route, "take")
        wrong = F.when(F.expr(LIVE) & column(self.route).isNull(), F.lit("step_failed"))
        wrong = wrong.when(taken & ~_known(topic, self.known.limits), F.lit("unknown_topic"))
        wrong = wrong.when(taken & (_size(parts) > _limit(topic, self.known.limits)), F.lit("too_large_out"))
        return F.struct(F.when(taken, record).alias("record"), wrong.alias("wrong"))

    def _value(self) -> Column:
        from pyspark.sql import functions as F  # noqa: N812

        if self.to.value == "raw":
            return column("__value")
        return F.to_json(F.struct(*map(column, self.columns)), JSON_OUT).cast("binary")


def _verdict(sinks: Mapping[str, _Sending]) -> Column:
    """Out as before; or the first sink that cannot take the row rejects the record."""
    from pyspark.sql import functions as F  # noqa: N812

    mark = F.when(column("__out").isNotNull(), column("__out"))
    for name in sinks:
        for code in SINK_CODES:
            verdict = out(f"sink:{name}", code, None)
            mark = mark.when(column(f"__sent_{name}", "wrong") == code, verdict)
    return mark


def _counted(pipeline: Pipeline) -> list[Column]:
    """What is told at each boundary: records read, and those that are out, by code."""
    from pyspark.sql import functions as F  # noqa: N812

    codes = [*DECODE_CODES, *SINK_CODES, *(check.name for check in pipeline.checks)]
    return [
        F.count(F.lit(1)).alias("read"),
        *(F.count_if(column("__out", "code") == code).alias(code) for code in codes),
    ]


def _letter(pipeline: Pipeline, known: Outgoing) -> Column:
    """The dead letter: the record as it came, with the reason in headers; without its value where that is too large."""
    from pyspark.sql import functions as F  # noqa: N812

    assert pipeline.dead_letters.kafka is not None, "held by the rules of real time"
    topic = pipeline.dead_letters.kafka.topic
    told = _told(pipeline, known)
    own = F.coalesce(column("__raw_headers"), _none())
    whole = {"key": column("_key"), "value": column("__value"), "headers": F.concat(own, told)}
    mark = F.array(
        _header("penstock.sha256", F.sha2(column("__value"), 256)),
        _header("penstock.size", F.length(column("__value")).cast("string")),
        _header("penstock.cut", F.lit("value, headers, key")),
    )
    cut = {"key": F.lit(None).cast("binary"), "value": F.lit(b""), "headers": F.concat(told, mark)}
    fits = _size(whole) <= known.limits[topic]
    parts = [F.when(fits, whole[name]).otherwise(cut[name]).alias(name) for name in whole]
    return F.struct(F.lit(topic).alias("topic"), *parts).cast(RECORD_TYPE)


def _told(pipeline: Pipeline, known: Outgoing) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    time = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'"
    values = {
        **{name: column("__out", name) for name in ("stage", "code", "field", "detail")},
        **{name: column(f"_{name}").cast("string") for name in ("topic", "partition", "offset")},
        "timestamp": F.date_format(column("_timestamp"), time),
        "pipeline": F.lit(pipeline.name),
        "generation": F.lit(str(known.generation)),
        "version": F.lit(__version__),
    }
    made = [F.when(value.isNotNull(), _header(f"penstock.{name}", value)) for name, value in values.items()]
    return F.array_compact(F.array(*made))


def _lineage(pipeline: Pipeline) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    values = {
        TOPIC: column("_topic"),
        PARTITION: column("_partition").cast("string"),
        OFFSET: column("_offset").cast("string"),
        PIPELINE: F.lit(pipeline.name),
    }
    return F.array(*(_header(name, value) for name, value in values.items()))


def _header(name: str, value: Column) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    return F.struct(F.lit(name).alias("key"), value.cast("binary").alias("value"))


def _none() -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    return F.array().cast(HEADERS_TYPE)


def _size(parts: Mapping[str, Column]) -> Column:
    """Bytes of the record, at most; as sinks/kafka/sizes.py counts them."""
    from pyspark.sql import functions as F  # noqa: N812

    def length(value: Column) -> Column:
        return F.coalesce(F.octet_length(value), F.lit(0))

    def plus(total: Column, header: Column) -> Column:
        return total + HEADER + length(header["key"]) + length(header["value"])

    headers = F.aggregate(parts["headers"], F.lit(0), plus)
    return F.lit(RECORD + NUMBER) + length(parts["key"]) + length(parts["value"]) + headers


def _known(topic: Column, limits: Mapping[str, int]) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    return F.coalesce(topic.isin(sorted(limits)), F.lit(False))


def _limit(topic: Column, limits: Mapping[str, int]) -> Column:
    """The topic's limit; one that few topics have is compared by name, all others are as the smallest of them."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.lit(min(limits.values())) if len(set(limits.values())) == 1 else _by_name(topic, limits)


def _by_name(topic: Column, limits: Mapping[str, int]) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    found = F.coalesce(*(F.when(topic == name, F.lit(limit)) for name, limit in sorted(limits.items())))
    return F.coalesce(found, F.lit(min(limits.values())))
