"""The keyword options of every way to open a reading end with a handle.

Each is documented once, in the ``TypedDict`` that the signatures unpack, and has its default once,
in the dataclass below it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypedDict

from rstream._keywords import unknown_keyword
from rstream.stream._internal import MESSAGE_LENGTH

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rstream.codecs import Limits
    from rstream.keys import KeyLike
    from rstream.rate import RateLimit
    from rstream.stream._internal import OnLost, Prefetch


class EndpointOptions(TypedDict, total=False):
    """Keywords of :func:`rstream.ray.reader` and :func:`rstream.ray.committed_reader`; all may be
    left out.

    Attributes:
        stays: False ends the endpoint when every writer seen has completed its stream. True
            (default): writers come and go, and only :meth:`Endpoint.finish` ends it.
        dir: driver directory; default: the host's shared one.
        udp: also bind a UDP port, so that writers on other hosts can reach this reader (True).
        port: UDP port; 0: any free one (a restarted Ray actor gets its old one again).
        host: address to advertise; default: Ray's node address, else 127.0.0.1.
        bind: local address to bind the port to; default: the advertised one, so that only its
            network reaches the port. ``"0.0.0.0"`` lets every network in.
        term_length: bytes of a term, a power of two; half of it is the longest window. Messages
            over an eighth of it travel in parts. None: as for a stream with a name.
        rcv_wnd: over UDP how far a writer may be ahead, as for :func:`rstream.subscriber`; None:
            what the path and this reader need, up to half a term.
        cc: ``"static"``, ``"cubic"`` or ``"auto"``: over UDP the handle's writers do not follow
            the path, and this is the law of the window; None is then half a term, at most 1 MiB.
            None (default): they follow it unless their driver says otherwise; ``"path"``: always.
        mtu: over UDP the longest datagram of the handle's writers: :func:`rstream.publisher`.
        key: what seals the datagrams of writers on other hosts (:mod:`rstream.keys`).
            ``"default"``: ``$RSTREAM_KEY_FILE``, else under Ray the key that all processes of the
            namespace have, else none. A process that has not the key can neither read nor write.
            None: plain datagrams.
        sources: as for :func:`rstream.subscriber`: whose datagrams the UDP port takes.
        prefetch: as for :func:`rstream.subscriber`: how far writers that make elements on demand
            may be ahead of ``on_item``.
        rate: how fast a writer of the handle may send unless it chooses a rate itself; None: as
            the writer's driver says.
        on_lost: what happens when a writer dies, fails, or sends what cannot be read. ``"event"``
            (default): :meth:`Endpoint.events` tells it, and the endpoint reads on for the others.
            ``"raise"``: the endpoint ends with the error.
        max_message_length: as for :func:`rstream.subscriber`: longest message that is put together
            from its parts, in bytes (1 GiB).
        limits: as for :func:`rstream.subscriber`: what decoding one message may take.

    Example::

        place: rstream.ray.EndpointOptions = {"host": "10.0.0.7", "rcv_wnd": "8m"}
        end = rstream.ray.reader(**place)
    """

    stays: bool
    dir: str | None
    udp: bool
    port: int
    host: str | None
    bind: str | None
    term_length: int | None
    rcv_wnd: int | str | None
    cc: str | None
    mtu: int | str | None
    key: KeyLike
    sources: str | Sequence[str] | None
    prefetch: Prefetch
    rate: RateLimit | None
    on_lost: OnLost
    max_message_length: int
    limits: Limits | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointSettings:
    """:class:`EndpointOptions` with their defaults."""

    stays: bool = True
    dir: str | None = None
    udp: bool = True
    port: int = 0
    host: str | None = None
    bind: str | None = None
    term_length: int | None = None
    rcv_wnd: int | str | None = None
    cc: str | None = None
    mtu: int | str | None = None
    key: KeyLike = "default"
    sources: str | Sequence[str] | None = None
    prefetch: Prefetch = "auto"
    rate: RateLimit | None = None
    on_lost: OnLost = "event"
    max_message_length: int = MESSAGE_LENGTH
    limits: Limits | None = None


def settings(function: str, options: Mapping[str, Any], *others: str) -> EndpointSettings:
    """The options with their defaults.

    Args:
        function: the name of the function that was called, for the error.
        options: the keywords that it was called with, without those that it takes itself.
        others: those that it takes itself, for the error.
    Raises:
        TypeError: an option has a name that is not known.
    """
    known = [field.name for field in fields(EndpointSettings)]
    for name in options:
        if name not in known:
            raise unknown_keyword(function, name, [*others, *known])
    return EndpointSettings(**options)
