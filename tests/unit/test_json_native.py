"""The native JSON decoder: the same in everything as the one in Python, and used only where it fits."""

from __future__ import annotations

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest
from native.fuzz.compare import difference
from tests.unit.json_corpus_kit import CASES, Case, groups
from tests.unit.json_decoder_kit import HARD, NESTED, SCHEMA
from tests.unit.json_decoders import native_decoder  # noqa: F401  a fixture

from penstock.cli.version import version
from penstock.formats.json import Json
from penstock.formats.json import native as json_native
from penstock.formats.json.columns import JsonDecoder
from penstock.formats.json.native import NativeJsonDecoder
from penstock.formats.schemas import parse_ddl
from penstock.version import __version__

ROOT = Path(__file__).parents[2]


def agree(schema: str, values: list[bytes | None], **options: Any) -> None:
    """Both decoders give the same batch, verdicts with their sentences, and counts."""
    fields = parse_ddl(schema)
    settings = {"max_bytes": 1 << 24, **options}
    array = pa.array([b"before", *values, b"behind"], pa.binary()).slice(1, len(values))
    ours, theirs = (kind(fields, **settings).decode(array) for kind in (NativeJsonDecoder, JsonDecoder))
    assert difference(fields, ours, theirs) is None


def settings_of(case: Case) -> dict[str, Any]:
    chosen = case.format()
    return {
        "unknown_fields": chosen.unknown_fields,
        "tombstones": chosen.tombstones,
        "max_bytes": chosen.max_bytes.bytes,
    }


@pytest.mark.usefixtures("native_decoder")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_case_of_the_corpus_is_decoded_the_same_alone(case: Case) -> None:
    agree(case.schema, [case.value], **settings_of(case))


@pytest.mark.usefixtures("native_decoder")
@pytest.mark.parametrize("group", groups())
def test_all_cases_of_a_schema_are_decoded_the_same_in_one_batch(group: list[Case]) -> None:
    agree(group[0].schema, [case.value for case in group], **settings_of(group[0]))


@pytest.mark.usefixtures("native_decoder")
@pytest.mark.parametrize("unknown_fields", ["ignore", "keep", "reject"])
@pytest.mark.parametrize("case", [case for case in CASES if len(case.value or b"") < 200], ids=str)
def test_a_case_cut_anywhere_is_decoded_the_same(case: Case, unknown_fields: str) -> None:
    value = case.value or b""
    agree(case.schema, [value[:end] for end in range(len(value))], unknown_fields=unknown_fields)


@pytest.mark.usefixtures("native_decoder")
@pytest.mark.parametrize("value", HARD.values(), ids=HARD.keys())
def test_a_hard_value_is_judged_in_the_same_words(value: bytes) -> None:
    agree(SCHEMA, [value, b'{"id":1}'])


@pytest.mark.usefixtures("native_decoder")
def test_what_is_not_null_inside_has_a_filler_where_a_record_is_out() -> None:
    schema = NESTED + ", m MAP<STRING, STRUCT<q: INT NOT NULL>>, z STRUCT<m: MAP<STRING, INT> NOT NULL>"
    agree(schema, [b'{"id":1}', b"oops", None, b'{"id":3,"l":[null],"m":{"a":null}}'])
    decoded = Json(schema=schema).decoder().decode(pa.array([b"oops"], pa.binary()))
    inside = decoded.data.column("s")
    assert [inside.field(place).null_count for place in range(3)] == [0, 0, 0]


@pytest.mark.usefixtures("native_decoder")
def test_a_record_that_fails_late_leaves_nothing_behind_in_any_column() -> None:
    schema = "l ARRAY<STRUCT<s: STRING, m: MAP<STRING, ARRAY<INT>>>>, b BINARY, o BOOLEAN, x DOUBLE NOT NULL"
    good = b'{"l":[{"s":"a","m":{"k":[1,2]}},{"s":"b"}],"b":"aGk=","o":true,"x":1}'
    values = [good, good[:-6] + b'"x":null}', good, good.replace(b"[1,2]", b'[1,2,"3"]'), good]
    agree(schema, [*values, *values])


