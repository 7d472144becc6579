"""Opening the reading end of a stream inside a Ray actor, and making its handle.

All actors of a host share its ``rstreamd``. Every endpoint has a stream id and a UDP port of its
own, so a handle is the address of one reader. A restarted actor has the same ones again:
:mod:`rstream.ray._places`.
"""

from __future__ import annotations

import errno
import functools
import os
import time
from typing import TYPE_CHECKING, Any

from rstream import policy, stream
from rstream._keywords import names_keywords
from rstream.channel import Channel
from rstream.codecs._choose import choose_for_handle
from rstream.driver import resolve_dir
from rstream.errors import ConfigError, RegistrationError, RStreamError
from rstream.ledger._subscriber import STAGING_BYTES, CommittedSubscriber
from rstream.ray._endpoint import Endpoint
from rstream.ray._handle import StreamHandle, host_token
from rstream.ray._places import Place, Seat, running_ray
from rstream.stream._buffered import BufferedSubscriber
from rstream.stream._names import new_stream_id
from rstream.stream._open import under_policy
from rstream.stream._options import check_prefetch
from rstream.stream._parts import MESSAGE_LENGTH

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream.codecs import CodecLike
    from rstream.ledger import Ledger
    from rstream.rate import RateLimit
    from rstream.stream import Reader, Subscriber
    from rstream.stream._options import Prefetch
    from rstream.stream._report import OnLost

#: Terms of handle streams: 1 MiB, so a window of 512 KiB; messages over 128 KiB go in parts.
DEFAULT_TERM_LENGTH = 1 << 20
#: Largest receiver window in bytes.
WINDOW_MAX = 1 << 20
#: How long a restarted actor waits for its old port. Longer than the client liveness timeout of a
#: driver (10 s), after which the driver frees the port of the dead actor.
REJOIN_TIMEOUT_S = 20.0


@names_keywords
def open_reader(
    name: str,
    type: Any = None,
    *,
    codec: CodecLike = None,
    dir: str | None = None,
    udp: bool = True,
    port: int = 0,
    host: str | None = None,
    bind: str | None = None,
    trusted_network: bool = False,
    term_length: int = DEFAULT_TERM_LENGTH,
    prefetch: Prefetch = "auto",
    rate: RateLimit | None = None,
    on_slow: policy.SlowPolicy = policy.Block(),
    on_lost: OnLost = "event",
    max_message_length: int = MESSAGE_LENGTH,
    ledger: Ledger | None = None,
    staging_bytes: int = STAGING_BYTES,
) -> Endpoint:
    """Open the reading end of a stream and make its handle.

    The handle is the address of this reader alone, also when others have the same name. Readers
    that want to share what is sent to a name use :func:`rstream.subscriber` with that name.

    Args:
        name: the stream's name.
        type: the type of the objects; it chooses the codec, as for :func:`rstream.subscriber`.
        codec: overrides ``type``: ``raw``, ``msgpack``, ``arrow``, ``numpy``, or ``pickle``, which
            runs code that writers choose; or a type, or a codec object. The handle carries a
            name: where the codec has none (your own), writers pass it to
            ``handle.publisher(codec=...)``.
        dir: driver directory; default: the host's shared one.
        udp: also bind a UDP port, so that writers on other hosts can reach this reader.
        port: UDP port; 0: any free one (a restarted Ray actor gets its old one again).
        host: address to advertise; default: Ray's node address, else 127.0.0.1.
        bind: local address to bind the port to; default: the advertised one, so that only its
            network reaches the port. ``"0.0.0.0"`` lets every network in.
        trusted_network: with ``codec="pickle"`` and ``udp=True`` it must be True: whoever reaches
            the port can run code here.
        term_length: bytes of a term, a power of two; half of it is the window. Messages over an
            eighth of it travel in parts.
        prefetch: as for :func:`rstream.subscriber`: how far writers that make elements on demand
            may be ahead of ``on_item``.
        rate: how fast a writer of the handle may send unless it chooses a rate itself; None: as
            the writer's driver says.
        on_slow: what happens when the actor is slower than its writers; see
            docs/how-to/slow-consumers.md.
            A policy's queue fills from now on; :meth:`Endpoint.statistics` has its counts.
        on_lost: what happens when a writer dies, fails, or sends what cannot be read. ``"event"``
            (default): :meth:`Endpoint.events` tells it, and the endpoint reads on for the others.
            ``"raise"``: the endpoint ends with the error.
        max_message_length: as for :func:`rstream.subscriber`: longest message that is put together
            from its parts, in bytes (1 GiB).
        ledger: for ``codec="arrow"``: what remembers the rows and commits of Spark's sink; None:
            memory, until this end is closed (:mod:`rstream.ledger`).
        staging_bytes: for ``codec="arrow"``: most bytes of rows that wait for their commit.
    Returns:
        An :class:`Endpoint`; its ``handle`` can be pickled and passed to any actor or task.
    Raises:
        ConfigError: an argument cannot be used.
        DriverError: there is no driver, or it refused a channel (the port may be taken).
    """
    check_prefetch(prefetch)
    reader_codec, codec_name = choose_for_handle(type, codec, trusted_network=trusted_network)
    seat = Seat(name)
    try:
        place = seat.recall() or Place(new_stream_id())
        node = host or _node_address()
        directory = resolve_dir(dir)
        ipc_channel = Channel.ipc(name=name, term_length=term_length)
        channels = [ipc_channel]
        if udp:
            address = address_of(bind or node, port or place.port)
            channels.append(_listening(name, address, term_length, place.socket_tag))
        opened = functools.partial(
            stream.reader,
            name,
            channels=channels,
            stream_id=place.stream_id,
            codec=reader_codec,
            prefetch=prefetch,
            on_lost=on_lost,
            max_message_length=max_message_length,
            hold=True,
            dir=directory,
        )
        patience_s = REJOIN_TIMEOUT_S if udp and place.port and not port else 0.0
        source = under_policy(on_slow, lambda evict: _retry(opened, evict, patience_s))
        reader: Reader[Any] = source.reader if isinstance(source, BufferedSubscriber) else source
        try:
            bound = _bound_port(reader) if udp else 0
            seat.remember(Place(place.stream_id, bound))
        except BaseException:
            source.close()
            raise
    except BaseException as error:
        seat.leave()
        if bind is None and isinstance(error, RegistrationError):
            _hint_at_bind(error)
        raise
    endpoint = address_of(node, bound) if udp else ""
    udp_channel = (
        Channel.udp(endpoint, name=name, term_length=term_length, rate=rate) if udp else ""
    )
    handle = StreamHandle(
        name=name,
        stream_id=place.stream_id,
        ipc_channel=str(ipc_channel.replace(rate=rate)),
        endpoint=endpoint,
        udp_channel=str(udp_channel),
        host_token=host_token(directory),
        driver_dir=directory,
        node=node,
        codec=codec_name,
    )
    try:
        form = getattr(reader_codec, "form", "batch")
        refusal = "" if form == "batch" else f"it hands out {form} objects, not record batches"
        if isinstance(source, BufferedSubscriber):
            refusal = "its on_slow policy may drop rows; open it with on_slow=Block()"
        committing = _committing(source, handle, place.socket_tag, ledger, staging_bytes, refusal)
    except BaseException:
        source.close()
        seat.leave()
        raise
    return Endpoint(reader, handle, committing, on_closed=seat.leave)


