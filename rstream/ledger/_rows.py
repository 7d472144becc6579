"""Record batches as bytes, for ledgers."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

from rstream.codecs._internal import ArrowStreamReader
from rstream.errors import StorageError


def to_bytes(batch: Any) -> bytes:
    """A record batch as an Arrow IPC stream."""
    import pyarrow

    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, batch.schema) as writer:
        writer.write(batch)
    return sink.getvalue().to_pybytes()


def from_bytes(data: bytes) -> Any:
    """The record batch of :func:`to_bytes`, validated in full.

    Raises:
        StorageError: the file that has it was damaged.
    """
    import pyarrow

    try:
        _, (batch,) = ArrowStreamReader(pyarrow, limits=None).read(data)
    except (pyarrow.ArrowException, OSError, TypeError, ValueError) as error:
        raise StorageError(
            f"a stored record batch of {len(data)} bytes is damaged: {error}",
            hint="the file was changed or its disk fails: begin with another file",
        ) from error
    return batch
