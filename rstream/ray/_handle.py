"""Stream handles: the address of a reader as a small value that can be passed around.

The *reader* makes the handle, because in UDP unicast the address is the reader's. It subscribes to
a shared-memory stream and to a UDP port of its own, with one stream id. A *writer* that opens the
handle compares host tokens. If they are equal, it sees the same shared memory and writes there.
Otherwise it sends to the reader's UDP address. Many readers are many handles, also under one name.

As text a handle is a URI, which any program may keep, print and read::

    rstream://10.0.0.7:40123/ticks?v=3&id=-1234&codec=msgpack&dir=/dev/shm/rstream-ann&...
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, Unpack
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from rstream import _core
from rstream._checks import short
from rstream.errors import ConfigError
from rstream.ray._deaths import ActorWatch
from rstream.stream._internal import PREFETCH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rstream.aio import Publisher as AioPublisher
    from rstream.aio._internal import Opening
    from rstream.codecs import CodecLike
    from rstream.stream import Publisher, SendOptions, StreamSink
    from rstream.stream.executor import Executor

HANDLE_VERSION: Final = 3
#: Before the codec's name in the handle of a reader that shares work.
WORK_PREFIX: Final = "work:"
#: ``delivery`` of a reader that hands out Spark's rows when Spark has committed them.
COMMITTED: Final = "committed"
#: How the fields of a handle are named in its text, in this order.
QUERY: Final = {
    "stream_id": "id",
    "codec": "codec",
    "node": "node",
    "driver_dir": "dir",
    "host_token": "host",
    "ipc_channel": "ipc",
    "udp_channel": "udp",
    "actor_id": "actor",
    "delivery": "delivery",
}
#: Fields that a text may lack.
OPTIONAL: Final = {"actor_id": "", "delivery": ""}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class StreamHandle:
    """Address of one reader of one stream: picklable, comparable, and plain text for Spark options.

    Two readers of one name have two handles with different stream ids. What is written to one
    handle never reaches the other reader.

    Attributes:
        name: the stream's name, for people and for the check in each message.
        stream_id: transport stream id of this reader alone, the same on both channels. It is
            negative; ids made from names are positive.
        ipc_channel: Aeron URI of the shared-memory channel.
        endpoint: ``host:port`` where the reader's UDP port is bound; empty: shared memory only.
        udp_channel: Aeron URI for writers on other hosts; empty: shared memory only.
        host_token: identifies the host (boot id and shared-memory mount).
        driver_dir: the reader's driver directory.
        node: node address or id, for people.
        codec: name of the codec, as :func:`rstream.codecs.named` knows it; ``"id 128"``: a codec
            without a name, which writers must pass. ``"work:"`` before it: the reader shares work.
        actor_id: of the actor that reads, hexadecimal; empty: a task or a program does. Writers in
            its cluster ask Ray whether it is dead for good when it is away.
        delivery: ``"committed"``: Spark's sink can commit rows there
            (:func:`rstream.ray.committed_reader`); empty: items are handed out as they come.
    """

    name: str
    stream_id: int
    ipc_channel: str
    endpoint: str
    udp_channel: str
    host_token: str
    driver_dir: str
    node: str
    codec: str
    actor_id: str = ""
    delivery: str = ""

    def __repr__(self) -> str:
        return f"<rstream.ray.StreamHandle of {self.title}>"

    @property
    def title(self) -> str:
        """The reader, for people."""
        return f"{self.name!r} at {self.endpoint or self.driver_dir}, id {self.stream_id}"

    def __str__(self) -> str:
        """The handle as one line of text, a URI; :meth:`from_text` reads it."""
        query = {"v": str(HANDLE_VERSION)}
        for field, key in QUERY.items():
            text = str(getattr(self, field))
            if text or field not in OPTIONAL:
                query[key] = text
        pairs = (f"{key}={quote(value, safe=':/?=')}" for key, value in query.items())
        return f"rstream://{self.endpoint}/{quote(self.name, safe='')}?{'&'.join(pairs)}"

    to_text = __str__

    @classmethod
    def from_text(cls, text: str) -> StreamHandle:
        """The handle of a text that :meth:`to_text` wrote.

        Raises:
            ConfigError: the text is no handle, or one of another version.

        Example::

            handle = rstream.ray.StreamHandle.from_text(os.environ["TICKS"])  # str(handle) there
        """
        try:
            parts = urlsplit(text.strip())
            query = dict(parse_qsl(parts.query, keep_blank_values=True))
            if parts.scheme != "rstream":
                raise ValueError("it does not begin with rstream://")
            version = query.pop("v", None)
            if version is None:
                raise ValueError("it has no v=")
            if version != str(HANDLE_VERSION):
                raise ConfigError(
                    f"stream handle of version {version}, this rstream reads version "
                    f"{HANDLE_VERSION}: use the same rstream release on both sides"
                )
            for field, key in QUERY.items():
                if field not in OPTIONAL and key not in query:
                    raise ValueError(f"it has no {key}=")
            texts = OPTIONAL | {field: query[key] for field, key in QUERY.items() if key in query}
            fields: dict[str, Any] = {field: texts[field] for field in QUERY}
            fields |= {"name": unquote(parts.path[1:]), "stream_id": int(fields["stream_id"])}
            return cls(endpoint=parts.netloc, **fields)
        except ConfigError:
            raise
        except Exception as error:
            raise ConfigError(
                f"not a stream handle: {short(text)} ({error})",
                hint="str(handle) makes the text: rstream://host:port/name?v=3&id=...",
            ) from error

    def is_local(self, driver_dir: str | None = None) -> bool:
        """Whether this process sees the reader's shared memory: same host token, same directory."""
        directory = driver_dir or self.driver_dir
        return directory == self.driver_dir and host_token(directory) == self.host_token

    @property
    def is_work(self) -> bool:
        """Whether its reader was opened with ``share="work"``: a pool writes to it."""
        return self.codec.startswith(WORK_PREFIX)

    def publisher(
        self,
        type: Any = None,
        *,
        codec: CodecLike = None,
        driver_dir: str | None = None,
        **options: Unpack[SendOptions],
    ) -> Publisher[Any]:
        """Open the writing end: shared memory on the reader's host, UDP elsewhere.

        Args:
            type, codec: as for :func:`rstream.publisher`; both None: as the handle says. Needed
                where the handle cannot name the reader's codec.
            driver_dir: the writer's driver directory, where it differs from the reader's (on
                another host).
            options: ``connect_timeout_s``, ``linger_s``, ``rate`` and ``max_message_length``, as
                for :func:`rstream.publisher`.
        Raises:
            ConfigError: the writer is on another host, and the handle has no UDP address.
            DriverError: there is no driver, or it refused the channel.
        """
        from rstream import stream

        made = stream.publisher(**self._address(type, codec, driver_dir), **options)
        self._watch(made)
        return made

    def aio_publisher(
        self,
        type: Any = None,
        *,
        codec: CodecLike = None,
        driver_dir: str | None = None,
        **options: Unpack[SendOptions],
    ) -> Opening[AioPublisher[Any]]:
        """The writing end for an event loop: ``async with handle.aio_publisher() as pub:``, or
        ``pub = await handle.aio_publisher()``, which the caller closes.

        Args:
            type, codec, driver_dir, options: as for :meth:`publisher`.
        Raises:
            ConfigError: as for :meth:`publisher`, at once.
            DriverError: raised when the result is awaited or entered.

        Example::

            async with handle.aio_publisher() as pub:
                await pub.send({"px": 1.0})
        """
        from rstream import aio

        opening = aio.publisher(**self._address(type, codec, driver_dir), **options)
        return opening.then(self._watch)

    def sink(
        self,
        type: Any = None,
        *,
        codec: CodecLike = None,
        driver_dir: str | None = None,
        window: int = PREFETCH,
        executor: Executor | None = None,
        **options: Unpack[SendOptions],
    ) -> StreamSink[Any]:
        """The writing end for a pipeline: a Reactive Streams subscriber that asks its upstream for
        what the reader of this handle wants, and for no element more.

        Args:
            type, codec, driver_dir, options: as for :meth:`publisher`.
            window, executor: as for :func:`rstream.stream.sink`.
        Raises:
            ConfigError, DriverError: as for :meth:`publisher`.

        Example::

            rstream.rx.to_publisher(observable).subscribe(handle.sink())
        """
        from rstream import stream

        address = self._address(type, codec, driver_dir)
        return stream.sink(**address, window=window, executor=executor, **options)

    def _watch(self, made: Publisher[Any] | AioPublisher[Any]) -> None:
        from rstream.stream._internal import sending_of

        watch = ActorWatch(self.actor_id)
        sent = sending_of(made).settings
        sent.why_gone = watch.why_gone
        sent.is_coming = watch.is_coming

    def _address(self, type: Any, codec: CodecLike, driver_dir: str | None) -> dict[str, Any]:
        """What a publisher of this process opens.

        Raises:
            ConfigError: as :meth:`place`; or the reader shares work, which a pool sends.
        """
        from rstream.codecs._internal import choose_of_handle

        if self.is_work:
            raise ConfigError(
                f"stream {self.name!r}: its reader shares work with others",
                hint="write through rstream.ray.Pool([handle])",
            )
        return self.place(driver_dir) | {"codec": choose_of_handle(self.codec, type, codec)}

    def place(self, driver_dir: str | None) -> dict[str, Any]:
        """Where a writer of this process reaches the reader: arguments of a publisher.

        Raises:
            ConfigError: it is on another host than the reader, and the handle has no UDP address.
        """
        address: dict[str, Any] = {"name": self.name, "stream_id": self.stream_id}
        if self.is_local(driver_dir):
            return address | {"channel": self.ipc_channel, "dir": self.driver_dir}
        if not self.udp_channel:
            raise ConfigError(
                f"stream {self.name!r}: its reader (node {self.node}) is on another host and its "
                "handle has no UDP address; open the reader with udp=True"
            )
        from rstream.ray._job_key import adopt_key

        return address | {"channel": adopt_key(self.udp_channel), "dir": driver_dir}


