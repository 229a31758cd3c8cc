"""Who takes part: the tutorial's script, tuned Spark, hand-rolled loops, other frameworks, penstock, and two limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Literal

from bench.job import Job


@dataclass(frozen=True)
class Variant:
    """One way to do the main job."""

    title: str
    drain: str
    """`module:function`, called with the Job."""
    session: Literal["", "tutorial", "penstock"] = ""
    environment: dict[str, str] = field(default_factory=dict)
    peer: Literal["", "peers", "flink"] = ""
    """Runs in this environment of other frameworks (requirements-peers.lock, requirements-flink.lock)."""
    counted: bool = True
    """Leaves tables that can be counted; a limit leaves none."""
    group: Literal["main", "checks", "limit", "registry", "seeing"] = "main"

    @property
    def on_a_jvm(self) -> bool:
        """It compiles itself for a while: its first rounds say little."""
        return bool(self.session) or self.peer == "flink"

    def find(self) -> Callable[[Job], None]:
        module, _, name = self.drain.partition(":")
        found: Callable[[Job], None] = getattr(import_module(module), name)
        return found


WITHOUT_NATIVE = {"PENSTOCK_NATIVE": "0"}
ROSTER = {
    "T": Variant("the tutorial's script, in a tutorial's session", "bench.scripts:tutorial", "tutorial"),
    "S": Variant("the same script, in penstock's session", "bench.scripts:tutorial", "penstock"),
    "A": Variant("`from_json` once, behind observe(), in penstock's session", "bench.scripts:tuned", "penstock"),
    "O": Variant("a loop: confluent-kafka, orjson, deltalake", "bench.loops:by_orjson"),
    "L": Variant("a loop: confluent-kafka, pyarrow.json, deltalake", "bench.loops:by_pyarrow"),
    "L2": Variant("that loop in two processes", "bench.loops:in_two_processes"),
    "B": Variant("Bytewax, orjson, deltalake", "bench.peers:bytewax", peer="peers"),
    "Q": Variant("Quix Streams, orjson, deltalake", "bench.peers:quix", peer="peers"),
    "W": Variant("Pathway, orjson, deltalake", "bench.peers:pathway", peer="peers"),
    "F": Variant("PyFlink, orjson, deltalake", "bench.flink:pyflink", peer="flink"),
    "Y": Variant("penstock without its native decoder", "bench.ours:penstock", "penstock", WITHOUT_NATIVE),
    "P": Variant("penstock", "bench.ours:penstock", "penstock"),
    "PV": Variant("penstock, seen and unseen by turns", "bench.seeing:watched_by_turns", "penstock", group="seeing"),
    "TC": Variant("the script with two checks and a column", "bench.scripts:checked", "penstock", group="checks"),
    "PC": Variant("penstock with two checks and a column", "bench.ours:checked", "penstock", group="checks"),
    "PS": Variant(
        "the same, its SQL left to Spark", "bench.ours:checked", "penstock", {"PENSTOCK_ARROW_SQL": "0"}, group="checks"
    ),
    "N": Variant("limit: Spark reads alone", "bench.scripts:nowhere", "penstock", counted=False, group="limit"),
    "C": Variant("limit: confluent-kafka reads", "bench.loops:reads", counted=False, group="limit"),
    "AL": Variant(
        "a loop: confluent-kafka, AvroDeserializer, deltalake", "bench.registry_loops:avro", group="registry"
    ),
    "AP": Variant("penstock, Avro", "bench.ours:avro", "penstock", group="registry"),
    "AN": Variant(
        "limit: Spark reads alone", "bench.scripts:nowhere_avro", "penstock", counted=False, group="registry"
    ),
    "GL": Variant(
        "a loop: confluent-kafka, ProtobufDeserializer, deltalake", "bench.registry_loops:protobuf", group="registry"
    ),
    "GP": Variant("penstock, Protobuf", "bench.ours:protobuf", "penstock", group="registry"),
    "GN": Variant(
        "limit: Spark reads alone", "bench.scripts:nowhere_protobuf", "penstock", counted=False, group="registry"
    ),
}  # fmt: skip
QUICK = ("T", "S", "P")
