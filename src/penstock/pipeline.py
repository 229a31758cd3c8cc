"""Pipeline: one value, whether a YAML file or Python built it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, ValidationError, ValidationInfo, field_validator, model_validator

from penstock import alarms, pacing, realtime, rules, scopes
from penstock.alarms import Alert, Notifier
from penstock.choice import Choice
from penstock.errors import InvalidPipeline
from penstock.observing import Observe
from penstock.options import Field, Name, Options, Text, Wrong
from penstock.pacing import Pace
from penstock.paths import StatePath, Table, absolute, is_remote, located
from penstock.profiles import PROFILES, ProfileName, with_defaults
from penstock.registry import formats, sinks, sources
from penstock.schemas.options import RegistryOptions, SchemaChanges
from penstock.sql.fields import RuleText
from penstock.stages import Check, Step, named
from penstock.triggers import RealTime, Trigger
from penstock.verbs import Verbs


class Sink(Options):
    """Where rows go: exactly one sort of sink, and which rows it takes.

    In Python: `Sink(to=Delta(...))` or `Sink(delta=Delta(...))`.
    """

    to: Annotated[Any, Choice(sinks)] = Field(description="The sort of sink and its settings.")
    where: RuleText | None = Field(
        None, description="Rows that this sink takes: those for which this is true. The rest count as `not_routed`."
    )

    @model_validator(mode="before")
    @classmethod
    def _one_sort(cls, value: Any) -> Any:
        """`{delta: {...}}` is the choice of one part, written without a key of its own."""
        if not isinstance(value, dict) or "to" in value:
            return value
        sorts = {key: body for key, body in value.items() if key in sinks}
        return {**{key: body for key, body in value.items() if key not in sorts}, **({"to": sorts} if sorts else {})}


class DeadLetterTopic(Options):
    """Rejected records as they came, with the reason in headers `penstock.*`, inside the batch's transaction."""

    topic: str = Field(min_length=1, description="The topic. It must exist: penstock creates none.")


class DeadLetters(Options):
    """Where rejected records go. This cannot be switched off."""

    delta: Table = Field("", description="A Delta table. Default: `<state>/dead_letters`, unless `kafka` is given.")
    kafka: DeadLetterTopic | None = Field(None, description="A topic on the source's brokers.")


