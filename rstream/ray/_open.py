"""Opening the reading end of a stream inside a Ray actor, and making its handle.

All actors of a host share its ``rstreamd``. A restarted actor joins again: it opens its endpoint
under the same name, so the shared-memory stream is the same, and it binds the same UDP port, which
Ray's key-value store remembers by actor id and stream name.
"""

from __future__ import annotations

import functools
import importlib
import time
from typing import TYPE_CHECKING, Any

from rstream import policy, stream
from rstream.channel import Channel
from rstream.codecs._choose import choose_for_handle
from rstream.driver import resolve_dir
from rstream.errors import RegistrationError, RStreamError
from rstream.ray._endpoint import Endpoint
from rstream.ray._handle import StreamHandle, host_token
from rstream.stream._buffered import BufferedSubscriber
from rstream.stream._open import under_policy

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream.codecs import CodecLike
    from rstream.rate import RateLimit
    from rstream.stream import Reader

#: Terms of handle streams: 1 MiB, so a window of 512 KiB and messages of up to 128 KiB.
DEFAULT_TERM_LENGTH = 1 << 20
#: Largest receiver window in bytes.
WINDOW_MAX = 1 << 20
#: How long a restarted actor waits for its old port. Longer than the client liveness timeout of a
#: driver (10 s), after which the driver frees the port of the dead actor.
REJOIN_TIMEOUT_S = 20.0


def open_reader(
    name: str,
    *,
    codec: CodecLike = "msgpack",
    dir: str | None = None,
    udp: bool = True,
    port: int = 0,
    host: str | None = None,
    term_length: int = DEFAULT_TERM_LENGTH,
    prefetch: int = 256,
    rate: RateLimit | None = None,
    on_slow: policy.SlowPolicy = policy.Block(),
) -> Endpoint:
    """Open the reading end of a stream and make its handle.

    Args:
        name: the stream's name. One name has one reader; many readers are many handles.
        codec: ``raw``, ``msgpack``, ``arrow``, or ``pickle`` (actors of one Ray cluster trust each
            other); or a type, or a codec object. The handle carries a name: where the codec has
            none (numpy, your own), writers pass it to ``handle.publisher(codec=...)``.
        dir: driver directory; default: the host's shared one.
        udp: also bind a UDP port, so that writers on other hosts can reach this reader.
        port: UDP port; 0: any free one (a restarted Ray actor gets its old one again).
        host: address to advertise; default: Ray's node address, else 127.0.0.1.
        term_length: bytes of a term, a power of two; half of it is the window, an eighth a message.
        prefetch: most messages handed over at once.
        rate: how fast a writer of the handle may send unless it chooses a rate itself; None: as
            the writer's driver says.
        on_slow: what happens when the actor is slower than its writers; see
            docs/how-to/slow-consumers.md.
            A policy's queue fills from now on; :meth:`Endpoint.statistics` has its counts.
    Returns:
        An :class:`Endpoint`; its ``handle`` can be pickled and passed to any actor or task.
    Raises:
        ConfigError: an argument cannot be used.
        DriverError: there is no driver, or it refused a channel (the port may be taken).
    """
    reader_codec, codec_name = choose_for_handle(codec)
    directory = resolve_dir(dir)
    node = host or _node_address()
    ipc_channel = Channel.ipc(name=name, term_length=term_length)
    channels = [ipc_channel]
    remembered = _remembered_port(name) if udp and not port else 0
    if udp:
        channels.append(_listening(name, port or remembered, term_length))

    def open_it(evict: policy.Evict | None) -> Reader[Any]:
        opened = functools.partial(
            stream.reader, name, channels=channels, codec=reader_codec, dir=directory
        )
        return _retry(
            lambda: opened(prefetch=prefetch, hold=True, evict=evict),
            REJOIN_TIMEOUT_S if remembered else 0.0,
        )

    source = under_policy(on_slow, open_it)
    reader: Reader[Any] = source.reader if isinstance(source, BufferedSubscriber) else source
    endpoint = _advertised(reader, name, node) if udp else ""
    udp_channel = (
        Channel.udp(endpoint, name=name, term_length=term_length, rate=rate) if udp else ""
    )
    handle = StreamHandle(
        name=name,
        stream_id=stream.stream_id_of(name),
        ipc_channel=str(ipc_channel.replace(rate=rate)),
        endpoint=endpoint,
        udp_channel=str(udp_channel),
        host_token=host_token(directory),
        driver_dir=directory,
        node=node,
        codec=codec_name,
    )
    return Endpoint(reader, handle, source)


def _advertised(reader: Reader[Any], name: str, node: str) -> str:
    """``host:port`` for writers on other hosts; the port is remembered for a restarted actor."""
    port = _bound_port(reader)
    _remember_port(name, port)
    return f"{node}:{port}"


def _listening(name: str, port: int, term_length: int) -> Channel:
    """The channel on which a reader listens for writers of other hosts."""
    window = min(term_length // 2, WINDOW_MAX)
    return Channel(
        media="udp",
        endpoint=f"0.0.0.0:{port}",
        name=name,
        receiver_window=window,
        socket_rcvbuf=2 * window,
    )


def _retry(open_it: Callable[[], Reader[Any]], timeout_s: float) -> Reader[Any]:
    """Try until the driver has given the dead actor's client up, which frees its port."""
    deadline_s = time.monotonic() + timeout_s
    while True:
        try:
            return open_it()
        except RegistrationError:
            if time.monotonic() >= deadline_s:
                raise
            time.sleep(0.1)


def _node_address() -> str:
    ray = _running_ray()
    return "127.0.0.1" if ray is None else str(ray.util.get_node_ip_address())


def _running_ray() -> Any:
    """The module ray if it is installed and initialised here, else None. It has no strict types."""
    try:
        ray: Any = importlib.import_module("ray")
    except ImportError:
        return None
    return ray if ray.is_initialized() else None


def _key_value_store() -> Any:
    return importlib.import_module("ray.experimental.internal_kv")


def _port_key(name: str) -> bytes | None:
    """The key that stores this actor's port for the stream; None outside an actor."""
    ray = _running_ray()
    if ray is None:
        return None
    actor_id: str | None = ray.get_runtime_context().get_actor_id()
    return f"rstream:port:{actor_id}:{name}".encode() if actor_id else None


def _remembered_port(name: str) -> int:
    key = _port_key(name)
    if key is None:
        return 0
    value: bytes | None = _key_value_store()._internal_kv_get(key)
    return int(value) if value else 0


def _remember_port(name: str, port: int) -> None:
    key = _port_key(name)
    if key is not None:
        _key_value_store()._internal_kv_put(key, str(port).encode())


def _bound_port(reader: Reader[Any]) -> int:
    for subscription in reader.subscriptions:
        address = subscription.local_address
        if address:
            return int(address.rsplit(":", 1)[1])
    raise RStreamError("the reader's UDP port is not known: the driver published no local address")
