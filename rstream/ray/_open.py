"""Opening the reading end of a stream inside a Ray actor, and making its handle.

All actors of a host share its ``rstreamd``. Every endpoint has a stream id and a UDP port of its
own, so a handle is the address of one reader. A restarted actor has the same ones again:
:mod:`rstream.ray._places`.
"""

from __future__ import annotations

import errno
import functools
import logging
import os
import secrets
import uuid
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from rstream import policy, stream
from rstream._addresses import bound_port
from rstream._channel_uri import ChannelUri
from rstream._link_options import READER_LAWS, with_link_options
from rstream._session import Patience
from rstream._waits import run
from rstream.channel import Channel
from rstream.codecs._internal import choose_for_handle, limited
from rstream.driver import resolve_dir
from rstream.errors import ConfigError, NameTaken, RegistrationError
from rstream.keys import GroupKey
from rstream.ray import _registry
from rstream.ray._cluster import class_name, running_ray, this_process
from rstream.ray._endpoint import Endpoint
from rstream.ray._handle import StreamHandle, host_token
from rstream.ray._job_key import key_of_reader
from rstream.ray._places import ReaderPlace, Seat, place_of
from rstream.ray._reader_options import settings
from rstream.ray._refusal import make_room, refuse, who_holds
from rstream.ray._roster import Record
from rstream.ray._work import Share, check_share, work_codec
from rstream.stream._internal import (
    BufferedReading,
    check_name,
    check_prefetch,
    face_of,
    new_stream_id,
    reading_of,
    under_policy,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream.codecs import Codec, CodecLike
    from rstream.ray._cluster import EndpointHolder
    from rstream.ray._reader_options import EndpointOptions, EndpointSettings
    from rstream.stream._internal import Reading, StreamReading

log = logging.getLogger("rstream")

#: Window of a reader whose writers do not follow the path: half of a term of named streams.
WINDOW = 1 << 19
#: The largest where longer terms are given.
WINDOW_MAX = 1 << 20
#: A restarted actor waits for its old port. A driver frees it 0.4 s after the death; where it only
#: knows deaths by heartbeats, after its client liveness timeout (10 s).
PATIENCE = Patience(RegistrationError, pause_s=0.02, timeout_s=12.0)


def reader(
    name: str | None = None,
    type: Any = None,
    *,
    codec: CodecLike = None,
    share: Share = "all",
    trusted_network: bool = False,
    on_slow: policy.SlowPolicy = policy.Block(),
    **options: Unpack[EndpointOptions],
) -> Endpoint:
    """Open a reading end in an actor, a task or a program, and make its handle.

    The handle is the address of this reader alone. Readers that want to share what is sent to a
    name use :func:`rstream.subscriber` with that name. Committed rows of Spark's sink go to a
    :func:`rstream.ray.committed_reader`.

    Args:
        name: None (default): the endpoint has an address of its own and no name that others could
            find, so two actors of one class never share a stream. A name is registered with Ray:
            :func:`rstream.ray.handle` finds it from any actor, task or program of the namespace.
            Where Ray does not run, it is only for people.
        type: the type of the objects; it chooses the codec, as for :func:`rstream.subscriber`.
        codec: overrides ``type``: ``raw``, ``msgpack``, ``arrow``, ``numpy``, or ``pickle``, which
            runs code that writers choose; or a type, or a codec object. The handle carries a
            name: where the codec has none (your own), writers pass it to
            ``handle.publisher(codec=...)``.
        share: ``"all"`` (default): whoever has the handle writes to it. ``"work"``: it is a member
            of pools (:class:`rstream.ray.Pool`), and hands out :class:`rstream.ray.WorkItem`.
        trusted_network: with ``codec="pickle"`` and ``udp=True`` it must be True: whoever reaches
            the port can run code here.
        on_slow: what happens when the actor is slower than its writers; see
            docs/how-to/slow-consumers.md.
            A policy's queue fills from now on; :meth:`Endpoint.statistics` has its counts.
        options: where it listens, and how it reads: ``stays``, ``dir``, ``udp``, ``port``,
            ``host``, ``bind``, ``term_length``, ``rcv_wnd``, ``cc``, ``mtu``, ``key``,
            ``sources``, ``prefetch``, ``rate``, ``on_lost``, ``max_message_length`` and
            ``limits``, each described by :class:`rstream.ray.EndpointOptions`.
    Returns:
        An :class:`Endpoint`; its ``handle`` can be pickled and passed to any actor or task.
    Raises:
        NameTaken: another living endpoint has the name.
        ConfigError: an argument cannot be used.
        DriverError: there is no driver, or it refused a channel (the port may be taken).
        TimeoutError: the name could not be registered with Ray within 30 s.

    Example::

        self.end = rstream.ray.reader(type=Tick)  # in an actor; it gives away self.end.handle
        self.end.start(self.on_tick)
    """
    for option in ("ledger", "staging_bytes"):
        if option in options:
            raise ConfigError(
                f"reader({option}=...): this is for the rows of Spark's sink",
                hint=f"rstream.ray.committed_reader({option}=...) reads them",
            )
    own = ("name", "type", "codec", "share", "trusted_network", "on_slow")
    chosen = settings("reader", options, *own)
    reader_codec, codec_name = choose_for_handle(type, codec, trusted_network=trusted_network)
    reader_codec = limited(reader_codec, chosen.limits)
    if check_share(share):
        reader_codec, codec_name = work_codec(reader_codec, codec_name, on_slow)
    return open_endpoint(name, reader_codec, codec_name, chosen, on_slow=on_slow)


def _as_it_is(source: Reading[Any], handle: StreamHandle, channels: dict[str, str]) -> Reading[Any]:
    del handle, channels
    return source


def open_endpoint(
    name: str | None,
    codec: Codec[Any],
    codec_name: str,
    chosen: EndpointSettings,
    *,
    on_slow: policy.SlowPolicy = policy.Block(),
    delivery: str = "",
    in_front: Callable[[Reading[Any], StreamHandle, dict[str, str]], Reading[Any]] = (_as_it_is),
) -> Endpoint:
    """Open a reading end, make its handle, and tell the registry of it.

    Args:
        name, on_slow: as for :func:`reader`.
        codec, codec_name: of the reader, and for its handle.
        chosen: the options.
        delivery: of the handle.
        in_front: what hands out the items of the source; it gets the handle, and for each medium
            (``"ipc"``, ``"udp"``) the channel of the sockets that the reader has.
    Raises:
        Exception: as :func:`reader`.
    """
    check_prefetch(chosen.prefetch)
    link = _link(chosen)
    if name is not None:
        check_name(name)
    udp, port, term_length, rate = chosen.udp, chosen.port, chosen.term_length, chosen.rate
    socket_tag = secrets.randbelow(1 << 31)  # an earlier socket of this place may not be gone yet
    holder = this_process()
    seat = Seat(name or "", holder)
    try:
        place = seat.recall() or ReaderPlace(new_stream_id())
        make_room(place.stream_id, port or place.port)
        title = name or _title(holder, seat)
        node = chosen.host or _node_address()
        directory = resolve_dir(chosen.dir)
        ipc_channel = Channel.ipc(name=title, term_length=term_length)
        channels = [ipc_channel]
        if udp:
            address = address_of(chosen.bind or node, port or place.port)
            channels.append(_listening(title, address, term_length, socket_tag, link))
        opened = functools.partial(
            stream.reader,
            title,
            stream_id=place.stream_id,
            codec=codec,
            prefetch=chosen.prefetch,
            on_lost=chosen.on_lost,
            stays=chosen.stays,
            max_message_length=chosen.max_message_length,
            hold=True,
            dir=directory,
        )
        is_old_port = udp and place.port != 0 and not port
        open_it = functools.partial(_open_again, opened, channels, is_old_port=is_old_port)
        source = under_policy(on_slow, open_it)
        opened_reading = source.reader if isinstance(source, BufferedReading) else source
    except BaseException as error:
        seat.leave()
        if isinstance(error, RegistrationError):
            if chosen.bind is None:
                _hint_at_bind(error)
            _hint_at_holder(error, chosen.dir, port)
        raise
    try:
        endpoint = address_of(node, bound_port(opened_reading.subscriptions)) if udp else ""
        udp_channel = (
            with_link_options(
                Channel.udp(endpoint, name=title, term_length=term_length, rate=rate),
                is_publisher=True,
                **link.of_writers,
            )
            if udp
            else ""
        )
        handle = StreamHandle(
            name=title,
            stream_id=place.stream_id,
            ipc_channel=str(ipc_channel.replace(rate=rate)),
            endpoint=endpoint,
            udp_channel=str(udp_channel),
            host_token=host_token(directory),
            driver_dir=directory,
            node=node,
            codec=codec_name,
            actor_id="" if holder is None else holder.actor_id,
            delivery=delivery,
        )
        beside = {"ipc": "aeron:ipc"}  # on the sockets that the reader has
        if udp:
            sealed = ChannelUri.parse(handle.udp_channel).get("rs-key")
            beside["udp"] = f"aeron:udp?tags={socket_tag}|rs-key={sealed}"
        source = in_front(source, handle, beside)
        token = _announce(name or "", seat, holder, handle)
        reader = stream.Reader(opened_reading)
        return Endpoint(
            reader,
            handle,
            reader if source is opened_reading else face_of(source),
            on_closed=lambda: _forget(seat, handle, token),
            refuse=lambda reason: refuse(handle, list(beside.values()), reason),
        )
    except BaseException:
        source.close()
        seat.leave()
        raise


def _title(holder: EndpointHolder | None, seat: Seat) -> str:
    """The stream's name of an endpoint without one; a restarted actor makes the same."""
    if holder is None or not holder.actor_id:
        return f"reader-{uuid.uuid4().hex[:8]}"
    name = class_name(holder.actor_id) or "reader"
    return f"{name}-{holder.actor_id[:8]}-{seat.number}"


def _announce(name: str, seat: Seat, holder: EndpointHolder | None, handle: StreamHandle) -> str:
    """Tell the registry of an endpoint that others look for, or that a restart opens again.

    Returns:
        The token of its record; empty: there is nothing to tell.
    Raises:
        NameTaken: another living endpoint has the name. TimeoutError: the registry does not answer.
    """
    if holder is None or not (name or holder.may_restart):
        return ""
    token = uuid.uuid4().hex
    record = Record(token=token, seat=seat.key, name=name, holder=holder, handle=handle)
    other: Record | None = _registry.call("announce", record)
    if other is None:
        return token
    is_same_actor = holder.actor_id and other.holder.actor_id == holder.actor_id
    if is_same_actor and other.holder.restarts > holder.restarts:
        raise NameTaken(
            f"stream {handle.name!r}: a newer incarnation of this actor has opened it "
            f"({other.holder.title}); this process is left over and must end"
        )
    raise NameTaken(
        f"stream {name!r}: the name is taken by {other.holder.title}",
        hint="leave the name out, then each endpoint has an address of its own; or close the other",
    )


def _forget(seat: Seat, handle: StreamHandle, token: str) -> None:
    seat.leave(place_of(handle))
    if token:
        _registry.send("withdraw", token)


def address_of(host: str, port: int) -> str:
    """``host:port``, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host and not host.startswith("[") else f"{host}:{port}"


class _UdpLink(NamedTuple):
    """What was given by name of the UDP link, for the reader and for the handle's writers."""

    of_reader: dict[str, Any]
    of_writers: dict[str, Any]


def _link(chosen: EndpointSettings) -> _UdpLink:
    udp, cc, key = chosen.udp, chosen.cc, chosen.key
    if cc not in (None, "path", *READER_LAWS):
        words = ", ".join(f'"{word}"' for word in ("path", *READER_LAWS))
        raise ConfigError(f"cc={cc!r}: must be one of {words}")
    follows = cc in (None, "path")
    if not udp and isinstance(key, (GroupKey, str)) and key != "default":
        raise ConfigError("key= without udp: shared memory is not encrypted", hint="leave key out")
    sealed = key_of_reader(key) if udp else "default"
    link = _UdpLink(
        {
            "rcv_wnd": chosen.rcv_wnd,
            "cc": None if follows else cc,
            "key": sealed,
            "sources": chosen.sources,
        },
        {"cc": cc if follows else "static", "mtu": chosen.mtu, "key": sealed},
    )
    where = "aeron:udp?endpoint=0.0.0.0:0" if udp else "aeron:ipc"  # before anything is opened
    with_link_options(where, is_publisher=False, **link.of_reader)
    with_link_options(where, is_publisher=True, **link.of_writers)
    return link


def _listening(
    name: str, address: str, term_length: int | None, socket_tag: int, link: _UdpLink
) -> Channel:
    """The channel on which a reader listens for writers of other hosts."""
    channel = Channel(media="udp", endpoint=address, name=name, channel_tag=socket_tag)
    given = dict(link.of_reader)
    if given["rcv_wnd"] is None and link.of_writers["cc"] == "static":
        given["rcv_wnd"] = WINDOW if term_length is None else min(term_length // 2, WINDOW_MAX)
    channel = Channel.parse(str(with_link_options(channel, is_publisher=False, **given)))
    window = channel.receiver_window
    return channel if window is None else channel.replace(socket_rcvbuf=2 * window)


def _open_again(
    open_it: Callable[..., stream.Reader[Any]],
    channels: list[Channel],
    evict: policy.Evict | None,
    *,
    is_old_port: bool,
) -> StreamReading[Any]:
    """Open the reader; an old port is tried until the driver has given the dead actor's client up,
    which frees it. If a stranger has it by then, the handle has another port from now on.
    """
    if is_old_port:
        attempt = functools.partial(open_it, channels=channels, evict=evict)
        try:
            return reading_of(run(PATIENCE.try_steps(attempt)))
        except RegistrationError as error:
            log.warning("%s; the endpoint takes another port, and so another handle", error)
        host = str(channels[1].endpoint).rpartition(":")[0]
        channels = [channels[0], channels[1].replace(endpoint=f"{host}:0")]
    return reading_of(open_it(channels=channels, evict=evict))


def _hint_at_bind(error: RegistrationError) -> None:
    """Say what to do when the advertised address is none of this host's."""
    if any(text in str(error) for text in (os.strerror(errno.EADDRNOTAVAIL), "unknown host")):
        error.hint = (
            "the port is bound to the address that the handle advertises; give bind= an address of "
            'this host, or "0.0.0.0" for all of them'
        )


def _hint_at_holder(error: RegistrationError, dir: str | None, port: int) -> None:
    """Name the failed endpoint of another process that holds the port."""
    if port and os.strerror(errno.EADDRINUSE) in str(error):
        error.hint = who_holds(resolve_dir(dir), port) or error.hint


def _node_address() -> str:
    ray = running_ray()
    return "127.0.0.1" if ray is None else str(ray.util.get_node_ip_address())