class Pipeline(Verbs, Options):  # type: ignore[misc]  # `validate` was a name of pydantic's first version
    """A whole pipeline: read, decode, write, exactly once.

    Every path is absolute once the value is made. The fields stand in the order in which they are checked: a rule
    about two of them sits with the later one, so that it is heard even where a third is wrong.
    """

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=False)

    def __init__(self, **sections: Any) -> None:
        try:
            super().__init__(**sections)
        except ValidationError as error:
            from penstock.spec import problems_of

            raise InvalidPipeline(list(problems_of(error))) from None

    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]  # a file's value is not made through it

    folder: Path = Field(
        default_factory=Path.cwd,
        exclude=True,
        description="Relative paths start here. Python only: a file has its own.",
    )
    name: Name = Field(
        alias="pipeline",
        description="Identity: in idempotence keys and the consumer group. Renaming makes another pipeline.",
    )
    state: StatePath = Field(
        default_factory=lambda made: str(Path(made["folder"], "state", made["name"])),
        description="Checkpoint, ledger, frozen batches, progress. Default `./state/<pipeline>`. A folder of this "
        "machine, or `hdfs://host:port/folder`: then name a place for `dead_letters` too.",
    )
    profile: ProfileName = Field(
        "throughput", description="Chooses defaults only; a key that is written wins. See `describe --profile latency`."
    )
    source: Annotated[Any, Choice(sources)] = Field(description="Where records come from.")
    registry: RegistryOptions | None = Field(None, description="The schema registry, for `decode` and for sinks.")
    decode: Annotated[Any, Choice(formats)] = Field(description="How a record's bytes become columns.")
    schema_changes: SchemaChanges = Field(SchemaChanges(), description="What happens when a producer's schema changes.")
    checks: tuple[Check, ...] = Field((), strict=False, description="Rules on decoded fields, in order.")
    steps: tuple[Step, ...] = Field((), strict=False, description="Row-wise transformations, in order.")
    sinks: dict[Name, Sink] = Field(min_length=1, description="Where rows go, by name; written in this order.")
    dead_letters: DeadLetters = Field(
        default_factory=lambda made: DeadLetters.model_validate(rules.default_letters(made.get("state", ""))),
        validate_default=True,
        description="Where rejected records go.",
    )
    trigger: Trigger = Field(
        default_factory=lambda made: PROFILES[made.get("profile", "throughput")].trigger,
        description="When a batch starts. Default `{every: 10 seconds}`, in profile latency `as_fast_as_possible`.",
    )
    pace: Pace = Field(default_factory=Pace, validate_default=True, description="How large a batch may be.")
    observe: Observe = Field(Observe(), description="How the pipeline shows itself.")
    notify: dict[Name, Notifier] = Field(
        default_factory=dict, description="Who is told of alerts, by name: `log`, a webhook, a command."
    )
    alerts: tuple[Alert, ...] = Field((), strict=False, description="When they are told, beside the built-in alerts.")
    spark: dict[str, Text] = Field(default_factory=dict, description="Spark settings, as Spark names them.")

    @field_validator("folder")
    @classmethod
    def _absolute_folder(cls, folder: Path) -> Path:
        return Path(absolute(str(folder), Path.cwd()))

    @field_validator("state")
    @classmethod
    def _absolute_state(cls, state: str, info: ValidationInfo) -> str:
        return absolute(state, info.data["folder"]) if "folder" in info.data else state

    @field_validator("registry")
    @classmethod
    def _registry_found(cls, given: RegistryOptions | None, info: ValidationInfo) -> RegistryOptions | None:
        return located(given, info.data["folder"]) if given is not None and "folder" in info.data else given

    @field_validator("decode")
    @classmethod
    def _decode_agrees(cls, given: Any, info: ValidationInfo) -> Any:
        rules.hold("decode", rules.decode(given, info.data))
        return given

    @field_validator("checks")
    @classmethod
    def _checks_agree(cls, given: tuple[Check, ...], info: ValidationInfo) -> tuple[Check, ...]:
        rules.hold("checks", scopes.checks(given, info.data.get("decode")))
        return given

    @field_validator("steps")
    @classmethod
    def _steps_agree(cls, given: tuple[Step, ...], info: ValidationInfo) -> tuple[Step, ...]:
        steps = named(given)
        rules.hold("steps", scopes.steps(steps, info.data.get("decode"), info.data.get("checks", ())))
        return steps

    @field_validator("sinks")
    @classmethod
    def _sinks_agree(cls, given: dict[str, Sink], info: ValidationInfo) -> dict[str, Sink]:
        if "folder" not in info.data:
            return given
        placed = {
            name: sink.model_copy(update={"to": located(sink.to, info.data["folder"])}) for name, sink in given.items()
        }
        parts = {name: sink.to for name, sink in placed.items()}
        # where the steps are wrong, what they would give is not known: it must not be judged by what `decode` gives
        seen = scopes.final(info.data.get("decode") if "steps" in info.data else None, info.data.get("steps", ()))
        wrongs = rules.sinks(parts, seen, info.data.get("decode"), info.data.get("state"))
        among_topics = rules.topics(info.data.get("source"), parts)
        widened = rules.widening(info.data.get("schema_changes"), parts)
        valued = rules.values(info.data["registry"], parts) if "registry" in info.data else ()
        rules.hold("sinks", [*wrongs, *among_topics, *widened, *valued, *scopes.routes(placed, seen)])
        return placed

    @field_validator("dead_letters")
    @classmethod
    def _dead_letters_apart(cls, given: DeadLetters, info: ValidationInfo) -> DeadLetters:
        if "folder" not in info.data or "state" not in info.data:
            return given
        placed = located(given, info.data["folder"])
        if not placed.delta and placed.kafka is None:
            rules.hold("dead_letters", rules.dead_letters_have_a_place(info.data["state"]))
            placed = placed.model_copy(update={"delta": rules.default_dead_letters(info.data["state"])})
        parts = {name: sink.to for name, sink in info.data.get("sinks", {}).items()}
        if placed.delta:
            rules.hold("dead_letters", rules.dead_letters(placed.delta, parts, info.data["state"]))
        return placed

    @field_validator("trigger")
    @classmethod
    def _can_be_real_time(cls, trigger: Any, info: ValidationInfo) -> Any:
        if isinstance(trigger, RealTime):
            rules.hold("trigger", realtime.misfits(info.data))
        return trigger

    @field_validator("pace")
    @classmethod
    def _pace_can_be_held(cls, pace: Pace, info: ValidationInfo) -> Pace:
        rules.hold("pace", pacing.disagreements(info.data.get("trigger"), pace, info.data.get("source")))
        return with_defaults(pace, info.data.get("profile", "throughput"))

    @field_validator("alerts")
    @classmethod
    def _alerts_agree(cls, given: tuple[Alert, ...], info: ValidationInfo) -> tuple[Alert, ...]:
        if "notify" in info.data:
            rules.hold("alerts", alarms.disagreements(given, info.data["notify"]))
        return given

    @property
    def workplace(self) -> Path:
        """Where logs, progress and a batch in hand lie on this machine: the state folder, unless that is elsewhere."""
        return Path(self.folder, ".penstock", "here", self.name) if is_remote(self.state) else Path(self.state)

    @classmethod
    def between(cls, given: Mapping[str, Any]) -> Iterator[Wrong]:
        yield from rules.spark(given.get("spark"))
