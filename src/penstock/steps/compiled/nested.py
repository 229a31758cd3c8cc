"""Fields of structs, and how many elements an array has."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from penstock.steps.compiled.ops import NotCompiled, Op, call
from penstock.steps.compiled.tree import Node


def _field(node: Node, given: Sequence[Op]) -> Op:
    [struct] = given
    if not pa.types.is_struct(struct.type):
        raise NotCompiled("a field of something that is no struct")
    ordinal = int(node.fields["ordinal"])
    return call(struct.type.field(ordinal).type, partial(pc.struct_field, indices=[ordinal]), given)


def _size(node: Node, given: Sequence[Op]) -> Op:
    [array] = given
    if not pa.types.is_list(array.type) or node.fields["legacySizeOfNull"] is not False:
        raise NotCompiled("the size of something that is no array")
    return call(pa.int32(), pc.list_value_length, given)


RULES = {"GetStructField": _field, "Size": _size}
