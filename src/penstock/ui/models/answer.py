"""What every answer is, and the one that says why there is none."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

Counts = dict[str, int]


class Answer(BaseModel):
    model_config = ConfigDict(frozen=True)


class Problem(Answer):
    """Why there is no answer, in words (RFC 9457)."""

    title: str
    status: int
    detail: str
