"""Which rows go to which handle, and how batches are cut."""

from __future__ import annotations

import zlib
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rstream.errors import ConfigError
from rstream.spark._options import SinkConfig
from rstream.spark._routes import pieces, routed


def config(handles: int = 3, **options: Any) -> SinkConfig:
    return SinkConfig(handles=tuple(map(str, range(handles))), **options)


def by_handle(made: SinkConfig, batch: Any, partition: int = 0) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = {}
    for indexes, rows in routed(made, partition, batch):
        for index in indexes:
            found.setdefault(index, []).extend(rows.column(0).to_pylist())
    return found


@given(st.lists(st.one_of(st.none(), st.integers(0, 20), st.just(7))))
def test_a_key_always_goes_to_the_same_handle_in_order(keys: list[int | None]) -> None:
    made = config(routing="key", partition_by="key", partition_map={"3": 2})
    batch = pa.record_batch({"key": pa.array(keys, pa.int64())})
    expected: dict[int, list[int | None]] = {}
    for key in keys:
        index = 0 if key is None else zlib.crc32(str(key).encode()) % 3
        expected.setdefault(2 if key == 3 else index, []).append(key)
    assert by_handle(made, batch) == expected


def test_a_partition_goes_to_one_handle_and_a_broadcast_to_all() -> None:
    batch = pa.record_batch({"a": [1, 2]})
    assert by_handle(config(), batch, partition=4) == {1: [1, 2]}
    assert by_handle(config(routing="broadcast"), batch) == {key: [1, 2] for key in range(3)}


def test_a_column_that_is_not_there_is_named() -> None:
    batch = pa.record_batch({"a": [1], "b": [2]})
    with pytest.raises(ConfigError, match="names column 'c'; the rows have a, b"):
        by_handle(config(routing="key", partition_by="c"), batch)


@given(st.lists(st.binary(max_size=300), min_size=1), st.integers(0, 5), st.integers(1, 3000))
def test_pieces_keep_every_row_in_order_within_the_bounds(
    values: list[bytes], rows_max: int, bytes_max: int
) -> None:
    batch = pa.record_batch({"a": pa.array(values, pa.binary())})
    made = list(pieces(batch, rows_max, bytes_max))
    assert [value for piece in made for value in piece.column(0).to_pylist()] == values
    assert all(piece.num_rows == 1 or piece.serialize().size <= bytes_max for piece in made)
    assert all(0 < piece.num_rows <= (rows_max or len(values)) for piece in made)


def test_a_wide_batch_is_cut_into_as_few_pieces_as_fit() -> None:
    """Its columns have metadata in each message, which must not make a piece a little too long."""
    batch = pa.record_batch({f"c{number}": range(10_000) for number in range(50)})
    made = list(pieces(batch, 0, 1 << 20))
    assert [piece.serialize().size <= 1 << 20 for piece in made] == [True] * 4
    assert pa.Table.from_batches(made) == pa.Table.from_batches([batch])


def test_a_column_that_is_not_there_is_named_for_one_handle_too() -> None:
    made = config(1, routing="key", partition_by="nope")
    with pytest.raises(ConfigError, match="names column 'nope'; the rows have a"):
        by_handle(made, pa.record_batch({"a": [1]}))
