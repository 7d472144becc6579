"""Ray actors that add up a column, and tasks that send to them: what `tests.bench.cluster` pairs.

Actors and Spark's workers import this module.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceStreamArrowWriter, WriterCommitMessage

LENGTH = struct.Struct("<I")
TIMEOUT_S = 120.0


class Adder:
    """Counts rows and adds up their first column; the base of the actors."""

    def __init__(self) -> None:
        self.rows = self.total = 0
        self.changed = threading.Condition()

    def add(self, batch: Any) -> None:
        import pyarrow.compute as pc

        part = pc.sum(batch.column(0)).as_py() or 0
        with self.changed:
            self.rows += batch.num_rows
            self.total += part
            self.changed.notify_all()

    def take(self, rows: int) -> int:
        """Wait for so many rows; their sum. Then it begins anew."""
        deadline_s = time.monotonic() + TIMEOUT_S
        with self.changed:
            while self.rows < rows:
                if not self.changed.wait(deadline_s - time.monotonic()):
                    raise TimeoutError(f"{self.rows} of {rows} rows have come")
            assert self.rows == rows, self.rows
            total, self.rows, self.total = self.total, 0, 0
        return total


class StreamAdder(Adder):
    """Reads a stream."""

    def __init__(self) -> None:
        super().__init__()
        import rstream.ray

        self.end = rstream.ray.reader("bench", codec="arrow", host="127.0.0.1")
        self.end.start(self.add)

    def handle(self) -> Any:
        return self.end.handle


class SocketAdder(Adder):
    """Reads record batches with their length in front, from plain TCP connections."""

    def __init__(self, schema: bytes) -> None:
        super().__init__()
        import pyarrow as pa

        self.schema = pa.ipc.read_schema(pa.py_buffer(schema))
        self.server = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.accept, daemon=True).start()

    def port(self) -> int:
        return int(self.server.getsockname()[1])

    def accept(self) -> None:
        while True:
            connection, _ = self.server.accept()
            threading.Thread(target=self.read, args=(connection,), daemon=True).start()

    def read(self, connection: socket.socket) -> None:
        import pyarrow as pa

        with connection, connection.makefile("rb", buffering=1 << 20) as file:
            while head := file.read(LENGTH.size):
                data = file.read(LENGTH.unpack(head)[0])
                self.add(pa.ipc.read_record_batch(pa.py_buffer(data), self.schema))


class TableAdder(Adder):
    """Gets a table from Ray's object store."""

    def add_table(self, table: Any) -> int:
        import pyarrow.compute as pc

        return int(pc.sum(table.column(0)).as_py())


def send_by_socket(port: int, messages: Iterable[bytes]) -> Iterator[int]:
    """What a task does by hand: send the bytes of its record batches."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        count = 0
        for message in messages:
            connection.sendall(LENGTH.pack(len(message)))
            connection.sendall(message)
            count += 1
    yield count


class Drain(DataSource):
    """``format("drain")``: a stream that is read and thrown away."""

    @classmethod
    def name(cls) -> str:
        return "drain"

    def streamWriter(self, schema: Any, overwrite: bool) -> Any:
        return DrainWriter()


class DrainWriter(DataSourceStreamArrowWriter):
    """Reads its rows, and that is all."""

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        for _ in iterator:
            pass
        return WriterCommitMessage()

    def commit(self, messages: Any, batchId: int) -> None:
        pass

    def abort(self, messages: Any, batchId: int) -> None:
        pass