@pytest.mark.usefixtures("native_decoder")
def test_many_unknown_names_are_counted_alike() -> None:
    values: list[bytes | None] = [b'{"id":1,"u%d":1,"again":2,"s":{"x":1,"y":%d}}' % (i, i) for i in range(300)]
    agree("id BIGINT, s STRUCT<y: INT>", values)
    mixed = b'{"l":[{"c%d":1,"in":{"d%d":1}}],"u%d":1,"s":{"a%d":1,"y":1,"b%d":1},"v%d":1}'
    agree("s STRUCT<y: INT>, l ARRAY<STRUCT<in: STRUCT<z: INT>>>", [mixed % ((i,) * 6) for i in range(300)])
    agree(
        "id BIGINT", [b"{" + b",".join(b'"k%d":%d' % (i % 70, i) for i in range(count)) + b"}" for count in range(75)]
    )


@pytest.mark.usefixtures("native_decoder")
def test_threads_may_share_a_decoder() -> None:
    decoder = Json(schema="id BIGINT").decoder()
    batches = [pa.array([b'{"id":%d}' % (i * n) for i in range(5000)], pa.binary()) for n in range(8)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(decoder.decode, batches))
    assert [one.data.column("id").to_pylist() for one in found] == [[i * n for i in range(5000)] for n in range(8)]


@pytest.mark.usefixtures("native_decoder")
def test_values_of_another_type_and_schemas_it_does_not_know_are_refused() -> None:
    native = json_native.choice().module
    assert native is not None
    with pytest.raises(TypeError, match="no column of"):
        native.JsonDecoder(pa.schema([pa.field("t", pa.time32("s"))]), unknown_fields="ignore", max_bytes=1)
    with pytest.raises(ValueError, match="ignore, keep or reject"):
        native.JsonDecoder(pa.schema([pa.field("t", pa.string())]), unknown_fields="guess", max_bytes=1)
    decoder = native.JsonDecoder(pa.schema([pa.field("t", pa.string())]), unknown_fields="ignore", max_bytes=1)
    with pytest.raises(TypeError, match="values must be binary"):
        decoder.decode(pa.array(["text"]))


@pytest.mark.usefixtures("native_decoder")
def test_version_says_that_it_is_in_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert isinstance(Json(schema="id BIGINT").decoder(), NativeJsonDecoder)
    version()
    assert f"JSON decoder native {__version__})" in capsys.readouterr().out


def test_it_can_be_turned_off(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PENSTOCK_NATIVE", "0")
    assert isinstance(Json(schema="id BIGINT").decoder(), JsonDecoder)
    version()
    assert "JSON decoder pyarrow, as PENSTOCK_NATIVE=0 says)" in capsys.readouterr().out


@pytest.fixture
def looked_for_anew(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.delenv("PENSTOCK_NATIVE", raising=False)
    json_native._found.cache_clear()
    yield
    json_native._found.cache_clear()


@pytest.mark.usefixtures("looked_for_anew")
def test_one_of_another_version_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    other = ModuleType("penstock_native")
    other.__version__ = "0.0.1"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "penstock_native", other)
    assert isinstance(Json(schema="id BIGINT").decoder(), JsonDecoder)
    assert json_native.choice().why == "pyarrow, as penstock_native is of version 0.0.1; mend it with  make native"


@pytest.mark.usefixtures("looked_for_anew")
def test_without_it_json_is_decoded_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_native, "MODULE", "penstock_native_that_is_not_there")
    assert isinstance(Json(schema="id BIGINT").decoder(), JsonDecoder)
    assert json_native.choice().why == "pyarrow"


def test_where_there_is_no_cargo_the_build_says_so_in_a_line_and_ends_well(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "scripts" / "native.py")]
    bare = {"PATH": str(tmp_path), "CARGO_HOME": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=bare)
    assert re.fullmatch(
        r"native: no cargo of version 1\.\d+ or newer here, so JSON is decoded in Python\..*\n", done.stdout
    )
    assert done.stderr == ""


def test_the_crate_has_the_version_of_penstock() -> None:
    lines = (ROOT / "native" / "Cargo.toml").read_text().splitlines()
    assert any(line.startswith(f'version = "{__version__}"') for line in lines)
    lock = (ROOT / "native" / "Cargo.lock").read_text()
    assert f'name = "penstock-native"\nversion = "{__version__}"' in lock


def test_the_crate_has_no_unsafe_code_of_its_own() -> None:
    sources = list((ROOT / "native" / "src").glob("*.rs"))
    assert "#![forbid(unsafe_code)]" in (ROOT / "native" / "src" / "lib.rs").read_text().splitlines()
    assert [path.name for path in sources if "unsafe {" in path.read_text()] == []
