"""Who may import whom: the picture of the architecture page, held against the imports themselves.

cli, ui -> operate -> engine -> batch -> ledger, sources formats checks steps sinks -> the base
spec -> the base; never engine: `validate` works with no JVM running
everyone -> observe.events -> nothing
dev, testing -> anything; imported by nobody, but lazily by the cli and engine.run, for `brokers: dev`

Imports inside functions count. Those that only a type checker sees do not.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import penstock

ROOT = Path(penstock.__file__).parent

BASE = {
    "alarms", "brokers", "choice", "counting", "errors", "failpoints", "files", "hadoop", "meanings", "observing",
    "options", "origin", "pacing", "paths", "pipeline", "profiles", "ranges", "realtime", "registry", "rows", "rules",
    "scopes", "secret", "sql", "stages", "tally", "triggers", "unread", "verbs", "version",
}  # fmt: skip
CONTRACTS = {"formats.contract", "schemas.contract", "schemas.options", "sinks.contract"}
"""What components promise: values and protocols, without a component in them."""
COMPONENTS = {"sources", "formats", "checks", "steps", "sinks"}
BATCH = {"batch", "clock", "conserve", "plan", "report", "worker"}
ABOVE_BATCH = BASE | CONTRACTS | COMPONENTS | BATCH | {"ledger", "observe", "pace", "schemas"}
MAY_IMPORT: dict[str, set[str]] = {
    **dict.fromkeys(BASE, BASE | {"observe.metrics", "schemas.options"}),
    **dict.fromkeys(COMPONENTS, BASE),
    "formats": BASE | {"schemas.contract"},
    "sinks": BASE | {"formats.encode.contract", "formats.encode.json_values", "schemas.contract"},
    "steps": BASE | CONTRACTS | {"worker"},
    "ledger": BASE | CONTRACTS,
    "pace": BASE,
    "observe": BASE | CONTRACTS | {"ledger"},
    **dict.fromkeys(BATCH, BASE | CONTRACTS | COMPONENTS | BATCH | {"ledger"}),
    "schemas": BASE | CONTRACTS | {"formats"},
    "spec": BASE,
    "engine": ABOVE_BATCH,
    "operate": ABOVE_BATCH | {"engine", "spec"},
    "authoring": BASE | CONTRACTS | {"formats", "sources", "spec"},
    "ui": ABOVE_BATCH | {"engine", "operate", "spec"},
    "cli": ABOVE_BATCH | {"authoring", "engine", "operate", "spec", "ui"},
    "__main__": {"cli"},
    "__init__": set(),
}
ANYTHING = {"dev", "testing"}
LAZILY_DEV = {"cli", "engine.run", "operate.reaching"}


REACHES_UP = {"pipeline", "verbs"}
"""The value is also the handle: `Pipeline.run` and its like, lazily."""


class Import(NamedTuple):
    by: str
    """The module that imports, without `penstock.`."""
    of: str
    lazy: bool

    def __str__(self) -> str:
        return f"{self.by} imports {self.of}"


def modules() -> dict[str, Path]:
    names = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)] = path
    return names


def imports_of(name: str, path: Path, known: set[str]) -> Iterator[Import]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node, lazy in running(tree, lazy=False):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: write imports in full"
            targets = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            targets = [alias.name for alias in node.names]
        for target in targets:
            if target.split(".")[0] == "penstock":
                yield Import(name, nearest(target.removeprefix("penstock."), known), lazy)


def running(node: ast.AST, *, lazy: bool) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """Every import that can happen when the program runs."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, lazy
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            for other in child.orelse:
                yield from running(other, lazy=lazy)
        else:
            inner = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from running(child, lazy=lazy or inner)


def nearest(target: str, known: set[str]) -> str:
    """The module in `penstock.sinks.delta.Delta`: the longest beginning that is one."""
    while target not in known and "." in target:
        target = target.rpartition(".")[0]
    return target


ALL = modules()
IMPORTS = sorted({each for name, path in ALL.items() for each in imports_of(name, path, set(ALL))})


def unit(module: str) -> str:
    return module.split(".", maxsplit=1)[0]


def allowed(each: Import) -> bool:
    by, of = unit(each.by), unit(each.of)
    if each.lazy and by in REACHES_UP:
        return True
    if of == "dev" and each.lazy and (by in LAZILY_DEV or each.by in LAZILY_DEV):
        return True
    if by in ANYTHING:
        return True
    if by == of:
        return of != "observe" or each.by != "observe.events"
    return each.of in MAY_IMPORT[by] or of in MAY_IMPORT[by] or each.of == "observe.events"


def test_every_module_has_its_place_in_the_picture() -> None:
    assert {unit(name) for name in ALL} - set(MAY_IMPORT) - ANYTHING == set()


def test_imports_point_downwards() -> None:
    assert [str(each) for each in IMPORTS if not allowed(each)] == []


def test_the_reader_of_imports_sees_lazy_ones_and_leaves_out_those_for_types(tmp_path: Path) -> None:
    source = tmp_path / "module.py"
    source.write_text(
        "from typing import TYPE_CHECKING\n"
        "import penstock.engine.run\n"
        "if TYPE_CHECKING:\n    from penstock.dev import kafka\n"
        "def f():\n    from penstock.sinks.delta import Delta\n"
    )
    found = list(imports_of("spec.module", source, set(ALL)))
    assert found == [Import("spec.module", "engine.run", False), Import("spec.module", "sinks.delta", True)]
    assert [allowed(each) for each in found] == [False, False]


@pytest.mark.parametrize(
    ("by", "of", "lazy", "fine"),
    [
        ("spec.check", "pipeline", False, True),
        ("spec.check", "engine.run", True, False),
        ("sinks.delta", "sources.kafka", False, False),
        ("ledger.ledger", "sinks.contract", False, True),
        ("ledger.ledger", "sinks.delta", False, False),
        ("sinks.delta", "observe.events", False, True),
        ("sinks.delta", "observe.logs", False, False),
        ("observe.events", "observe.logs", False, False),
        ("engine.run", "dev.kafka", True, True),
        ("engine.run", "dev.kafka", False, False),
        ("engine.query", "dev.kafka", True, False),
        ("cli.run", "testing", True, False),
        ("pipeline", "formats.json", False, False),
        ("verbs", "engine.run", True, True),
        ("verbs", "engine.run", False, False),
        ("batch", "engine.run", True, False),
        ("testing.kafka", "dev.kafka", False, True),
    ],
)
def test_the_picture_says_what_it_should(by: str, of: str, lazy: bool, fine: bool) -> None:
    assert allowed(Import(by, of, lazy)) is fine


def test_the_public_names_are_listed_in_order_and_exist() -> None:
    assert penstock.__all__ == sorted(penstock.__all__)
    assert set(penstock.__all__) == {*penstock._HOME, "errors"}
    for name in penstock.__all__:
        assert getattr(penstock, name).__name__.rpartition(".")[2] == name
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = penstock.nothing_of_the_kind


def test_importing_penstock_loads_nothing_else() -> None:
    code = "import sys, penstock; print([name for name in sys.modules if name.startswith(('penstock.', 'pydantic'))])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=with_source())
    assert done.stdout.strip() == "[]"


def with_source() -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONPATH": str(ROOT.parent)}
