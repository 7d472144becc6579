"""The transport as Aeron's clients know it: clients, publications and subscriptions.

    with Client() as client:
        publication = client.add_publication("aeron:udp?endpoint=localhost:40123", 1001)
        subscription = client.add_subscription("aeron:udp?endpoint=localhost:40123", 1001)
        while publication.offer(b"hello") < 0: ...
        with subscription.poll(10) as batch:
            for data in batch: ...

Messages are bytes, and their 64-bit reserved value is 0 unless given, so the peer may be any Aeron
program. Names, codecs, demand and joining again are in :mod:`rstream.stream`. The classes are thin
wrappers of ``rstream._core``.
"""

from __future__ import annotations

import os
import shlex
import time
from typing import TYPE_CHECKING, Final, NoReturn, Self

from rstream import _core
from rstream._channel_checks import check_key
from rstream._channel_hints import explained
from rstream._checks import check_stream_id, check_timeout
from rstream._client_name import check_name, default_name
from rstream._core import Batch, Claim, Counter, Message
from rstream._facts import (
    ChannelStatus,
    CounterEvent,
    CounterReading,
    Image,
    ImageEvent,
    ReceiverError,
)
from rstream._handles import (
    ADMIN_ACTION,
    BACK_PRESSURED,
    CLOSED,
    ERROR,
    MAX_POSITION_EXCEEDED,
    NOT_CONNECTED,
    RATE_LIMITED,
    reason_name,
)
from rstream._pickling import refuse_pickling
from rstream._process import quiet_at_exit, quiet_when_torn_down
from rstream._publication import Publication
from rstream._subscription import Subscription
from rstream._unclosed import call_site, warn_unclosed
from rstream._waits import Deadline
from rstream.config import ClientConfig
from rstream.driver import (
    ensure_driver,
    resolve_dir,
    unwatch,
    watch_exit,
)
from rstream.errors import ConfigError, DriverNotFound
from rstream.keys import PLAIN, hand_over, named_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from typing_extensions import Buffer

    from rstream.channel import Channel
    from rstream.config import DriverConfig

__all__ = (
    "ADMIN_ACTION",
    "BACK_PRESSURED",
    "CLOSED",
    "ERROR",
    "MAX_POSITION_EXCEEDED",
    "NOT_CONNECTED",
    "RATE_LIMITED",
    "Batch",
    "ChannelStatus",
    "Claim",
    "Client",
    "Counter",
    "CounterEvent",
    "CounterReading",
    "Image",
    "ImageEvent",
    "Message",
    "Publication",
    "ReceiverError",
    "Subscription",
    "reason_name",
)

_ALIVE: Final = 2


