"""Reading ends inside Ray actors.

A blocking loop in an actor method would lock the actor, so an endpoint reads on a thread of its own. All actors of a host share its
``rstreamd``. A restarted actor rejoins: its endpoint is opened again under the same name, so the shared-memory stream is the same, and it binds
the same UDP port again, because Ray's key-value store remembers it by actor id and stream name.
"""

from __future__ import annotations

import importlib
import logging
import threading
import time
from typing import TYPE_CHECKING, Any

from rstream import policy
from rstream.errors import ConfigError, RegistrationError, RStreamError
from rstream.ray._handle import StreamHandle, host_token

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream.rate import RateLimit
    from rstream.stream import Reader, Subscriber

log = logging.getLogger("rstream")

#: Terms of handle streams: 1 MiB, so a window of 512 KiB and messages of up to 128 KiB.
DEFAULT_TERM_LENGTH = 1 << 20
#: How long the background thread sleeps at most before it looks whether it was closed.
CLOSE_CHECK_S = 0.1
#: How long a restarted actor waits for its old port: longer than a driver's client liveness timeout (10 s).
REJOIN_TIMEOUT_S = 20.0


def open_reader(
    name: str,
    *,
    codec: str = "msgpack",
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
        name: the stream's name; one reader, one name (many readers are many handles).
        codec: ``raw``, ``msgpack``, ``arrow``, or ``pickle`` (actors of one Ray cluster trust each other).
        dir: driver directory; default: the host's shared one.
        udp: also bind a UDP port, so that writers on other hosts can reach this reader.
        port: UDP port; 0: any free one (a restarted Ray actor gets its old one again).
        host: address to advertise; default: Ray's node address, else 127.0.0.1.
        term_length: bytes of a term, power of two, 64 KiB … 1 GiB. The window is half of it, the longest message an eighth.
        prefetch: most messages handed over at once.
        rate: how fast a writer of the handle may send, unless it chooses itself; None: as its driver says.
        on_slow: what happens when the actor is slower than its writers (docs/slow-consumers.md). A queue of a policy fills from now on, and
            what was given up or conflated is counted in :meth:`Endpoint.statistics`.
    Returns:
        An :class:`Endpoint`; its ``handle`` can be pickled and passed to any actor or task.
    """
    from rstream import codecs, stream
    from rstream.driver import resolve_dir
    from rstream.stream._buffered import BufferedSubscriber
    from rstream.stream._names import with_rate
    from rstream.stream._open import under_policy

    directory = resolve_dir(dir)
    node = host or _node_address()
    suffix = f"term-length={term_length}|rs-name={name}"
    ipc_channel = f"aeron:ipc?{suffix}"
    channels = [ipc_channel]
    remembered = _remembered_port(name) if udp and not port else 0
    wanted_port = port or remembered
    if udp:
        window = min(term_length // 2, 1 << 20)
        channels.append(
            f"aeron:udp?endpoint=0.0.0.0:{wanted_port}|rcv-wnd={window}|so-rcvbuf={2 * window}|rs-name={name}"
        )

    def open_it(evict: policy.Evict | None) -> Reader[Any]:
        return _retry(
            lambda: stream.reader(
                name,
                channels=channels,
                codec=codecs.named(codec),
                dir=directory,
                prefetch=prefetch,
                hold=True,
                evict=evict,
            ),
            REJOIN_TIMEOUT_S if remembered else 0.0,
        )

    source = under_policy(on_slow, open_it)
    reader: Reader[Any] = source.reader if isinstance(source, BufferedSubscriber) else source
    endpoint = udp_channel = ""
    if udp:
        bound = _bound_port(reader)
        _remember_port(name, bound)
        endpoint = f"{node}:{bound}"
        udp_channel = f"aeron:udp?endpoint={endpoint}|{suffix}"
    handle = StreamHandle(
        name=name,
        stream_id=stream.stream_id_of(name),
        ipc_channel=with_rate(ipc_channel, rate),
        endpoint=endpoint,
        udp_channel=with_rate(udp_channel, rate) if udp_channel else "",
        host_token=host_token(directory),
        driver_dir=directory,
        node=node,
        codec=codec,
    )
    return Endpoint(reader, handle, source)


class Endpoint:
    """A reading end with its handle, and a background thread once :meth:`start` was called.

    Thread rules: ``start`` once; ``close`` and the properties from any thread; without ``start`` the owner polls ``source`` itself. That is
    ``reader``, or what a policy puts in front of it.
    """

    def __init__(
        self, reader: Reader[Any], handle: StreamHandle, source: Subscriber[Any] | None = None
    ) -> None:
        self.reader: Reader[Any] = reader
        self.source: Subscriber[Any] = reader if source is None else source
        self.handle: StreamHandle = handle
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()
        self._finishing = threading.Event()
        self._error: BaseException | None = None
        self._demand = reader.prefetch

    @property
    def demand(self) -> int:
        """Messages that may still be handed over before ``on_item`` returns: ``prefetch`` less those under way."""
        return self._demand

    @property
    def fill(self) -> tuple[int, int]:
        """Bytes received and not consumed, and the window, of the fullest way in."""
        fills = [subscription.fill for subscription in self.reader.subscriptions]
        return max(fills, key=lambda pair: pair[0] / pair[1] if pair[1] else 0.0, default=(0, 0))

    def start(
        self,
        on_item: Callable[[Any], None],
        *,
        on_end: Callable[[BaseException | None], None] | None = None,
    ) -> None:
        """Read in the background: ``on_item`` for each item, serially; its slowness is the back-pressure.

        Args:
            on_item: called on the endpoint's thread. What it raises ends the endpoint and reaches ``on_end``.
            on_end: called once, with the error or None.
        """
        if self._thread is not None:
            raise ConfigError(f"stream {self.handle.name!r}: its endpoint is already started")
        self._thread = threading.Thread(
            target=self._run,
            args=(on_item, on_end),
            name=f"rstream-{self.handle.name}",
            daemon=True,
        )
        self._thread.start()

    def _run(
        self,
        on_item: Callable[[Any], None],
        on_end: Callable[[BaseException | None], None] | None,
    ) -> None:
        from rstream.stream._pump import batches

        try:
            for items in batches(
                self.source,
                self._closing.is_set,
                limit=lambda: self._demand,
                is_ended=self._is_finished,
                wait_s=CLOSE_CHECK_S,
            ):
                self._demand -= len(items)
                for item in items:
                    on_item(item)
                    self._demand += 1
        except BaseException as error:
            self._error = error
            log.error("stream %r: endpoint ended: %s", self.handle.name, error)
        if on_end is not None:
            on_end(self._error)

    def _is_finished(self) -> bool:
        """Whether :meth:`finish` was called, and all that was there by then has been read.

        Writers come and go (Spark's workers do not complete the stream), so only finish() ends it.
        """
        return self._finishing.is_set() and not self._is_filling()

    def _is_filling(self) -> bool:
        """What is there is on its way into the queue of a policy. (Without one it has been read.)"""
        return self.source is not self.reader and self.fill[0] > 0

    def finish(self, timeout_s: float = 60.0) -> None:
        """Read what is there, then end: ``on_end`` is called. Writers must have finished before.

        Raises:
            TimeoutError: still reading after ``timeout_s``.
            Exception: what ``on_item`` raised.
        """
        self._finishing.set()
        self.source.wake()
        self._join(timeout_s)
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """Stop reading and close; what was not read stays unread. Harmless when repeated."""
        self._closing.set()
        self.source.wake()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._join(10.0)
        self.source.close()

    def _join(self, timeout_s: float) -> None:
        if self._thread is None:
            return
        self._thread.join(timeout_s)
        if self._thread.is_alive():
            raise TimeoutError(
                f"stream {self.handle.name!r}: its endpoint is still busy after {timeout_s} s; on_item does not return"
            )

    def statistics(self) -> dict[str, Any]:
        """Counts of the reader and of its policy's queue, fill and window in bytes."""
        return self.source.statistics()


def _retry(open_it: Callable[[], Reader[Any]], timeout_s: float) -> Reader[Any]:
    """The dead actor's port is free only when the driver has given its client up."""
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
    """The module ray when it is installed and initialised here, else None. It carries no strict types."""
    try:
        ray: Any = importlib.import_module("ray")
    except ImportError:
        return None
    return ray if ray.is_initialized() else None


def _key_value_store() -> Any:
    return importlib.import_module("ray.experimental.internal_kv")


def _port_key(name: str) -> bytes | None:
    """Key under which this actor's port for the stream is remembered; None outside an actor."""
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
