"""Opening the two ends of shared work: check the arguments, choose the codec."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, overload

from rstream._checks import check_seconds
from rstream._keywords import names_keywords
from rstream.codecs import choose
from rstream.errors import ConfigError
from rstream.stream._internal import check_trust
from rstream.work._giving import Giving
from rstream.work._protocol import PREFETCH_MAX, check_address, check_count
from rstream.work._publisher import Publisher
from rstream.work._settings import GivingSettings, TakingSettings
from rstream.work._subscriber import Subscriber
from rstream.work._taking import Taking

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from typing_extensions import TypeForm

    from rstream.channel import Channel
    from rstream.codecs import Codec, CodecLike

__all__ = ("WorkPublisherOptions", "WorkSubscriberOptions", "publisher", "subscriber")

T = TypeVar("T")
Acknowledge = Literal["next", "explicit"]


class WorkPublisherOptions(TypedDict, total=False):
    """Keywords of :func:`rstream.work.publisher`, for what opens one in another way."""

    channel: Channel | str | None
    redeliver: bool
    deliveries_max: int | None
    reader_losses_max: int | None
    unacknowledged_max: int
    connect_timeout_s: float | None
    linger_s: float
    dir: str | None


class WorkSubscriberOptions(TypedDict, total=False):
    """Keywords of :func:`rstream.work.subscriber`, for what opens one in another way."""

    channel: Channel | str | Sequence[Channel | str] | None
    host: str | None
    port: int
    prefetch: int
    acknowledge: Acknowledge
    stays: bool
    dir: str | None


@overload
def publisher(
    name: str,
    type: TypeForm[T],
    *,
    codec: Codec[T] | str | None = None,
    channel: Channel | str | None = None,
    redeliver: bool = True,
    deliveries_max: int | None = 5,
    reader_losses_max: int | None = 2,
    unacknowledged_max: int = 65_536,
    connect_timeout_s: float | None = 10.0,
    linger_s: float = 60.0,
    dir: str | None = None,
) -> Publisher[T]: ...
@overload
def publisher(
    name: str,
    type: None = None,
    *,
    codec: CodecLike = None,
    channel: Channel | str | None = None,
    redeliver: bool = True,
    deliveries_max: int | None = 5,
    reader_losses_max: int | None = 2,
    unacknowledged_max: int = 65_536,
    connect_timeout_s: float | None = 10.0,
    linger_s: float = 60.0,
    dir: str | None = None,
) -> Publisher[Any]: ...
@names_keywords
def publisher(
    name: str,
    type: Any = None,
    *,
    codec: CodecLike = None,
    channel: Channel | str | None = None,
    redeliver: bool = True,
    deliveries_max: int | None = 5,
    reader_losses_max: int | None = 2,
    unacknowledged_max: int = 65_536,
    connect_timeout_s: float | None = 10.0,
    linger_s: float = 60.0,
    dir: str | None = None,
) -> Publisher[Any]:
    """Open a publisher that gives each message to *one* reader, one that has free demand.

    Several publishers may have one name; a reader serves them all.

    Args:
        name: the name of the work. Plain publishers and subscribers of it are something else.
        type, codec: as for :func:`rstream.publisher`.
        channel: None (default): shared memory. UDP: the address where *this publisher* listens for
            readers; each publisher has its own.
        redeliver: what happens to messages that a reader had not acknowledged when it died. True
            (default): another reader gets them, marked (:attr:`Job.delivery`): at least once.
            False: they are told by :meth:`Publisher.events`: at most once.
        deliveries_max: a message that was given to a reader so often, without being acknowledged,
            is not sent again but told by :meth:`Publisher.events`. None: no limit.
        reader_losses_max: the same after so many readers died or left while they had it: it may be
            what ends them. 1: after the first one. None: only ``deliveries_max`` counts.
        unacknowledged_max: messages that were sent and are not acknowledged; ``send`` waits beyond.
            They are held in memory.
        connect_timeout_s: seconds that ``send`` waits for a first reader; None: for ever.
        linger_s: seconds that ``close`` waits until everything is acknowledged. If something is
            not, the ``with`` block raises :class:`MessagesLost`; with 0 it waits for nothing, and
            does not.
        dir: driver directory; None: the host's shared one.
    Raises:
        ConfigError: an argument cannot be used.
        DriverError: there is no driver, or it refused the channel.

    Example::

        with rstream.work.publisher("jobs") as jobs:
            for path in paths:
                jobs.send(path)
    """
    open_it = publisher_opener(
        name,
        type,
        codec,
        channel=channel,
        redeliver=redeliver,
        deliveries_max=deliveries_max,
        reader_losses_max=reader_losses_max,
        unacknowledged_max=unacknowledged_max,
        connect_timeout_s=connect_timeout_s,
        linger_s=linger_s,
        dir=dir,
    )
    return Publisher(open_it())


def publisher_opener(
    name: str,
    type: Any,
    codec: CodecLike,
    *,
    channel: Channel | str | None = None,
    redeliver: bool = True,
    deliveries_max: int | None = 5,
    reader_losses_max: int | None = 2,
    unacknowledged_max: int = 65_536,
    connect_timeout_s: float | None = 10.0,
    linger_s: float = 60.0,
    dir: str | None = None,
) -> Callable[..., Giving[Any]]:
    """Check the arguments of a publisher; the result opens what both faces share. It takes
    ``made_at``.

    Raises:
        ConfigError: an argument cannot be used.
    """
    stream_name, uri = check_address(name, channel)
    if not isinstance(redeliver, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigError(f"redeliver={redeliver!r}: must be True or False")
    if deliveries_max is not None:
        check_count("deliveries_max", deliveries_max, 1 << 31)
    if reader_losses_max is not None:
        check_count("reader_losses_max", reader_losses_max, 1 << 31)
    check_count("unacknowledged_max", unacknowledged_max, 1 << 31)
    if connect_timeout_s is not None:
        check_seconds("connect_timeout_s", connect_timeout_s)
    check_seconds("linger_s", linger_s)
    chosen = GivingSettings(
        name=stream_name,
        uri=uri,
        redeliver=redeliver,
        deliveries_max=deliveries_max,
        reader_losses_max=reader_losses_max,
        unacknowledged_max=unacknowledged_max,
        connect_timeout_s=connect_timeout_s,
        linger_s=linger_s,
        dir=dir,
    )
    chosen_codec = choose(type, codec)
    return functools.partial(Giving, chosen, chosen_codec)


@overload
def subscriber(
    name: str,
    type: TypeForm[T],
    *,
    codec: Codec[T] | str | None = None,
    channel: Channel | str | Sequence[Channel | str] | None = None,
    host: str | None = None,
    port: int = 0,
    prefetch: int = 1,
    acknowledge: Acknowledge = "next",
    stays: bool = False,
    dir: str | None = None,
) -> Subscriber[T]: ...
@overload
def subscriber(
    name: str,
    type: None = None,
    *,
    codec: CodecLike = None,
    channel: Channel | str | Sequence[Channel | str] | None = None,
    host: str | None = None,
    port: int = 0,
    prefetch: int = 1,
    acknowledge: Acknowledge = "next",
    stays: bool = False,
    dir: str | None = None,
) -> Subscriber[Any]: ...
@names_keywords
def subscriber(
    name: str,
    type: Any = None,
    *,
    codec: CodecLike = None,
    channel: Channel | str | Sequence[Channel | str] | None = None,
    host: str | None = None,
    port: int = 0,
    prefetch: int = 1,
    acknowledge: Acknowledge = "next",
    stays: bool = False,
    dir: str | None = None,
) -> Subscriber[Any]:
    """Open a reader that takes jobs: each message goes to one reader of the name.

    Args:
        name: the name of the work.
        type, codec: as for :func:`rstream.subscriber`.
        channel: None (default): shared memory. UDP: the address where the publisher listens; of
            several publishers, a list.
        host: UDP: the local address at which publishers reach this reader; None: the one from which
            it reaches the first of them. Its datagrams must come from that address: publishers send
            jobs nowhere else.
        port: UDP: the port there; 0: any free one.
        prefetch: jobs that it takes before it has acknowledged them: what it is working on, and
            what waits here. 1 (default): no job waits here while another reader is free. More save
            a round trip between small jobs. Several publishers that send at the same moment may
            each send one more.
        acknowledge: ``"next"`` (default): a job is done when the next one is asked for, or the
            ``with`` block ends without an error. ``"explicit"``: when :meth:`Job.ack` is called, in
            any order.
        stays: True: a loop does not end when every publisher seen has completed. With False, too,
            a reader that starts when its publisher has closed already waits for another one. To end
            instead, wait for the first job by ``get(timeout_s=…)``.
        dir: driver directory; None: the host's shared one.
    Raises:
        ConfigError: an argument cannot be used.
        DriverError: there is no driver, or it refused a channel.

    Example::

        with rstream.work.subscriber("jobs") as jobs:
            for job in jobs:
                convert(job.item)
    """
    open_it = subscriber_opener(
        name,
        type,
        codec,
        channel=channel,
        host=host,
        port=port,
        prefetch=prefetch,
        acknowledge=acknowledge,
        stays=stays,
        dir=dir,
    )
    return Subscriber(open_it())


def subscriber_opener(
    name: str,
    type: Any,
    codec: CodecLike,
    *,
    channel: Channel | str | Sequence[Channel | str] | None = None,
    host: str | None = None,
    port: int = 0,
    prefetch: int = 1,
    acknowledge: Acknowledge = "next",
    stays: bool = False,
    dir: str | None = None,
) -> Callable[..., Taking[Any]]:
    """Check the arguments of a subscriber; the result opens what both faces share. It takes
    ``made_at``.

    Raises:
        ConfigError: an argument cannot be used.
    """
    wanted = [channel] if channel is None or not isinstance(channel, (list, tuple)) else channel
    addresses = [check_address(name, one) for one in wanted]
    if not addresses:
        raise ConfigError("channel is empty: give at least one")
    uris = list(dict.fromkeys(uri for _, uri in addresses))
    if len({uri.partition("?")[0] for uri in uris}) > 1 or (channel is None and len(uris) > 1):
        raise ConfigError(f"channel={uris}: give UDP addresses, or leave it out for shared memory")
    check_count("prefetch", prefetch, PREFETCH_MAX)
    if acknowledge not in ("next", "explicit"):
        raise ConfigError(f'acknowledge={acknowledge!r}: must be "next" or "explicit"')
    chosen_codec = choose(type, codec)
    for uri in uris:
        check_trust(chosen_codec, uri)
    chosen = TakingSettings(
        name=addresses[0][0],
        uris=uris,
        host=host,
        port=port,
        prefetch=prefetch,
        acknowledge=acknowledge,
        stays=stays,
        dir=dir,
    )
    return functools.partial(Taking, chosen, chosen_codec)
