"""How the faces are opened: arguments checked, address and codec chosen, the shared client
taken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

from rstream import abc, policy, rate
from rstream.codecs import Codec, codec_for
from rstream.errors import ConfigError
from rstream.stream import _session
from rstream.stream._buffered import BufferedSubscriber, queue_of
from rstream.stream._eviction import evicting_channel
from rstream.stream._names import resolve_address, with_rate
from rstream.stream._processor import MapProcessor
from rstream.stream._publisher import Publisher
from rstream.stream._reader import OnLost, Reader
from rstream.stream._sender import make
from rstream.stream._sink import StreamSink
from rstream.stream._source import StreamSource

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rstream.channel import Channel
    from rstream.client import Client
    from rstream.stream._subscriber import Subscriber
    from rstream.stream.executor import Executor

T = TypeVar("T")
R = TypeVar("R")

#: Waiting for a first subscriber, and for readers at the end.
CONNECT_TIMEOUT_S = 10.0
LINGER_S = 5.0
#: Most messages handed over at once: within 15 % of the best from 64 on (docs/performance.md).
PREFETCH = 256


@overload
def publisher(
    name: str | int,
    type: None = None,
    *,
    codec: Codec[T],
    channel: Channel | str | None = None,
    stream_id: int | None = None,
    dir: str | None = None,
    client: Client | None = None,
    connect_timeout_s: float = CONNECT_TIMEOUT_S,
    linger_s: float = LINGER_S,
    rate: rate.RateLimit | None = None,
) -> Publisher[T]: ...
@overload
def publisher(
    name: str | int,
    type: None = None,
    *,
    codec: None = None,
    channel: Channel | str | None = None,
    stream_id: int | None = None,
    dir: str | None = None,
    client: Client | None = None,
    connect_timeout_s: float = CONNECT_TIMEOUT_S,
    linger_s: float = LINGER_S,
    rate: rate.RateLimit | None = None,
) -> Publisher[Any]: ...
@overload
def publisher(
    name: str | int,
    type: type[T],
    *,
    codec: Codec[T] | None = None,
    channel: Channel | str | None = None,
    stream_id: int | None = None,
    dir: str | None = None,
    client: Client | None = None,
    connect_timeout_s: float = CONNECT_TIMEOUT_S,
    linger_s: float = LINGER_S,
    rate: rate.RateLimit | None = None,
) -> Publisher[T]: ...
def publisher(
    name: str | int,
    type: type[Any] | None = None,
    *,
    codec: Codec[Any] | None = None,
    channel: Channel | str | None = None,
    stream_id: int | None = None,
    dir: str | None = None,
    client: Client | None = None,
    connect_timeout_s: float = CONNECT_TIMEOUT_S,
    linger_s: float = LINGER_S,
    rate: rate.RateLimit | None = None,
) -> Publisher[Any]:
    """Open the sending face of a stream; nothing has to be started before.

    Args:
        name: the stream's name, or a stream id for raw channels.
        type: what is sent; it chooses the codec (:func:`rstream.codecs.codec_for`).
        codec: overrides ``type``.
        channel: where it flows; default: shared memory. In UDP the endpoint is the *reader's*
            address.
        stream_id: instead of the one made from the name.
        dir: driver directory; default ``$RSTREAM_DIR``, else ``/dev/shm/rstream-<user>``.
        client: use this client instead of the process's own; then a lost driver is an error.
        connect_timeout_s: how long :meth:`Publisher.send` waits for a first subscriber.
        linger_s: how long :meth:`Publisher.close` waits for readers.
        rate: how fast it may send, such as ``rate.Fixed("200MB/s")`` or ``rate.Adaptive()``
            (:mod:`rstream.rate`), whatever the channel says; None: as the channel says, else as the
            driver's option ``rate``, which is unlimited unless set.
    Raises:
        ConfigError: an argument that cannot be used, or that this release does not serve.
        DriverError: no driver, or it refused the channel.
    """
    address = publisher_address(
        name,
        type,
        codec=codec,
        channel=channel,
        stream_id=stream_id,
        connect_timeout_s=connect_timeout_s,
        linger_s=linger_s,
        rate=rate,
    )
    return make(Publisher[Any], _session.acquire(dir, client), **address)


def publisher_address(
    name: str | int,
    type: type[Any] | None,
    *,
    codec: Codec[Any] | None,
    channel: Channel | str | None,
    stream_id: int | None,
    connect_timeout_s: float,
    linger_s: float,
    rate: rate.RateLimit | None,
) -> dict[str, Any]:
    """The arguments of a publishing face but its link, checked.

    Raises:
        ConfigError: one that cannot be used.
    """
    stream, uri, number = resolve_address(name, channel, stream_id, is_publisher=True)
    chosen = codec if codec is not None else codec_for(type)
    _check_seconds(connect_timeout_s=connect_timeout_s, linger_s=linger_s)
    return {
        "name": stream,
        "channel": with_rate(uri, rate),
        "stream_id": number,
        "codec": chosen,
        "connect_timeout_s": connect_timeout_s,
        "linger_s": linger_s,
    }


@overload
def subscriber(
    name: str | int,
    type: None = None,
    *,
    codec: Codec[T],
    channel: Channel | str | None = None,
    stream_id: int | None = None,
    prefetch: int = PREFETCH,
    on_slow: policy.SlowPolicy = policy.Block(),
    on_lost: OnLost = "raise",
    dir: str | None = None,
    client: Client | None = None,
) -> Subscriber[T]: ...
@overload
def subscriber(
    name: str | int,
    type: None = None,
    *,
    codec: None = None,
    channel: Channel | str | None = None,
    stream_id: int | None = None,
    prefetch: int = PREFETCH,
    on_slow: policy.SlowPolicy = policy.Block(),
    on_lost: OnLost = "raise",
    dir: str | None = None,
    client: Client | None = None,
) -> Subscriber[Any]: ...
@overload
def subscriber(
    name: str | int,
    type: type[T],
    *,
    codec: Codec[T] | None = None,
    channel: Channel | str | None = None,
    stream_id: int | None = None,
    prefetch: int = PREFETCH,
    on_slow: policy.SlowPolicy = policy.Block(),
    on_lost: OnLost = "raise",
    dir: str | None = None,
    client: Client | None = None,
) -> Subscriber[T]: ...
def subscriber(
    name: str | int,
    type: type[Any] | None = None,
    *,
    codec: Codec[Any] | None = None,
    channel: Channel | str | None = None,
    stream_id: int | None = None,
    prefetch: int = PREFETCH,
    on_slow: policy.SlowPolicy = policy.Block(),
    on_lost: OnLost = "raise",
    dir: str | None = None,
    client: Client | None = None,
) -> Subscriber[Any]:
    """Open a receiving face of a stream; each one gets every message from now on.

    Args:
        name: the stream's name, or a stream id for raw channels.
        type: what is received; it chooses the codec (:func:`rstream.codecs.codec_for`).
        codec: overrides ``type``.
        channel: where it flows; default: shared memory. In UDP the endpoint is the address to bind
            here.
        stream_id: instead of the one made from the name.
        prefetch: most messages handed over at once.
        on_slow: what happens when this consumer is slower than the publishers
            (:mod:`rstream.policy`).
        on_lost: a publisher that went without a word is an exception (``"raise"``), or an event
            only (``"event"``: for streams whose publishers come and go).
        dir: driver directory; default ``$RSTREAM_DIR``, else ``/dev/shm/rstream-<user>``.
        client: use this client instead of the process's own; then a lost driver is an error.
    Raises:
        ConfigError: an argument that cannot be used, or that this release does not serve.
        DriverError: no driver, or it refused the channel.
    """
    chosen = codec if codec is not None else codec_for(type)
    return under_policy(
        on_slow,
        lambda evict: _open_reader(
            name,
            None if channel is None else [channel],
            stream_id,
            codec=chosen,
            prefetch=prefetch,
            on_lost=on_lost,
            evict=evict,
            link=lambda: _session.acquire(dir, client),
        ),
    )


def under_policy(
    on_slow: policy.SlowPolicy, open_reader: Callable[[policy.Evict | None], Reader[Any]]
) -> Reader[Any] | BufferedSubscriber[Any]:
    """What ``open_reader`` opens (it is told whether to evict), behind the policy's queue if it has one.

    Raises:
        ConfigError: a policy that cannot be used; nothing was opened.
    """
    queue = queue_of(on_slow)
    opened = open_reader(on_slow if isinstance(on_slow, policy.Evict) else None)
    return opened if queue is None else BufferedSubscriber(opened, queue, on_slow)


def reader(
    name: str | int,
    type: type[Any] | None = None,
    *,
    channels: Sequence[Channel | str] | None = None,
    stream_id: int | None = None,
    codec: Codec[Any] | None = None,
    prefetch: int = PREFETCH,
    on_lost: OnLost = "event",
    hold: bool = False,
    evict: policy.Evict | None = None,
    dir: str | None = None,
    client: Client | None = None,
) -> Reader[Any]:
    """Open a reader of one stream over several channels at once, such as shared memory and a UDP
    port.

    Args:
        name: the stream's name, or a stream id for raw channels.
        type: what is received; it chooses the codec.
        channels: where to read; default: shared memory.
        stream_id: instead of the one made from the name; the same on all channels.
        codec: overrides ``type``.
        prefetch: most messages handed over at once.
        on_lost: ``"event"`` (default here: publishers come and go), or ``"raise"``.
        hold: what a poll returned counts as consumed at the next poll, not at once; so publishers
            that wait until it was consumed wait until it was processed.
        evict: let go of it when it holds the stream and stands still; the other policies are queues
            over a reader: :func:`under_policy`.
        dir: driver directory; default ``$RSTREAM_DIR``, else ``/dev/shm/rstream-<user>``.
        client: use this client instead of the process's own.
    Raises:
        ConfigError, DriverError: as :func:`rstream.subscriber`.
    """
    return _open_reader(
        name,
        channels,
        stream_id,
        codec=codec if codec is not None else codec_for(type),
        prefetch=prefetch,
        on_lost=on_lost,
        hold=hold,
        evict=evict,
        link=lambda: _session.acquire(dir, client),
    )


def _open_reader(
    name: str | int,
    channels: Sequence[Channel | str] | None,
    stream_id: int | None,
    *,
    codec: Codec[Any],
    prefetch: int,
    on_lost: OnLost,
    link: Callable[[], _session.Link],
    is_demanded: bool = False,
    hold: bool = False,
    evict: policy.Evict | None = None,
) -> Reader[Any]:
    if not 1 <= prefetch <= 65_536:
        raise ConfigError(f"prefetch={prefetch}: must be 1 to 65536 messages")
    if on_lost not in ("raise", "event"):
        raise ConfigError(f'on_lost={on_lost!r}: must be "raise" or "event"')
    wanted: Sequence[Channel | str | None] = [None] if channels is None else channels
    if not wanted:
        raise ConfigError("channels is empty: give at least one")
    addresses = [resolve_address(name, one, stream_id, is_publisher=False) for one in wanted]
    taken = link()
    try:
        return Reader(
            taken,
            name=addresses[0][0],
            channels=[evicting_channel(uri, evict) for _, uri, _ in addresses],
            stream_id=addresses[0][2],
            codec=codec,
            prefetch=prefetch,
            on_lost=on_lost,
            is_demanded=is_demanded,
            hold=hold,
            evict=evict,
        )
    except BaseException:
        _session.release(taken)
        raise


def source(
    name: str | int,
    type: type[Any] | None = None,
    *,
    codec: Codec[Any] | None = None,
    channel: Channel | str | None = None,
    stream_id: int | None = None,
    prefetch: int = PREFETCH,
    on_slow: policy.SlowPolicy = policy.Block(),
    on_lost: OnLost = "raise",
    dir: str | None = None,
    client: Client | None = None,
    executor: Executor | None = None,
) -> abc.Publisher[Any]:
    """A stream as a Reactive Streams publisher: each ``subscribe`` reads it from then on.

    Args:
        name, type, codec, channel, stream_id, dir, client, on_lost: as for
            :func:`rstream.subscriber`.
        prefetch: most messages taken at once; never more than were requested and one.
        on_slow: what happens when the subscriber's demand is slower than the publishers; a queue
            of a policy is taken from as demand allows.
        executor: who runs the loops; default: a daemon thread for each subscriber.
    Raises:
        ConfigError: an argument that cannot be used. Everything else reaches ``on_error``.
    """
    chosen = codec if codec is not None else codec_for(type)
    stream, uri, number = resolve_address(name, channel, stream_id, is_publisher=False)

    has_queue = (
        queue_of(on_slow) is not None
    )  # what cannot be used is refused here, not at subscribe

    def open_reader() -> Subscriber[Any]:
        return under_policy(
            on_slow,
            lambda evict: _open_reader(
                stream or number,
                [uri],
                number,
                codec=chosen,
                prefetch=prefetch,
                on_lost=on_lost,
                link=lambda: _session.acquire(dir, client),
                is_demanded=not has_queue,
                evict=evict,
            ),
        )

    return StreamSource(open_reader, stream or str(number), executor)


def sink(
    name: str | int,
    type: type[Any] | None = None,
    *,
    codec: Codec[Any] | None = None,
    channel: Channel | str | None = None,
    stream_id: int | None = None,
    window: int = PREFETCH,
    dir: str | None = None,
    client: Client | None = None,
    connect_timeout_s: float = CONNECT_TIMEOUT_S,
    linger_s: float = LINGER_S,
    rate: rate.RateLimit | None = None,
    executor: Executor | None = None,
) -> StreamSink[Any]:
    """A Reactive Streams subscriber that sends every element into a stream.

    Args:
        name, type, codec, channel, stream_id, dir, client: as for :func:`rstream.publisher`.
        window: most elements requested from the upstream and not yet sent; fewer when the readers want
            fewer.
        connect_timeout_s, linger_s, rate: as for :func:`rstream.publisher`.
        executor: runs the loop that waits for the readers' demand; None: a thread of its own.
    Raises:
        ConfigError, DriverError: as :func:`rstream.publisher`.
    """
    if window < 1:
        raise ConfigError(f"window={window}: must be at least 1 element")
    opened: Publisher[Any] = publisher(
        name,
        codec=codec if codec is not None else codec_for(type),
        channel=channel,
        stream_id=stream_id,
        dir=dir,
        client=client,
        connect_timeout_s=connect_timeout_s,
        linger_s=linger_s,
        rate=rate,
    )
    return StreamSink(opened, window, executor)


def processor(function: Callable[[T], R]) -> MapProcessor[T, R]:
    """A processor that gives ``function(item)`` to one downstream subscriber; demand passes
    through.
    """
    return MapProcessor(function)


def _check_seconds(**values: float) -> None:
    for key, value in values.items():
        if not 0 <= value < float("inf"):
            raise ConfigError(f"{key}={value}: must be 0 or more seconds")
