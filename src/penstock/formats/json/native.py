"""The JSON decoder in Rust, where it is built: the same verdicts and values, several times as quick.

`make native` builds it. Nothing else knows about it: `decode: json` takes it where it fits, and the decoder in Python
where not. `PENSTOCK_NATIVE=0` in the environment turns it off.
"""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.version import __version__

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.formats.contract import Decoded, Decoder
    from penstock.formats.types import Field

MODULE = "penstock_native"
SWITCH = "PENSTOCK_NATIVE"


class Choice(NamedTuple):
    """Which decoder is in use."""

    module: Any | None
    """The native one, if it is."""
    why: str
    """As `penstock version` says it."""


def choice() -> Choice:
    """The native module if it is there, of this version, and not turned off."""
    if os.environ.get(SWITCH) == "0":
        return Choice(None, f"pyarrow, as {SWITCH}=0 says")
    return _found()


@cache
def _found() -> Choice:
    try:
        module = import_module(MODULE)
    except ModuleNotFoundError:
        return Choice(None, "pyarrow")
    except ImportError as error:  # built for another machine; pyarrow does the work, and `version` says why
        return Choice(None, f"pyarrow, as {MODULE} cannot be loaded: {error}")
    if module.__version__ != __version__:
        return Choice(None, f"pyarrow, as {MODULE} is of version {module.__version__}; mend it with  make native")
    return Choice(module, f"native {module.__version__}")


def json_decoder(
    fields: tuple[Field, ...], *, unknown_fields: str = "ignore", tombstones: str = "reject", max_bytes: int
) -> Decoder:
    """The native decoder where it is in use, else the one in Python: the same verdicts and values."""
    settings: dict[str, Any] = {"unknown_fields": unknown_fields, "tombstones": tombstones, "max_bytes": max_bytes}
    if choice().module:
        return NativeJsonDecoder(fields, **settings)
    from penstock.formats.json.columns import JsonDecoder

    return JsonDecoder(fields, **settings)


class NativeJsonDecoder:
    """Decodes batches of values. It keeps nothing from one batch to the next."""

    def __init__(
        self, fields: tuple[Field, ...], *, unknown_fields: str = "ignore", tombstones: str = "reject", max_bytes: int
    ) -> None:
        import pyarrow as pa

        from penstock.formats.arrow_types import to_arrow

        native = choice().module
        assert native is not None
        self.columns = to_arrow(fields)
        self._native = native.JsonDecoder(self.columns, unknown_fields=unknown_fields, max_bytes=max_bytes)
        if unknown_fields == "keep":
            self.columns = self.columns.append(pa.field("_unknown", pa.string()))
        self._drop = tombstones == "drop"

    def decode(self, values: pa.Array) -> Decoded:
        """Decode every value; `data` has a row for each, null where there is a verdict."""
        from penstock.formats.contract import Decoded
        from penstock.rows import Verdict

        data, found, unknown = self._native.decode(_binary(values))
        verdicts = list(map(Verdict, *found))
        if self._drop:
            verdicts = [each._replace(drop=each.code == "tombstone") for each in verdicts]
        return Decoded(data, verdicts, dict(unknown))


def _binary(values: pa.Array) -> pa.Array:
    """The values as the decoder takes them; nothing is copied but, for a LargeBinary, the offsets."""
    import pyarrow as pa

    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    return values if values.type == pa.binary() else values.cast(pa.binary())
