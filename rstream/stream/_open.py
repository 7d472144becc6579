"""Opening publishers, subscribers and readers: check the arguments, choose address and codec, take
a client.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

from rstream import _session, abc, policy
from rstream._channel_uri import ChannelUri
from rstream._checks import check_seconds, is_whole
from rstream._keywords import names_keywords
from rstream._link_options import with_link_options
from rstream.codecs import choose
from rstream.codecs._internal import limited
from rstream.errors import ConfigError
from rstream.flow.policies import check_evict, queue_of
from rstream.stream._names import counts_readers, resolve_address, with_rate
from rstream.stream._options import (
    PREFETCH,
    Prefetch,
    PublisherOptions,
    PublisherSettings,
    SubscriberOptions,
    SubscriberSettings,
    check_prefetch,
    settings,
)
from rstream.stream._parts import MESSAGE_LENGTH, check_message_length
from rstream.stream._publisher import Publisher
from rstream.stream._reactive._processor import MapProcessor
from rstream.stream._reactive._sink import StreamSink
from rstream.stream._reactive._source import StreamSource
from rstream.stream._reader import Reader, face_of
from rstream.stream._reading._buffered import BufferedReading
from rstream.stream._reading._eviction import evicting_channel
from rstream.stream._reading._gaps import OnGap, check_on_gap
from rstream.stream._reading._stream_reading import StreamReading
from rstream.stream._reading._views import takes_views
from rstream.stream._sending import SendSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from typing_extensions import TypeForm

    from rstream.channel import Channel
    from rstream.client import Client
    from rstream.codecs import Codec, CodecLike, Limits
    from rstream.stream._reading._report import OnLost
    from rstream.stream._subscriber import Subscriber
    from rstream.stream.executor import Executor

T = TypeVar("T")
R = TypeVar("R")

VIEWS = "a codec with view=True"
NO_VIEWS = "leave view=True out: objects are then copies, which stay as they are"


@overload
def publisher(
    name: str | int,
    type: None = None,
    *,
    codec: str | None = None,
    **options: Unpack[PublisherOptions],
) -> Publisher[Any]: ...
@overload
def publisher(
    name: str | int,
    type: None = None,
    *,
    codec: Codec[T] | TypeForm[T],
    **options: Unpack[PublisherOptions],
) -> Publisher[T]: ...
@overload
def publisher(
    name: str | int,
    type: TypeForm[T],
    *,
    codec: Codec[T] | str | None = None,
    **options: Unpack[PublisherOptions],
) -> Publisher[T]: ...
def publisher(
    name: str | int,
    type: Any = None,
    *,
    codec: CodecLike = None,
    **options: Unpack[PublisherOptions],
) -> Publisher[Any]:
    """Open the sending side of a stream. Nothing has to be started before.

    Args:
        name: the stream's name, or a stream id for raw channels.
        type: the type of the objects; it chooses the codec (:func:`rstream.codecs.codec_for`).
        codec: overrides ``type``: a codec, its name (``"raw"``, ``"msgpack"``, ``"numpy"``,
            ``"arrow"``), or a type.
        options: ``channel``, ``stream_id``, ``cc``, ``mtu``, ``key``, ``dir``, ``client``,
            ``connect_timeout_s``, ``wait_for``, ``linger_s``, ``rate`` and ``max_message_length``,
            as :class:`rstream.stream.PublisherOptions` explains them.
    Raises:
        ConfigError: an argument cannot be used, or this release does not serve it.
        DriverError: there is no driver, or it refused the channel.

    Example::

        with rstream.publisher("ticks", channel=rstream.Channel.udp("10.0.0.7:40123")) as pub:
            pub.send({"px": 1.0})
    """
    chosen = settings(PublisherSettings, "publisher", options, "type", "codec")
    sent, used = send_settings(name, type, codec, chosen)
    return _session.opened(chosen.dir, chosen.client, lambda link: Publisher[Any](link, sent, used))


def send_settings(
    name: str | int, type: Any, codec: CodecLike, chosen: PublisherSettings
) -> tuple[SendSettings, Codec[Any]]:
    """Check the arguments of a publisher; returns its settings and its codec.

    Raises:
        ConfigError: an argument cannot be used.
    """
    channel = with_link_options(
        chosen.channel, is_publisher=True, cc=chosen.cc, mtu=chosen.mtu, key=chosen.key
    )
    stream, uri, number = resolve_address(name, channel, chosen.stream_id)
    _check_waits(chosen, uri)
    sent = SendSettings(
        name=stream,
        channel=with_rate(uri, chosen.rate),
        stream_id=number,
        connect_timeout_s=chosen.connect_timeout_s,
        wait_for=chosen.wait_for,
        linger_s=chosen.linger_s,
        parted_length_max=chosen.max_message_length if stream else 0,
    )
    return sent, choose(type, codec)


def _check_waits(chosen: PublisherSettings, uri: str) -> None:
    if chosen.connect_timeout_s is not None:
        _check_wait("connect_timeout_s", chosen.connect_timeout_s)
    _check_wait("linger_s", chosen.linger_s)
    if not is_whole(chosen.wait_for) or chosen.wait_for < 1:
        raise ConfigError(
            f"wait_for={chosen.wait_for!r}: must be a whole number of subscribers, at least 1"
        )
    if chosen.wait_for > 1 and not counts_readers(uri):
        raise ConfigError(
            f"wait_for={chosen.wait_for}: on {uri} the subscribers are not counted; give the "
            'channel flow_control="min" or "tagged", or use shared memory'
        )


def _check_wait(name: str, seconds: float) -> None:
    check_seconds(name, seconds)
    if seconds == float("inf"):
        raise ConfigError(f"{name}={seconds!r}: must be a limited number of seconds")


@overload
def subscriber(
    name: str | int,
    type: None = None,
    *,
    codec: str | None = None,
    **options: Unpack[SubscriberOptions],
) -> Subscriber[Any]: ...
@overload
def subscriber(
    name: str | int,
    type: None = None,
    *,
    codec: Codec[T] | TypeForm[T],
    **options: Unpack[SubscriberOptions],
) -> Subscriber[T]: ...
@overload
def subscriber(
    name: str | int,
    type: TypeForm[T],
    *,
    codec: Codec[T] | str | None = None,
    **options: Unpack[SubscriberOptions],
) -> Subscriber[T]: ...
def subscriber(
    name: str | int,
    type: Any = None,
    *,
    codec: CodecLike = None,
    **options: Unpack[SubscriberOptions],
) -> Subscriber[Any]:
    """Open a receiving side of a stream. It gets every message that is sent from now on.

    A subscriber that comes late gets no history; for the last value first, ask a service that keeps
    it (docs/how-to/late-subscribers.md). In shared memory a subscriber begins where the slowest
    reader of the publisher is, as the driver saw it some milliseconds ago. So it also gets messages
    that one has yet to read. When all readers have gone, it begins where the one that had read most
    stopped. Over UDP it begins with the next message, unless its driver receives the session
    already: then as in shared memory.

    Args:
        name: the stream's name, or a stream id for raw channels.
        type: the type of the objects; it chooses the codec (:func:`rstream.codecs.codec_for`).
        codec: overrides ``type``: a codec, its name (``"raw"``, ``"msgpack"``, ``"numpy"``,
            ``"arrow"``), or a type.
        options: ``channel``, ``stream_id``, ``rcv_wnd``, ``cc``, ``key``, ``sources``,
            ``prefetch``, ``on_slow``, ``on_lost``, ``on_gap``, ``stays``, ``max_message_length``,
            ``limits``, ``dir`` and ``client``, as :class:`rstream.stream.SubscriberOptions`
            explains them.
    Raises:
        ConfigError: an argument cannot be used, or this release does not serve it.
        DriverError: there is no driver, or it refused the channel.

    Example::

        with rstream.subscriber("ticks", on_slow=rstream.policy.Latest()) as sub:
            for tick in sub:
                print(tick)
        with rstream.subscriber("orders", stays=True) as orders:  # of one publisher after another
            for order in orders:
                print(order)
    """
    chosen = settings(SubscriberSettings, "subscriber", options, "type", "codec")
    return face_of(reader_opener(name, choose(type, codec), chosen)())


def reader_opener(
    name: str | int, codec: Codec[Any], chosen: SubscriberSettings, *, is_reactive: bool = False
) -> Callable[[], StreamReading[Any] | BufferedReading[Any]]:
    """Check the arguments of a subscriber; the result opens the engine of one.

    Args:
        is_reactive: its subscriber calls ``request(n)``.
    Raises:
        ConfigError: an argument cannot be used.
    """
    channel = with_link_options(
        chosen.channel,
        is_publisher=False,
        rcv_wnd=chosen.rcv_wnd,
        cc=chosen.cc,
        key=chosen.key,
        sources=chosen.sources,
    )
    stream, uri, number = resolve_address(name, channel, chosen.stream_id)
    has_queue = queue_of(chosen.on_slow) is not None
    _check_losses(chosen.on_lost, chosen.on_gap)
    check_trust(codec, uri)
    _check_views(codec, uri, chosen.on_slow, has_queue=has_queue)

    def open_reading(evict: policy.Evict | None) -> StreamReading[Any]:
        return _open_reading(
            stream or number,
            [uri],
            number,
            codec=codec,
            prefetch=chosen.prefetch,
            on_lost=chosen.on_lost,
            on_gap=chosen.on_gap,
            stays=chosen.stays,
            is_demanded=is_reactive and not has_queue,
            max_message_length=chosen.max_message_length,
            limits=chosen.limits,
            evict=evict,
            dir=chosen.dir,
            client=chosen.client,
        )

    return lambda: under_policy(chosen.on_slow, open_reading)


def under_policy(
    on_slow: policy.SlowPolicy,
    open_reading: Callable[[policy.Evict | None], StreamReading[Any]],
) -> StreamReading[Any] | BufferedReading[Any]:
    """Begin to read, and put the queue of the policy in front if the policy has one.

    Args:
        on_slow: the policy.
        open_reading: opens the stream; its argument is the policy if that is ``Evict``.
    Raises:
        ConfigError: the policy cannot be used. Nothing was opened.
    """
    queue = queue_of(on_slow)
    opened = open_reading(on_slow if isinstance(on_slow, policy.Evict) else None)
    if queue is None:
        return opened
    if opened.takes_views:
        opened.close()
        raise _views_in_queue(on_slow)
    return BufferedReading(opened, queue, on_slow).start()


@names_keywords
def reader(
    name: str | int,
    type: Any = None,
    *,
    channels: Sequence[Channel | str] | None = None,
    stream_id: int | None = None,
    codec: CodecLike = None,
    prefetch: Prefetch = "auto",
    on_lost: OnLost = "event",
    on_gap: OnGap = "raise",
    stays: bool = False,
    hold: bool = False,
    evict: policy.Evict | None = None,
    max_message_length: int = MESSAGE_LENGTH,
    limits: Limits | None = None,
    dir: str | None = None,
    client: Client | None = None,
) -> Reader[Any]:
    """Open a reader of one stream over several channels at once, such as shared memory and UDP.

    Args:
        name: the stream's name, or a stream id for raw channels.
        type: the type of the objects; it chooses the codec.
        channels: the channels to read; None: shared memory.
        stream_id: replaces the stream id made from the name; the same on all channels.
        codec: a codec, its name or a type; overrides ``type``.
        prefetch: as for :func:`rstream.subscriber`; of each channel.
        on_lost: as for :func:`rstream.subscriber`, but ``"event"`` by default: publishers of such a
            stream come and go, and the error of one concerns none of the others.
        on_gap, stays: as for :func:`rstream.subscriber`.
        hold: True counts the result of a poll as consumed at the next poll, not at once. A
            publisher that waits until its messages are consumed then waits until they are
            processed.
        evict: let the stream go on without this reader when it holds the stream and stands still.
            The other policies are queues in front of a reader: :func:`under_policy`.
        max_message_length, limits, dir, client: as for :func:`rstream.subscriber`.
    Raises:
        ConfigError, DriverError: as for :func:`rstream.subscriber`.
    """
    reading = _open_reading(
        name,
        channels,
        stream_id,
        codec=choose(type, codec),
        prefetch=prefetch,
        on_lost=on_lost,
        on_gap=on_gap,
        stays=stays,
        hold=hold,
        evict=evict,
        max_message_length=max_message_length,
        limits=limits,
        dir=dir,
        client=client,
    )
    return Reader(reading)


def _open_reading(
    name: str | int,
    channels: Sequence[Channel | str] | None,
    stream_id: int | None,
    *,
    codec: Codec[Any],
    prefetch: Prefetch,
    on_lost: OnLost,
    on_gap: OnGap,
    dir: str | None,
    client: Client | None,
    stays: bool = False,
    is_demanded: bool = False,
    hold: bool = False,
    evict: policy.Evict | None = None,
    max_message_length: int = MESSAGE_LENGTH,
    limits: Limits | None = None,
) -> StreamReading[Any]:
    codec = limited(codec, limits)
    check_prefetch(prefetch)
    check_message_length(max_message_length)
    _check_losses(on_lost, on_gap)
    if evict is not None:
        check_evict(evict)
    wanted: Sequence[Channel | str | None] = [None] if channels is None else channels
    if not wanted:
        raise ConfigError("channels is empty: give at least one")
    addresses = [resolve_address(name, one, stream_id) for one in wanted]
    uris = [uri for _, uri, _ in addresses]
    for uri in uris:
        if uris.count(uri) > 1:
            raise ConfigError(f"channels has {uri} twice: each message would come twice")
        check_trust(codec, uri)
        _check_views(codec, uri, evict)
    options: dict[str, Any] = {
        "name": addresses[0][0],
        "channels": [evicting_channel(uri, evict) for _, uri, _ in addresses],
        "stream_id": addresses[0][2],
        "codec": codec,
        "prefetch": prefetch,
        "on_lost": on_lost,
        "on_gap": on_gap,
        "stays": stays,
        "is_demanded": is_demanded,
        "hold": hold,
        "evict": evict,
        "max_message_length": max_message_length,
    }
    return _session.opened(dir, client, lambda link: StreamReading[Any](link, **options))


def _check_losses(on_lost: object, on_gap: OnGap) -> None:
    if on_lost not in ("raise", "event"):
        raise ConfigError(f'on_lost={on_lost!r}: must be "raise" or "event"')
    check_on_gap(on_gap)


def _check_views(
    codec: Codec[Any], uri: str, on_slow: policy.SlowPolicy | None, *, has_queue: bool = False
) -> None:
    """Refuse views where their memory may change, or where they pile up.

    Raises:
        ConfigError: the codec makes views, and the policy or the channel does not go with them.
    """
    if not takes_views(codec):
        return
    if has_queue:
        raise _views_in_queue(on_slow)
    is_evicting = isinstance(on_slow, policy.Evict)
    if is_evicting or ChannelUri.parse(uri).get("tether") == "false":
        raise ConfigError(
            f"channel {uri}{' with on_slow=Evict' if is_evicting else ''}, and {VIEWS}: the stream "
            "may go on without this reader, and change what they show",
            hint=NO_VIEWS,
        )


def _views_in_queue(on_slow: policy.SlowPolicy | None) -> ConfigError:
    return ConfigError(f"on_slow={on_slow!r} with {VIEWS}: a queue would keep them", hint=NO_VIEWS)


def check_trust(codec: Codec[Any], uri: str) -> None:
    """Refuse a codec that runs what the network sends, unless the user trusts the network.

    Raises:
        ConfigError: codec pickle on UDP without ``trusted_network=True``.
    """
    channel = ChannelUri.parse(uri)
    is_network = channel.media == "udp" and not channel.is_spy
    if is_network and getattr(codec, "needs_trusted_network", False):
        raise ConfigError(
            f"channel {uri}: codec pickle would run code that any datagram to this port brings",
            hint="use msgpack or arrow; or write trusted_network=True if only trusted programs can "
            "reach the port",
        )


@overload
def source(
    name: str | int,
    type: None = None,
    *,
    codec: str | None = None,
    executor: Executor | None = None,
    **options: Unpack[SubscriberOptions],
) -> abc.Publisher[Any]: ...
@overload
def source(
    name: str | int,
    type: None = None,
    *,
    codec: Codec[T] | TypeForm[T],
    executor: Executor | None = None,
    **options: Unpack[SubscriberOptions],
) -> abc.Publisher[T]: ...
@overload
def source(
    name: str | int,
    type: TypeForm[T],
    *,
    codec: Codec[T] | str | None = None,
    executor: Executor | None = None,
    **options: Unpack[SubscriberOptions],
) -> abc.Publisher[T]: ...
def source(
    name: str | int,
    type: Any = None,
    *,
    codec: CodecLike = None,
    executor: Executor | None = None,
    **options: Unpack[SubscriberOptions],
) -> abc.Publisher[Any]:
    """A stream as a Reactive Streams publisher: each ``subscribe`` reads the stream from then on.

    Args:
        name, type, codec: as for :func:`rstream.subscriber`.
        executor: runs the loops; None: a daemon thread for each subscriber.
        options: as for :func:`rstream.subscriber`. Never more messages are taken than were
            requested. Publishers are told what was requested and is not delivered yet, but never
            more than a number given as ``prefetch``. A policy's queue fills on its own; demand
            takes from it.
    Raises:
        ConfigError: an argument cannot be used. All other errors reach ``on_error``.
    """
    chosen = settings(SubscriberSettings, "source", options, "type", "codec", "executor")
    open_reading = reader_opener(name, choose(type, codec), chosen, is_reactive=True)
    return StreamSource(open_reading, str(name), executor)


@overload
def sink(
    name: str | int,
    type: None = None,
    *,
    codec: str | None = None,
    window: int = PREFETCH,
    executor: Executor | None = None,
    **options: Unpack[PublisherOptions],
) -> StreamSink[Any]: ...
@overload
def sink(
    name: str | int,
    type: None = None,
    *,
    codec: Codec[T] | TypeForm[T],
    window: int = PREFETCH,
    executor: Executor | None = None,
    **options: Unpack[PublisherOptions],
) -> StreamSink[T]: ...
@overload
def sink(
    name: str | int,
    type: TypeForm[T],
    *,
    codec: Codec[T] | str | None = None,
    window: int = PREFETCH,
    executor: Executor | None = None,
    **options: Unpack[PublisherOptions],
) -> StreamSink[T]: ...
def sink(
    name: str | int,
    type: Any = None,
    *,
    codec: CodecLike = None,
    window: int = PREFETCH,
    executor: Executor | None = None,
    **options: Unpack[PublisherOptions],
) -> StreamSink[Any]:
    """A Reactive Streams subscriber that sends every element into a stream.

    Args:
        name, type, codec: as for :func:`rstream.publisher`.
        window: most elements requested from the upstream and not yet sent; fewer when the readers
            want fewer.
        executor: runs the loop that waits for the readers' demand; None: a thread of its own.
        options: as for :func:`rstream.publisher`.
    Raises:
        ConfigError, DriverError: as for :func:`rstream.publisher`.
    """
    if window < 1:
        raise ConfigError(f"window={window}: must be at least 1 element")
    settings(PublisherSettings, "sink", options, "type", "codec", "window", "executor")
    opened = publisher(name, codec=choose(type, codec), **options)
    return StreamSink(opened, window, executor)


def processor(function: Callable[[T], R]) -> MapProcessor[T, R]:
    """A processor that gives ``function(item)`` to one downstream subscriber.

    Demand passes through it.
    """
    return MapProcessor(function)
