"""Record batches as bytes, for ledgers."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any


def to_bytes(batch: Any) -> bytes:
    """A record batch as an Arrow IPC stream."""
    import pyarrow

    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, batch.schema) as writer:
        writer.write(batch)
    return sink.getvalue().to_pybytes()


def from_bytes(data: bytes) -> Any:
    """The record batch of :func:`to_bytes`."""
    import pyarrow

    return pyarrow.ipc.open_stream(pyarrow.py_buffer(data)).read_next_batch()
