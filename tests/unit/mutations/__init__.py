"""Pipeline files with one mistake each, made from right ones: what was changed, where it is told, in which words."""

from __future__ import annotations

from tests.unit.mutations.as_yaml import YAML
from tests.unit.mutations.examples import CANARY, EXAMPLES
from tests.unit.mutations.mistake import Mutation, made
from tests.unit.mutations.references import REFERENCES
from tests.unit.mutations.rows import MEANING, STAGES
from tests.unit.mutations.structure import CHOICES, MISSING, TYPES
from tests.unit.mutations.systematic import systematic
from tests.unit.mutations.values import FORMS, PATHS

__all__ = ["CANARY", "EXAMPLES", "MUTATIONS", "Mutation"]

BY_HAND = [*MISSING, *TYPES, *CHOICES, *FORMS, *PATHS, *STAGES, *MEANING, *REFERENCES, *YAML]
MUTATIONS = [*made(BY_HAND), *systematic()]