class Client:
    """A client of the driver in a directory; it makes publications and subscriptions.

    Args:
        dir: driver directory; None: ``$RSTREAM_DIR``, else ``/dev/shm/rstream-<user>``.
        config: settings.
        name: what `rstream stat`, metrics and errors call this client, 100 bytes at most; overrides
            ``config``. Empty: ``$RSTREAM_CLIENT_NAME``, else program and pid.
        start_driver: start the shared driver when none is alive in the directory; overrides
            ``config``.
        driver_config: settings for a driver that is started here.
    Raises:
        ConfigError: ``name`` is too long, or cannot be printed.
        DriverNotFound: no driver is alive in the directory, and none was to be started.
        DriverError: no driver could be started.
        VersionMismatch: the directory has another layout version.
        DriverAccess: the directory belongs to another user.

    Any thread may use it. It is a context manager; ``close()`` closes everything that it made. It
    cannot be used after ``fork``: make clients in the child.

    Its channels are taken as they are written: ``RSTREAM_KEY_FILE`` does not apply, and over UDP
    they are plain unless they say ``rs-key`` (``Channel.udp(..., key=key.reference)``).
    """

    def __init__(
        self,
        dir: str | os.PathLike[str] | None = None,
        *,
        config: ClientConfig | None = None,
        name: str | None = None,
        start_driver: bool | None = None,
        driver_config: DriverConfig | None = None,
    ) -> None:
        self._made_at = call_site()
        self.config: ClientConfig = config or ClientConfig()
        shown = self.config.name if name is None else name
        check_name(shown, "name")
        self.name: str = shown or default_name()
        path = resolve_dir(dir)
        timeout_s = self.config.driver_timeout_s
        if self.config.start_driver if start_driver is None else start_driver:
            ensure_driver(path, config=driver_config, timeout_s=max(timeout_s, 1.0))
        else:
            _await_driver(path, timeout_s)
        self.core: _core.Client = _core.Client(
            path,
            self.name,
            max(1, round(timeout_s * 1e3)),
            round(self.config.keepalive_interval_s * 1e9),
        )
        self._open_pid = os.getpid()
        watch_exit(self)

    @property
    def dir(self) -> str:
        """The driver directory."""
        return self.core.dir

    @property
    def client_id(self) -> int:
        """Unique in the driver directory."""
        return self.core.client_id

    @property
    def state(self) -> int:
        """0: open; 1: closed; 2: its driver is lost; 3: the driver has given it up."""
        return self.core.state

    @property
    def is_closed(self) -> bool:
        """Whether it was closed here, or has lost its driver."""
        return self.core.state != 0

    @property
    def is_aeron_driver(self) -> bool:
        """Whether the driver is Aeron's own."""
        return self.core.is_aeron_driver

    @quiet_at_exit
    def add_publication(
        self,
        channel: str | Channel,
        stream_id: int,
        *,
        exclusive: bool = False,
        timeout_s: float | None = None,
    ) -> Publication:
        """Ask the driver for a publication, and wait for its answer.

        Args:
            channel: Aeron URI or :class:`rstream.channel.Channel`.
            stream_id: 32 bits with sign.
            exclusive: True: a session of its own for one thread, a little faster.
            timeout_s: seconds to wait; None: as configured.
        Raises:
            RegistrationError, ChannelError: the driver refused; the text says why.
            DriverTimeout: no answer in time.
            DriverLost: the driver died.
        """
        return self._add_publication(channel, stream_id, exclusive, timeout_s)

    def _add_publication(
        self,
        channel: str | Channel,
        stream_id: int,
        exclusive: bool,
        timeout_s: float | None = None,
    ) -> Publication:
        """The same for callers under a lock, which no thread may keep when it parks at the exit."""
        uri = self._with_its_key(channel)
        with explained(uri, is_reader=False):
            core = self.core.add_publication(
                uri, _stream_id(stream_id), exclusive, self._timeout_s(timeout_s)
            )
        return Publication(core, registration_timeout_s=self.config.registration_timeout_s)

    @quiet_at_exit
    def add_subscription(
        self,
        channel: str | Channel,
        stream_id: int,
        *,
        on_demand: bool = False,
        timeout_s: float | None = None,
    ) -> Subscription:
        """Ask the driver for a subscription, and wait for its answer; as :meth:`add_publication`.

        Args:
            channel, stream_id, timeout_s: as there.
            on_demand: True: it takes no message before its first ``request(n)``, and publishers
                know that from the start.
        """
        return self._add_subscription(channel, stream_id, on_demand, timeout_s)

    def _add_subscription(
        self,
        channel: str | Channel,
        stream_id: int,
        on_demand: bool,
        timeout_s: float | None = None,
    ) -> Subscription:
        """The same for callers under a lock; as :meth:`_add_publication`."""
        uri = self._with_its_key(channel)
        with explained(uri, is_reader=True):
            core = self.core.add_subscription(
                uri, _stream_id(stream_id), on_demand, self._timeout_s(timeout_s)
            )
        return Subscription(core, registration_timeout_s=self.config.registration_timeout_s)

    def _with_its_key(self, channel: str | Channel) -> str:
        """The channel's URI; its driver has its key then.

        Raises:
            ChannelError: its ``rs-key`` is no reference; the error does not repeat it.
            ConfigError: no key has that id, or the driver is Aeron's and would send plainly.
        """
        uri = str(channel)
        key = named_in(uri)
        check_key(key or PLAIN)
        if key and key != PLAIN:
            if self.is_aeron_driver:
                raise ConfigError(
                    f"channel {uri}: the driver in {self.dir} is Aeron's, which has no keys",
                    hint="start rstream's driver, or leave the key out",
                )
            hand_over(uri, self.dir)
        return uri

    @quiet_at_exit
    def next_session_id(self, stream_id: int, *, timeout_s: float | None = None) -> int:
        """A session id that no publication of the stream uses, for ``session-id=`` of a channel.

        It is random beside a driver that does not know this command.
        """
        return self.core.next_session_id(_stream_id(stream_id), self._timeout_s(timeout_s))

    @quiet_at_exit
    def add_counter(
        self, type_id: int, label: str, *, key: Buffer = b"", timeout_s: float | None = None
    ) -> Counter:
        """Add a counter that every reader of the driver directory can see.

        Args:
            type_id: a number of yours for its kind, 1000 or above (Aeron uses those below).
            label: text for people, at most 380 bytes.
            key: at most 112 bytes for programs.
            timeout_s: seconds to wait for the driver; None: as configured.
        Raises:
            ConfigError: label or key is too long.
            RegistrationError: the driver refused, or all counters are in use.
        """
        return self.core.add_counter(type_id, key, label, self._timeout_s(timeout_s))

    @quiet_at_exit
    def add_static_counter(
        self,
        type_id: int,
        label: str,
        *,
        registration_id: int,
        key: Buffer = b"",
        timeout_s: float | None = None,
    ) -> Counter:
        """Add a counter that belongs to no client and outlives its maker.

        Clients find it by type and registration id.

        Raises:
            RegistrationError: such a counter exists already and belongs to a client.
        """
        return self.core.add_static_counter(
            type_id, registration_id, key, label, self._timeout_s(timeout_s)
        )

    @quiet_at_exit
    def find_counter(self, type_id: int, registration_id: int) -> int | None:
        """Id of the counter of that type and registration id; None: there is none."""
        return self.core.find_counter(type_id, registration_id)

    @quiet_at_exit
    def read_counter(self, counter_id: int) -> CounterReading | None:
        """The counter with this id; None: there is none."""
        reading = self.core.read_counter(counter_id)
        if reading is None:
            return None
        return CounterReading(
            counter_id=reading.id,
            type_id=reading.type_id,
            value=reading.value,
            registration_id=reading.registration_id,
            owner_id=reading.owner_id,
            reference_id=reading.reference_id,
            label=reading.label,
        )

    def counter_events(self) -> Iterator[CounterEvent]:
        """Counters of all clients that were added or removed since the last call; at most 256."""
        next_event = quiet_at_exit(self.core.next_counter_event)
        while (event := next_event()) is not None:
            yield CounterEvent(
                is_available=event.is_available,
                counter_id=event.counter_id,
                registration_id=event.registration_id,
            )

    def _timeout_s(self, timeout_s: float | None) -> float:
        check_timeout(timeout_s)
        return self.config.registration_timeout_s if timeout_s is None else timeout_s

    def close(self) -> None:
        """Close everything that it made, then the client. Idempotent."""
        self._open_pid = 0
        unwatch(self)
        self.core.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self.close()

    @quiet_when_torn_down
    def __del__(self) -> None:
        # In a forked child this is the parent's client.
        if getattr(self, "_open_pid", 0) == os.getpid():
            warn_unclosed(self, self._made_at)
            self._open_pid = 0

    def __reduce__(self) -> NoReturn:
        refuse_pickling(self, "make one there, with the same dir")

    def __repr__(self) -> str:
        return f"<rstream.Client {self.client_id} in {self.dir}>"


def _stream_id(stream_id: int) -> int:
    check_stream_id(stream_id)
    return stream_id


def _await_driver(path: str, timeout_s: float) -> None:
    """Wait here rather than in C, so that Ctrl-C ends it."""
    deadline = Deadline(timeout_s)
    while _core.probe(path) < _ALIVE:
        if deadline.is_over:
            raise DriverNotFound(
                f"no living media driver in {path}: start "
                f"`rstream driver --dir {shlex.quote(path)}`, or let the client start one "
                "(start_driver=True)"
            )
        time.sleep(0.01)
