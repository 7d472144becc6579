"""Reading a bounded part of a stream, in a read task of Ray Data."""

# pyarrow has no types, so everything from it is unknown; no signature here names it.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import contextlib
import dataclasses
import time
from typing import TYPE_CHECKING, Any, Final

from rstream import stream
from rstream.errors import RStreamError
from rstream.ray._cluster import attempt_number
from rstream.ray._open import reader
from rstream.ray._rows import table_of
from rstream.stream._internal import batches, reading_of

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from rstream.codecs import CodecLike
    from rstream.stream import Subscriber
    from rstream.stream._internal import OnLost, Reading

#: Longest wait before the end is looked for again.
LOOK_S: Final = 0.05
#: Messages that become one block at most.
MESSAGES_AT_ONCE: Final = 256


@dataclasses.dataclass(frozen=True, kw_only=True)
class Wanted:
    """What one read task reads; the fields are those of :func:`rstream.ray.datasource`."""

    name: str
    type: Any
    codec: CodecLike
    channel: str | None
    dir: str | None
    schema: Any
    messages_max: int | None
    bytes_max: int | None
    idle_s: float | None
    stays: bool
    on_lost: OnLost

    def tables(self) -> Iterator[Any]:
        """The rows as ``pyarrow.Table``, as they come; reading goes on when more is asked for.

        Raises:
            RStreamError: this task was started before, and what it read then is gone. Also as
                ``for item in subscriber`` raises.
        """
        if attempt_number():
            raise RStreamError(
                f"stream {self.name!r}: Ray has started its read task again, and what the task "
                "read the first time is gone: a stream is not stored",
                hint="materialize() what is used twice, and have the writers send again",
            )
        with self._opened() as source:
            yield from self._tables(reading_of(source))

    @contextlib.contextmanager
    def _opened(self) -> Generator[Subscriber[Any]]:
        if self.channel is None:
            with reader(
                self.name,
                self.type,
                codec=self.codec,
                dir=self.dir,
                on_lost=self.on_lost,
                stays=self.stays,
            ) as end:
                yield end.source
        else:
            with stream.subscriber(
                self.name,
                self.type,
                codec=self.codec,
                channel=self.channel,
                dir=self.dir,
                on_lost=self.on_lost,
                stays=self.stays,
            ) as source:
                yield source

    def _tables(self, source: Reading[Any]) -> Iterator[Any]:
        messages = read_bytes = 0
        idle_since_s: float | None = None

        def is_full() -> bool:
            is_long = self.bytes_max is not None and read_bytes >= self.bytes_max
            return is_long or messages == self.messages_max

        def limit() -> int:
            most = 1 if self.bytes_max is not None else MESSAGES_AT_ONCE
            return most if self.messages_max is None else min(most, self.messages_max - messages)

        def is_ended() -> bool:
            nonlocal idle_since_s
            if source.is_ended:
                return True
            now_s = time.monotonic()
            # From the first poll that finds nothing: the time that the consumer took is not idle.
            idle_since_s = now_s if idle_since_s is None else idle_since_s
            return self.idle_s is not None and now_s - idle_since_s >= self.idle_s

        for items in batches(source, is_full, limit=limit, is_ended=is_ended, wait_s=LOOK_S):
            idle_since_s = None
            messages += len(items)
            table = table_of(items, self.schema)
            del items  # views of the messages, which would hold the writers
            read_bytes += table.nbytes
            yield table
