"""`vars` and `environments`: one file for every stage of deployment.

`--env prod` lays `environments.prod` over `vars`, `--set name=value` lays over both. They are keys of the file alone:
a Pipeline holds what they stand for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from pydantic import ConfigDict

from penstock.choice import did_you_mean
from penstock.options import Field, Name, Options, Text, Wrong
from penstock.secret import Reference, pieces
from penstock.spec.problems import Path, Place
from penstock.spec.tree import Found, Node

NOWHERE = Place(0, 0)


class FileKeys(Options):
    """Keys of a file that a Pipeline in Python does not have."""

    model_config = ConfigDict(defer_build=True)  # most files have none, and `validate` is quick

    vars: dict[Name, Text] = Field(
        default_factory=dict,
        description="Texts by name, for `${var:NAME}`. They may hold references themselves.",
    )
    environments: dict[Name, dict[Name, Text]] = Field(
        default_factory=dict,
        description="Environment -> vars that `--env NAME` lays over `vars`; `--set name=value` lays over both.",
    )


class Variable(NamedTuple):
    """One text with a name, and where it was written."""

    text: str
    place: Place
    path: Path

    def problem(self, wrong: Wrong) -> Found:
        return self.place, self.path, wrong.what, wrong.remedy


class Unknown(Exception):
    """A variable has no value; why not is told at its own place."""


@dataclass(frozen=True)
class Variables:
    """What `${var:NAME}` stands for in this call."""

    chosen: Mapping[str, Variable]
    written: tuple[Variable, ...]
    """Every text of `vars` and of all environments, chosen or not."""
    homes: Mapping[str, tuple[str, ...]]
    """Variable -> the environments that set it."""
    found: list[Found]
    """What is wrong with them. The same problem may be noted more than once."""

    def text(self, name: str, read: Callable[[Reference], str], within: tuple[str, ...] = ()) -> str:
        """What this variable stands for, its references read. Raises Wrong if there is none, else Unknown."""
        if name not in self.chosen:
            raise self.missing(name)
        variable = self.chosen[name]
        if name in within:
            self._cycle(within[within.index(name) :])
            raise Unknown
        try:
            return "".join(
                piece if isinstance(piece, str) else self._value(piece, read, (*within, name))
                for piece in pieces(variable.text)
            )
        except Wrong as wrong:
            self.found.append(variable.problem(wrong))
            raise Unknown from None

    def _value(self, reference: Reference, read: Callable[[Reference], str], within: tuple[str, ...]) -> str:
        return self.text(reference.name, read, within) if reference.kind == "var" else read(reference)

    def missing(self, name: str) -> Wrong:
        if name in self.homes:
            first = self.homes[name][0]
            remedy = f"Choose one with  --env {first}  or give it a value under `vars`."
            return Wrong(f"the variable `{name}` has a value only in some environments.", remedy)
        known = [*self.chosen, *self.homes]
        hint = did_you_mean(name, dict.fromkeys(known)) if known else ""
        return Wrong(f"there is no variable `{name}`.{hint}", "" if hint else f"Declare it:  vars: {{{name}: ...}}")

    def _cycle(self, names: tuple[str, ...]) -> None:
        first = names.index(min(names))
        turned = [*names[first:], *names[:first]]
        way = " -> ".join(f"`{name}`" for name in [*turned, turned[0]])
        self.found.append(self.chosen[turned[0]].problem(Wrong(f"contains itself: {way}.", "Break the circle.")))

    def look(self) -> None:
        """Note what is wrong with the texts as they are written, without reading anything outside the file."""
        for variable in self.written:
            try:
                names = [piece.name for piece in pieces(variable.text) if _is_var(piece)]  # type: ignore[union-attr]
                for name in names:
                    if name not in self.chosen and name not in self.homes:
                        raise self.missing(name)
            except Wrong as wrong:
                self.found.append(variable.problem(wrong))
        for name in self.chosen:
            try:
                self.text(name, lambda _: "")
            except Unknown:
                continue


def _is_var(piece: str | Reference) -> bool:
    return isinstance(piece, Reference) and piece.kind == "var"


def take_variables(root: Node, env: str | None, given: Mapping[str, str]) -> Variables:
    """The variables of a file for this environment; their keys are taken out of the tree."""
    base = _texts(root.children.get("vars"), ("vars",))
    environments = root.children.get("environments")
    layers = {
        str(name): _texts(node, ("environments", name))
        for name, node in (environments.children.items() if environments else ())
    }
    homes: dict[str, tuple[str, ...]] = {}
    for layer, texts in layers.items():
        homes |= {name: (*homes.get(name, ()), layer) for name in texts}
    sets = {name: Variable(text, root.keys.get("vars", NOWHERE), ("vars", name)) for name, text in given.items()}
    chosen = {**base, **layers.get(env or "", {}), **sets}
    written = (*base.values(), *(variable for texts in layers.values() for variable in texts.values()), *sets.values())
    variables = Variables(chosen, written, homes, [])
    variables.found.extend(_calls(root, env, given, layers, {*base, *homes}))
    variables.look()
    for key in FileKeys.model_fields:
        root.children.pop(key, None)
    return variables


def _calls(
    root: Node, env: str | None, given: Mapping[str, str], layers: Mapping[str, object], declared: set[str]
) -> Iterator[Found]:
    """What is wrong with `--env` and `--set`, told where the file could have known it."""
    if env is not None and env not in layers:
        place = root.keys.get("environments", NOWHERE)
        hint = did_you_mean(env, layers) if layers else ""
        remedy = "" if layers else f"Declare it:  environments: {{{env}: ...}}"
        yield place, ("environments",), f"there is no environment `{env}`.{hint}", remedy
    for name in given:
        if name not in declared:
            hint = did_you_mean(name, sorted(declared)) if declared else ""
            remedy = "" if declared else f"Declare it:  vars: {{{name}: ...}}"
            place = root.keys.get("vars", NOWHERE)
            yield place, ("vars",), f"there is no variable `{name}` to set.{hint}", remedy


def _texts(node: Node | None, path: Path) -> dict[str, Variable]:
    """Name -> text of one map; what is no text is told by FileKeys."""
    if node is None or node.kind != "map":
        return {}
    return {
        str(name): Variable(child.written, child.place, (*path, name))
        for name, child in node.children.items()
        if child.kind == "scalar"
    }
