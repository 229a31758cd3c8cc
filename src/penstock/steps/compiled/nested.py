"""Fields of structs, elements of arrays, and how many there are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.steps.compiled.ops import NotCompiled, Op, call, literal
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


def _item(node: Node, given: Sequence[Op]) -> Op:
    """`xs[0]`: a place that the array has not raises."""
    array, place = given[0], literal(given[1], "the place")
    if not pa.types.is_list(array.type) or node.fields["failOnError"] is not True or place < 0:
        raise NotCompiled("an element of something that is no array")
    return call(array.type.value_type, partial(item, place), [array], raises=True)


def item(place: int, arrays: pa.ListArray) -> Any:
    known = arrays.is_valid().to_numpy(zero_copy_only=False)
    starts, ends = arrays.offsets[:-1].to_numpy(), arrays.offsets[1:].to_numpy()
    wrong = known & (ends - starts <= place)
    found = arrays.values.take(pa.array(starts.astype(np.int64) + place, mask=wrong | ~known))
    return found, wrong if wrong.any() else None


RULES = {"GetStructField": _field, "Size": _size, "GetArrayItem": _item}
