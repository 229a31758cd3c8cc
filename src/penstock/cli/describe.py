"""penstock describe: every part and key of a pipeline file, from the models that check it."""

from __future__ import annotations

import json as jsons
import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from penstock.spec.lookup import Answer
    from penstock.spec.sections import Key, Section


def describe(
    part: Annotated[
        list[str] | None,
        typer.Argument(help="A part or a key, like  delta,  pace,  source.kafka.start", show_default=False),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    json_schema: Annotated[
        bool, typer.Option("--json-schema", help="Print the JSON Schema of the pipeline file, for editors.")
    ] = False,
    profile: Annotated[
        str | None, typer.Option("--profile", help="Print the defaults of this profile: throughput or latency.")
    ] = None,
) -> None:
    """Explain a part of the pipeline file: its keys, their types and defaults. Without PART: list the parts."""
    if json_schema:
        from penstock.spec.schema import schema_text

        print(schema_text(), end="")
        return
    if profile is not None:
        print("\n".join(_profile(profile, as_json=json)))
        return
    if part == ["metrics"]:
        print("\n".join(_metrics(as_json=json)))
        return
    answer = _answer(".".join(part or ()), brief=not json)
    if json:
        print(jsons.dumps(_as_json(answer), indent=2, ensure_ascii=False))
    elif sys.stdout.isatty():
        _show(answer)
    else:
        print("\n".join(lines(answer)))


def _profile(name: str, *, as_json: bool) -> Iterator[str]:
    """The defaults of a profile, beside those of the other."""
    from penstock.choice import did_you_mean
    from penstock.profiles import PROFILES

    if name not in PROFILES:
        print(f"there is no profile `{name}`.{did_you_mean(name, PROFILES)}", file=sys.stderr)
        raise typer.Exit(2)
    keys, [other] = PROFILES[name].keys(), [each for each in PROFILES if each != name]
    if as_json:
        yield jsons.dumps({"profile": name, "defaults": keys}, indent=2)
        return
    yield f"profile {name}: chooses these defaults; a key that is written wins."
    width = max(map(len, keys))
    for key, value in keys.items():
        yield f"  {key:<{width}}  {value}  (in profile {other}: {PROFILES[other].keys()[key]})"
    if PROFILES[name].warm:
        yield "  Python workers are kept while nothing comes, so that the next record does not wait for their start."


def _metrics(*, as_json: bool) -> Iterator[str]:
    """Every metric: for alerts, Prometheus and OpenTelemetry."""
    from penstock.observe.metrics import METRICS

    if as_json:
        told = [{**asdict(metric), "prometheus": metric.exposed} for metric in METRICS.values()]
        yield jsons.dumps({"metrics": told}, indent=2)
        return
    yield "metrics: names as alerts take them; Prometheus has penstock_ before them, and _total after counters."
    width = max(map(len, METRICS))
    for metric in METRICS.values():
        facts = ", ".join(filter(None, (metric.kind, metric.unit, *(f"for each {name}" for name in metric.labels))))
        yield f"  {metric.name:<{width}}  ({facts})  {metric.about}"


def _answer(asked: str, *, brief: bool) -> Answer:
    from penstock.spec.lookup import Answer, look_up, nearest
    from penstock.spec.sections import sections

    if not asked:
        return _overview() if brief else Answer(sections())
    answer = look_up(asked)
    if answer is None:
        near = nearest(asked)
        hint = f"Did you mean `{near[0]}`?" if near else "See what there is:  penstock describe"
        print(f"there is no part or key `{asked}`. {hint}", file=sys.stderr)
        raise typer.Exit(2)
    return answer


def _overview() -> Answer:
    """The keys of the top level and every part, with one line each."""
    from penstock.spec.lookup import Answer
    from penstock.spec.sections import Key, Section, plain, sections

    top, *parts = sections()
    keys = tuple(Key(key.path, "", "", False, key.meaning) for key in top.keys)
    listed = tuple(Key(plain(each.path), "", "", False, each.about) for each in parts)
    hint = "keys of each:  penstock describe source.kafka"
    return Answer((Section("", top.about, keys), Section("Parts", hint, listed)))


def _as_json(answer: Answer) -> dict[str, object]:
    return {
        **({"text": answer.text} if answer.text else {}),
        **({"keys": [asdict(key) for key in answer.keys]} if answer.keys else {}),
        "parts": [section.as_json() for section in answer.sections],
    }


def lines(answer: Answer) -> Iterator[str]:
    """One line a key, with its whole path: for pipes, and for `grep`."""
    if answer.text:
        yield answer.text
    for key in answer.keys:
        yield _line(key, len(key.path))
    for number, section in enumerate(answer.sections):
        if number or answer.keys:
            yield ""
        yield f"{section.title}: {section.about}"
        width = max(len(key.path) for key in section.keys)
        yield from (f"  {_line(key, width)}" for key in section.keys)


def _line(key: Key, width: int) -> str:
    facts = "; ".join(fact for fact in (_type(key), _standing(key)) if fact)
    return f"{key.path:<{width}}  {f'({facts})  ' if facts else ''}{key.meaning}"


def _type(key: Key) -> str:
    return key.type.replace("map, see below", "map")


def _standing(key: Key) -> str:
    if key.required or key.default == "exactly one sort":
        return key.standing
    return f"default {key.default}" if key.default and key.default != "see below" else ""


def _show(answer: Answer) -> None:
    """The same as tables, on a terminal."""
    from rich.console import Console

    console = Console(highlight=False)
    if answer.text:
        console.print(answer.text, markup=False)
    for key in answer.keys:
        console.print(f"{key.path}  ({_type(key)})", style="bold", markup=False)
        console.print(f"  {_standing(key)}\n  {key.meaning}" if _standing(key) else f"  {key.meaning}", markup=False)
    for section in answer.sections:
        console.print(_table(section))


def _table(section: Section) -> object:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    title = Text(f"{section.title}: {section.about}", style="bold")
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", title_style="", pad_edge=False)
    facts = any(key.type for key in section.keys)
    table.add_column("key", no_wrap=True, style="bold")
    if facts:
        table.add_column("type", ratio=2, overflow="fold")
        table.add_column("default", ratio=1, overflow="fold")
    table.add_column("meaning", ratio=3)
    for key in section.keys:
        standing = "required" if key.required else _standing(key).removeprefix("default ")
        middle = [Text(_type(key)), Text(standing)] if facts else []
        name = key.name if facts else key.path
        table.add_row(Text(name), *middle, Text(key.meaning))
    return table
