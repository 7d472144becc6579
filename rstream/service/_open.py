"""Opening both ends: check the arguments, choose address and codecs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack, overload

from rstream._keywords import names_keywords
from rstream.codecs import choose
from rstream.errors import ConfigError
from rstream.service._place import place_of
from rstream.service._requester import Requester
from rstream.service._requester_base import OUTSTANDING
from rstream.service._server_line import CALLERS_PER_HOST
from rstream.service._service import Service

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import TypeForm

    from rstream.channel import Channel
    from rstream.codecs import Codec, CodecLike
    from rstream.service._place import ServicePlace

Q = TypeVar("Q")
A = TypeVar("A")


def serve(
    name: str,
    type: Any = None,
    *,
    codec: CodecLike = None,
    answer_codec: CodecLike = None,
    channel: Channel | str | None = None,
    threads: int = 0,
    outstanding: int = OUTSTANDING,
    callers_per_host: int = CALLERS_PER_HOST,
    dir: str | None = None,
) -> Callable[[Callable[[Q], A]], Service[Q, A]]:
    """Make a function of one argument, the query, into a service that answers requests.

    A generator function answers :func:`rstream.request_stream`: it is asked for the next answer
    only when the caller wants it, and is closed when the caller leaves. A function may also return
    an :class:`rstream.abc.Publisher`, whose elements are the answers; it has the caller's demand,
    and is cancelled when the caller leaves. An ``async`` function or async generator runs in an
    event loop. Nothing is opened before the service is run.

    Args:
        name: the name that callers ask.
        type: the type of the queries; it chooses their codec (:func:`rstream.codecs.codec_for`).
        codec: of queries and answers; overrides ``type``.
        answer_codec: of answers, where it differs from ``codec``; None: ``codec``, else msgpack.
        channel: where it is asked; None: shared memory. Over UDP the server's own address.
        threads: how many requests are worked on at the same time. 0: one after the other, in the
            thread that serves, which is fastest for short functions.
        outstanding: most requests of one caller without an answer; more are refused.
        callers_per_host: most callers of one address over UDP, so that no host takes all places
            (1024) and the memory of their answers; more are refused.
        dir: driver directory; None: ``$RSTREAM_DIR``, else ``/dev/shm/rstream-<user>``.
    Returns:
        A decorator that makes a :class:`Service`.
    Raises:
        ConfigError: an argument cannot be used.

    Example::

        @rstream.serve("prices")
        def price(symbol):
            return PRICES[symbol]  # a KeyError arrives at the caller as a KeyError

        price.run()
    """
    place = place_of(name, channel)
    query_codec, codec_of_answers = _codecs(type, codec, answer_codec, place, is_server=True)

    def decorate(function: Callable[[Q], A]) -> Service[Q, A]:
        if not callable(function):
            raise ConfigError(f"serve({name!r}) is a decorator of a function, not of {function!r}")
        return Service(
            function,
            place,
            query_codec=query_codec,
            codec=codec_of_answers,
            threads=threads,
            outstanding=outstanding,
            callers_per_host=callers_per_host,
            dir=dir,
        )

    return decorate


class CallOptions(TypedDict, total=False):
    """Keywords of everything that asks a service; all may be left out.

    Attributes:
        codec: of queries and answers; overrides ``type``.
        query_codec: of queries, where it differs from ``codec``; None: ``codec``, else msgpack.
        channel: where the server is asked; None: shared memory. Over UDP the server's address.
        dir: driver directory; None: ``$RSTREAM_DIR``, else ``/dev/shm/rstream-<user>``.
    """

    codec: CodecLike
    query_codec: CodecLike
    channel: Channel | str | None
    dir: str | None


@overload
def requester(
    name: str, type: None = None, *, outstanding: int = OUTSTANDING, **options: Unpack[CallOptions]
) -> Requester[Any]: ...
@overload
def requester(
    name: str, type: TypeForm[A], *, outstanding: int = OUTSTANDING, **options: Unpack[CallOptions]
) -> Requester[A]: ...
@names_keywords
def requester(
    name: str,
    type: Any = None,
    *,
    codec: CodecLike = None,
    query_codec: CodecLike = None,
    channel: Channel | str | None = None,
    outstanding: int = OUTSTANDING,
    dir: str | None = None,
) -> Requester[Any]:
    """The caller's end of a service, with a line that is kept; :func:`request` keeps one by name.

    Args:
        name: the name of the service.
        type: the type of the answers; it chooses their codec.
        codec: of queries and answers; overrides ``type``.
        query_codec: of queries, where it differs from ``codec``; None: ``codec``, else msgpack.
        channel: where the server is asked; None: shared memory. Over UDP the server's address.
        outstanding: most requests without an answer; more wait.
        dir: driver directory; None: ``$RSTREAM_DIR``, else ``/dev/shm/rstream-<user>``.
    Raises:
        ConfigError: an argument cannot be used. The line is opened at the first request.

    Example::

        with rstream.service.requester("prices") as prices:
            prices.request("ABC", timeout_s=1)
    """
    return Requester(
        place_of(name, channel),
        **caller_options(name, type, codec, query_codec, channel, outstanding, dir),
    )


def caller_options(
    name: str,
    type: Any,
    codec: CodecLike,
    query_codec: CodecLike,
    channel: Channel | str | None,
    outstanding: int,
    dir: str | None,
) -> dict[str, Any]:
    """The keywords of a caller's class."""
    place = place_of(name, channel)
    codec_of_answers, codec_of_queries = _codecs(type, codec, query_codec, place, is_server=False)
    return {
        "query_codec": codec_of_queries,
        "codec": codec_of_answers,
        "outstanding": outstanding,
        "dir": dir,
    }


def _codecs(
    type: Any, codec: CodecLike, other: CodecLike, place: ServicePlace, *, is_server: bool
) -> tuple[Codec[Any], Codec[Any]]:
    """The codec of what this end reads, and of what it writes."""
    reads = choose(type, codec)
    writes = choose(None, codec if other is None else other)
    if place.is_udp and getattr(reads, "needs_trusted_network", False):
        who = "callers send" if is_server else "the server sends"
        raise ConfigError(
            f"channel {place.channel}: codec pickle would run code that {who}",
            hint="use msgpack or arrow; or write trusted_network=True if only trusted programs can "
            "reach the port",
        )
    return reads, writes
