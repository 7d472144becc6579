"""Objects that do not fit a Spark schema are refused: nothing is cut off, no null gets through."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from rstream.errors import CodecError
from rstream.spark._elements import batches_of

INT = pa.int32()
NEEDED = pa.field("a", INT, nullable=False)


@pytest.mark.parametrize(
    ("type_", "given"),
    [
        (INT, 1.5),
        (pa.list_(INT), [1, 2.5]),
        (pa.struct([("b", INT)]), {"b": -0.5}),
        (pa.map_(pa.string(), INT), {"b": 1.5}),
        (pa.list_(pa.struct([("b", pa.list_(INT))])), [{"b": [1.5]}]),
    ],
    ids=str,
)
def test_a_fraction_is_no_integer(type_: Any, given: Any) -> None:
    with pytest.raises(CodecError, match=r"column a.*[0-9]\.5 is no int32"):
        batches_of([{"a": None}, {"a": given}], "msgpack", pa.schema([("a", type_)]))


def test_whole_numbers_fit() -> None:
    (batch,) = batches_of([{"a": 2.0}, [3], 4], "msgpack", pa.schema([("a", INT)]))
    assert batch.to_pydict() == {"a": [2, 3, 4]}
    type_ = pa.map_(pa.string(), pa.list_(INT))
    (batch,) = batches_of([{"a": {"b": [1]}}, {"a": None}], "msgpack", pa.schema([("a", type_)]))
    assert batch.to_pydict() == {"a": [[("b", [1])], None]}


@pytest.mark.parametrize(
    ("field", "bad", "good"),
    [
        (NEEDED, None, 1),
        (pa.field("a", pa.list_(pa.field("b", INT, nullable=False))), [None], None),
        (pa.field("a", pa.struct([pa.field("b", INT, nullable=False)])), {"b": None}, None),
        (pa.field("a", pa.map_("str", pa.field("b", INT, nullable=False))), {"x": None}, None),
    ],
    ids=str,
)
def test_a_null_where_there_may_be_none(field: Any, bad: Any, good: Any) -> None:
    schema = pa.schema([field, ("c", pa.string())])
    for row in ({"a": bad, "c": "x"}, *([{"c": "x"}] if field is NEEDED else [])):
        with pytest.raises(CodecError, match=r"column a.* may not be null"):
            batches_of([row], "msgpack", schema)
    (batch,) = batches_of([{"a": good, "c": "x"}], "msgpack", schema)
    assert batch.column("a").to_pylist() == [good]


def test_a_record_batch_with_a_null_too_many() -> None:
    schema = pa.schema([NEEDED])
    for has in (schema, pa.schema([("a", pa.int64())])):
        column = pa.array([1, None], has.field(0).type)
        batch = pa.RecordBatch.from_arrays([column], schema=has)
        with pytest.raises(CodecError, match="column a may not be null"):
            batches_of([batch], "arrow", schema)
