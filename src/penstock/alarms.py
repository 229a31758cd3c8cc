"""The `alerts` and `notify` sections: when somebody is to be told, and how."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict

from penstock.choice import did_you_mean
from penstock.observe.metrics import METRICS, Metric
from penstock.options import Duration, Field, Name, Noun, Options, Size, Wrong, all_of, detail
from penstock.secret import Secret

BUILT_IN = (
    "lag_growing", "burst", "hot_partition", "stuck_batch", "waiting", "reject_rate", "retention", "records_gone",
    "small_files", "no_data", "run_failed",
)  # fmt: skip
"""Alerts that every pipeline has."""
NEVER = "never"
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
_LIKE = "Write it like  lag_seconds > 5 minutes"


@dataclass(frozen=True)
class Condition:
    """A metric against a number: `lag_seconds > 5 minutes`."""

    metric: Metric
    sign: str
    value: float
    text: str

    @classmethod
    def of(cls, text: str) -> Condition:
        """Raises Wrong where it cannot be read."""
        match = re.fullmatch(r"\s*([a-z_]+)\s*(>=|<=|>|<)\s*(\S.*?)\s*", text)
        if not match:
            raise Wrong("needs a metric, one of `>` `>=` `<` `<=`, and a number.", _LIKE)
        name, sign, written = match.groups()
        name = name.removeprefix("penstock_").removesuffix("_total")
        if name not in METRICS:
            raise Wrong(f"there is no metric `{name}`.{did_you_mean(name, METRICS) if _near(name) else ''}", _LIST)
        return cls(METRICS[name], sign, _number(written, METRICS[name]), f"{name} {sign} {written}")

    def holds(self, value: float) -> bool:
        return _COMPARE[self.sign](value, self.value)


_LIST = "List them:  penstock describe metrics"


def _near(name: str) -> bool:
    return "Did you mean" in did_you_mean(name, METRICS)


def _number(written: str, metric: Metric) -> float:
    """`100`, `0.05`; with a unit where the metric has one."""
    if re.fullmatch(r"[0-9][0-9_]*(\.[0-9]+)?", written):
        return float(written.replace("_", ""))
    if metric.kind == "gauge" and metric.unit == "seconds":
        return Duration(written).seconds
    if metric.kind == "gauge" and metric.unit == "bytes":
        return float(Size(written).bytes)
    raise Wrong(f"`{metric.name}` is compared with a number.", f"Write it like  {metric.name} > 100")


def _when(value: str) -> str:
    if value.strip() == NEVER:
        return NEVER
    return Condition.of(value).text


def _clear(value: str) -> str:
    return Condition.of(value).text


Comparison = Noun("METRIC > VALUE", references=False)


class Alert(Options):
    """When somebody is to be told. A name of a built-in alert changes that one: `{name: burst, when: never}`."""

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=False)

    name: Name = Field(description="What the alert is called; each name once.")
    when: Annotated[str, AfterValidator(_when), Comparison] | None = Field(
        None,
        description="A metric against a number, a duration or a size, or `never`. Of a counter: its growth a second, "
        "over five minutes. Metrics: `penstock describe metrics`. A built-in alert has its own.",
    )
    for_: Duration | None = Field(
        None, alias="for", description="How long that must hold. Default `1 minute`, of a built-in alert its own."
    )
    clear: Annotated[str, AfterValidator(_clear), Comparison] | None = Field(
        None, description="When it is over. Without it: once `when` has not held for as long as `for` says."
    )
    notify: tuple[Name, ...] | None = Field(
        None, strict=False, description="Names of `notify`. Default `all of them`. The log is always told."
    )

    @classmethod
    def between(cls, given: Mapping[str, Any]) -> Iterator[Wrong]:
        name = given.get("name")
        if given.get("when") is None and isinstance(name, str) and name not in BUILT_IN:
            known = did_you_mean(name, BUILT_IN)
            yield Wrong(f"`{name}` is no built-in alert, so it needs `when`.{known}", _LIKE, at=("name",))


class Webhook(Options):
    """An HTTP endpoint that each alert is POSTed to."""

    url: Secret = Field(description="Where to. A secret, because such addresses usually let anybody write.")
    body: str | None = Field(
        None,
        description="What is sent, with `{{text}}`, `{{alert}}`, `{{pipeline}}`, `{{event}}`, `{{cause}}`, `{{next}}`, "
        "`{{value}}`, `{{at}}` filled in, safe inside JSON text. Default `the whole event as JSON`.",
    )
    headers: dict[str, Secret] = Field(default_factory=dict, description="Headers beside it: secrets.")


class ToWebhook(Options):
    """Alerts are POSTed as JSON, or as a text of your own."""

    webhook: Webhook = Field(description="Where to, and what is sent.")


class ToCommand(Options):
    """A command is started for each alert, with the event as JSON on its input."""

    command: tuple[str, ...] = Field(
        strict=False,
        min_length=1,
        description="Program and arguments, started in the folder of the file; no shell reads "
        "them. It may take 30 seconds.",
    )


def _notifier(value: object) -> object:
    """`log`, `{webhook: {...}}` or `{command: [...]}`."""
    kinds: dict[str, type[Options]] = {"webhook": ToWebhook, "command": ToCommand}
    if value == "log" or isinstance(value, ToWebhook | ToCommand):
        return value
    if isinstance(value, dict) and len(value) == 1 and next(iter(value)) in kinds:
        return kinds[next(iter(value))].model_validate(value)
    words = ("log", *kinds)
    if isinstance(value, dict):
        strange = [word for word in value if word not in kinds]
        wrongs = [detail(Wrong(f"no such notifier.{did_you_mean(word, words)}"), (word, "[key]")) for word in strange]
        alone = Wrong("needs exactly one of `webhook` and `command`.", "Write it like  {webhook: {url: ...}}")
        raise all_of("notify", wrongs or [detail(alone)])
    hint = did_you_mean(value, words) if isinstance(value, str) else ""
    raise Wrong(f"needs `log`, `webhook` or `command`.{hint}", "Write it like  {webhook: {url: '${env:HOOK}'}}")


Notifier = Annotated[Literal["log"] | ToWebhook | ToCommand, BeforeValidator(_notifier)]


def disagreements(alerts: tuple[Alert, ...], notify: Mapping[str, object]) -> Iterator[Wrong]:
    """Names that are given twice, or that name nobody."""
    names = [alert.name for alert in alerts]
    for place, alert in enumerate(alerts):
        if alert.name in names[:place]:
            yield Wrong(f"`{alert.name}` is there twice.", "Give each alert a name of its own.", at=(place, "name"))
        for number, name in enumerate(alert.notify or ()):
            if name not in notify and name != "log":
                known = did_you_mean(name, notify) or " `notify` is empty."
                yield Wrong(f"there is no notifier `{name}`.{known}", at=(place, "notify", number))
