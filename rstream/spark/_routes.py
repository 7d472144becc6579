"""Which rows go to which handle."""

from __future__ import annotations

import importlib
import json
import zlib
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from rstream.codecs._internal import encoded_length
from rstream.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rstream.spark._options import SinkConfig

#: ``pyarrow.RecordBatch``; pyarrow has no types.
RecordBatch: TypeAlias = Any

#: How the name of a batch job begins among queries.
BATCH: Final = "batch-"


def routed(
    config: SinkConfig, partition: int, batch: RecordBatch
) -> Iterator[tuple[tuple[int, ...], RecordBatch]]:
    """Divide a batch: indexes of handles, and the rows that each of them gets.

    A replayed micro-batch sends its rows the same way, as long as Spark makes the same partitions
    (``partition``) or whatever it makes (``key``, ``broadcast``).

    Raises:
        ConfigError: the rows have no such column.
    """
    count = len(config.handles)
    if config.routing == "broadcast":
        yield tuple(range(count)), batch
    elif config.partition_by is None:
        yield (partition % count,), batch
    else:
        yield from _by_key(config, config.partition_by, batch)


def _by_key(
    config: SinkConfig, column: str, batch: RecordBatch
) -> Iterator[tuple[tuple[int, ...], RecordBatch]]:
    pa: Any = importlib.import_module("pyarrow")
    pc: Any = importlib.import_module("pyarrow.compute")
    names = batch.schema.names
    if column not in names:
        raise ConfigError(
            f'rstream sink: option "partitionBy" names column {column!r}; '
            f"the rows have {', '.join(names)}"
        )
    if len(config.handles) == 1:
        yield (0,), batch
        return
    encoded = batch.column(names.index(column)).dictionary_encode()
    targets = [_handle_of(config, value) for value in encoded.dictionary.to_pylist()]
    if len(set(targets)) == 1 and encoded.indices.null_count == 0:
        yield (targets[0],), batch
        return
    of_row = pc.fill_null(pa.array(targets, pa.int32()).take(encoded.indices), 0)
    for index in range(len(config.handles)):
        rows = batch.filter(pc.equal(of_row, index))
        if rows.num_rows:
            yield (index,), rows


def _handle_of(config: SinkConfig, value: Any) -> int:
    mapped = config.partition_map.get(str(value))
    if mapped is not None:
        return mapped
    return zlib.crc32(str(value).encode()) % len(config.handles)


def route_to(config: SinkConfig, query: str, index: int) -> str:
    """Which rows of an epoch go to a handle, as a text that a replay must have again.

    Empty: a broadcast, of which it gets all; or a batch job, which is never replayed.
    """
    if config.routing not in ("partition", "key") or query.startswith(BATCH):
        return ""
    place = f"handle {index + 1} of {len(config.handles)}"
    if config.partition_by is None:
        return f"by partition, {place}"
    entries = json.dumps(config.partition_map, sort_keys=True)
    mapped = f" with map {zlib.crc32(entries.encode()):08x}" if config.partition_map else ""
    return f"by {config.partition_by}{mapped}, {place}"


def pieces(batch: RecordBatch, rows_max: int, bytes_max: int) -> Iterator[RecordBatch]:
    """Cut a batch so that no piece has more rows or bytes; a single row may have more bytes.

    Bytes are those of a message (:func:`encoded_length`).
    """
    rows, length_bytes = batch.num_rows, encoded_length(batch)
    step = min(rows, rows_max or rows)
    is_long = length_bytes > bytes_max
    if is_long:
        metadata_bytes = encoded_length(batch.slice(0, 0))  # of each piece, and half of it to align
        room = bytes_max - metadata_bytes - metadata_bytes // 2
        step = max(1, min(step, rows * room // length_bytes))
    for start in range(0, rows, step or 1):
        piece = batch.slice(start, step)
        if is_long and piece.num_rows > 1 and encoded_length(piece) > bytes_max:
            yield from pieces(piece, (piece.num_rows + 1) // 2, bytes_max)
        else:
            yield piece