def handles_of(given: StreamHandle | Iterable[StreamHandle]) -> list[StreamHandle]:
    """One handle, or several, as a list.

    Raises:
        ConfigError: something else, or the handle of a reader twice.
    """
    found: list[Any] = [given] if isinstance(given, StreamHandle) else []
    if not found and isinstance(given, Iterable) and not isinstance(given, str):
        found = list(given)
    elif not found:
        raise _no_handle(given)
    for one in found:
        if not isinstance(one, StreamHandle):
            raise _no_handle(one)
    check_distinct(found)
    return found


def check_distinct(handles: Sequence[StreamHandle]) -> None:
    """Refuse two handles of one reader.

    A reader takes a repeated one for a member that it has, and for rows that it has had.

    Raises:
        ConfigError: two of them lead to one reader.
    """
    places: dict[tuple[int, str, str], int] = {}
    for index, one in enumerate(handles):
        place = (one.stream_id, one.host_token, one.driver_dir)
        first = places.setdefault(place, index)
        if first != index:
            raise ConfigError(
                f"handles {first} and {index} of the list (counted from 0) are those of one reader,"
                f" {one.name!r} on node {one.node}",
                hint="give each reader once: what goes to a handle goes to its reader",
            )


def _no_handle(given: object) -> ConfigError:
    return ConfigError(
        f"{short(given)} is no stream handle",
        hint="endpoint.handle is one; StreamHandle.from_text(text) makes one of its text",
    )


def host_token(driver_dir: str) -> str:
    """Token of the host that this process sees; ``$RSTREAM_HOST_TOKEN`` overrides it."""
    return os.environ.get("RSTREAM_HOST_TOKEN") or _core.host_token(driver_dir)