def _committing(
    source: Subscriber[Any],
    handle: StreamHandle,
    socket_tag: int,
    ledger: Ledger | None,
    staging_bytes: int,
    refusal: str,
) -> Subscriber[Any]:
    """The source, in front of it what Spark's sink needs to commit its rows.

    Raises:
        ConfigError: there is a ledger, but no record batches; or the ledger cannot be used.
    """
    if handle.codec != "arrow":
        if ledger is not None:
            raise ConfigError(
                f"stream {handle.name!r}: ledger= is for the rows of Spark's sink, and the codec "
                f"is {handle.codec}",
                hint='open the reader with codec="arrow"',
            )
        return source
    channels = {"ipc": "aeron:ipc"}
    if handle.endpoint:  # on the same socket
        channels["udp"] = f"aeron:udp?tags={socket_tag}"
    return CommittedSubscriber(
        source,
        name=handle.name,
        stream_id=handle.stream_id,
        channels=channels,
        dir=handle.driver_dir,
        ledger=ledger,
        staging_bytes=staging_bytes,
        refusal=refusal,
    )


def address_of(host: str, port: int) -> str:
    """``host:port``, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host and not host.startswith("[") else f"{host}:{port}"


def _listening(name: str, address: str, term_length: int, socket_tag: int) -> Channel:
    """The channel on which a reader listens for writers of other hosts."""
    window = min(term_length // 2, WINDOW_MAX)
    return Channel(
        media="udp",
        endpoint=address,
        name=name,
        receiver_window=window,
        socket_rcvbuf=2 * window,
        channel_tag=socket_tag,
    )


def _retry(
    open_it: Callable[..., Reader[Any]], evict: policy.Evict | None, timeout_s: float
) -> Reader[Any]:
    """Try until the driver has given the dead actor's client up, which frees its port."""
    deadline_s = time.monotonic() + timeout_s
    while True:
        try:
            return open_it(evict=evict)
        except RegistrationError:
            if time.monotonic() >= deadline_s:
                raise
            time.sleep(0.1)


def _hint_at_bind(error: RegistrationError) -> None:
    """Say what to do when the advertised address is none of this host's."""
    if any(text in str(error) for text in (os.strerror(errno.EADDRNOTAVAIL), "unknown host")):
        error.hint = (
            "the port is bound to the address that the handle advertises; give bind= an address of "
            'this host, or "0.0.0.0" for all of them'
        )


def _node_address() -> str:
    ray = running_ray()
    return "127.0.0.1" if ray is None else str(ray.util.get_node_ip_address())


def _bound_port(reader: Reader[Any]) -> int:
    for subscription in reader.subscriptions:
        address = subscription.local_address
        if address:
            return int(address.rsplit(":", 1)[1])
    raise RStreamError("the reader's UDP port is not known: the driver published no local address")
