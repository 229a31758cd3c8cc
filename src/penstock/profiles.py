"""Profiles: two sets of defaults. A key that is written wins over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from penstock.options import Duration
from penstock.pacing import Pace
from penstock.triggers import Every

ProfileName = Literal["throughput", "latency"]


@dataclass(frozen=True)
class Profile:
    """The defaults of one profile."""

    trigger: Literal["as_fast_as_possible", "available_now"] | Every
    batch_target: Duration
    warm: bool
    """Whether Python workers are kept while nothing comes; Spark ends them after an idle minute."""

    def keys(self) -> dict[str, str]:
        """Key of the pipeline file -> its default under this profile, as the file spells it."""
        trigger = self.trigger if isinstance(self.trigger, str) else f"{{every: {self.trigger.every.text}}}"
        return {"trigger": trigger, "pace.batch_target": self.batch_target.text}


PROFILES: dict[str, Profile] = {
    "throughput": Profile(Every(every=Duration("10 seconds")), Duration("20 seconds"), warm=False),
    "latency": Profile("as_fast_as_possible", Duration("1 second"), warm=True),
}


def with_defaults(pace: Pace, profile: str) -> Pace:
    """The same pace; what it does not say is as the profile has it."""
    if "batch_target" in pace.model_fields_set or pace.freshness is not None:
        return pace
    return pace.model_copy(update={"batch_target": PROFILES[profile].batch_target})
