"""The client of a process: all endpoints in one driver directory share one.

A client is made at first use, again after ``fork``, and again when its driver died. It is closed
with its last endpoint.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from rstream._process import quiet_when_torn_down
from rstream.client import Client
from rstream.driver import resolve_dir
from rstream.errors import ConfigError, DriverLost

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

CLIENT_OPEN = 0
CLIENT_CLOSED = 1
CLIENT_TIMED_OUT = 3


@dataclass(eq=False)
class Shared:
    """The client of this process in a directory.

    Attributes:
        holds: the ids of the links that hold it.
    """

    client: Client
    holds: set[int]
    pid: int

    @property
    def users(self) -> int:
        """How many endpoints hold it."""
        return len(self.holds)


@dataclass(eq=False)
class Link:
    """An endpoint's hold on a client. One that is collected lets go: perhaps an interrupt came
    before somebody had it.

    Attributes:
        client: the client.
        directory: its driver directory.
        shared: the client belongs to the process and may be renewed; None: to the user.
    """

    client: Client
    directory: str
    shared: Shared | None = None

    @property
    def is_shared(self) -> bool:
        """Whether the client belongs to the process."""
        return self.shared is not None

    @property
    def is_alive(self) -> bool:
        """Whether the client still has its driver."""
        return self.client.state == CLIENT_OPEN

    @property
    def is_closed(self) -> bool:
        """Whether the client was closed here."""
        return self.client.state == CLIENT_CLOSED

    @property
    def is_given_up(self) -> bool:
        """Whether the driver lives and has given this client up."""
        return self.client.state == CLIENT_TIMED_OUT

    @property
    def why_lost(self) -> str:
        """Why the client has no driver any more, for people."""
        if self.is_given_up:
            return (
                f"the driver in {self.directory} gave this process up, which was stopped or too "
                "busy to tell that it lives"
            )
        return f"driver in {self.directory} lost"

    @quiet_when_torn_down
    def __del__(self) -> None:
        shared = self.shared
        if shared is None or shared.pid != os.getpid() or shared.client.state != CLIENT_OPEN:
            return
        if not shared.holds or id(self) in shared.holds:
            release(self)


# Both are reentrant: a signal handler may open or close an endpoint while its thread is in here.
_lock = threading.RLock()  # guards the links; held for moments only
_making = threading.RLock()  # held while a client is made, which may have to start a driver
_links: dict[tuple[int, str], Shared] = {}
_watched_pid = 0


def _after_fork_in_child() -> None:
    # The lock may have been held by a thread that does not exist here; the links are the parent's.
    global _lock, _making
    _lock = threading.RLock()
    _making = threading.RLock()


def _watch_fork() -> None:
    global _watched_pid
    if _watched_pid == 0:
        os.register_at_fork(after_in_child=_after_fork_in_child)
    _watched_pid = os.getpid()


def acquire(directory: str | None, client: Client | None = None) -> Link:
    """Take a hold on the process's client in a directory, or on the client given.

    Raises:
        ConfigError: ``client`` is none.
        DriverError: no driver lives there and none could be started.
    """
    check_client(client)
    if client is not None:
        return Link(client, client.dir)
    path = resolve_dir(directory)
    _watch_fork()
    key = (os.getpid(), path)
    with _making:
        link = _take(key)
        if link is None:
            shared = Shared(Client(dir=path), set(), os.getpid())
            link = Link(shared.client, path, shared)
            shared.holds.add(id(link))
            with _lock:
                _links[key] = shared
        return link


def opened(directory: str | None, client: Client | None, opens: Callable[[Link], T]) -> T:
    """Open an endpoint with a hold on a client (:func:`acquire`), which it lets go when it fails.

    The driver may have died since this process heard of it last; the process's client is renewed
    then, once.

    Raises:
        Exception: of ``opens``, or of :func:`acquire`.
    """
    for is_last in (False, True):
        link = acquire(directory, client)
        try:
            return opens(link)
        except DriverLost:
            release(link)
            if is_last or not link.is_shared:
                raise
        except BaseException:
            try:
                release(link)
            except BaseException:  # a handler has raised again, in there
                release(link)
                raise
            raise
    raise AssertionError("not reached")


def hold(directory: str) -> Link | None:
    """Take another hold on the process's client in a directory; None: it has none that is alive."""
    return _take((os.getpid(), directory))


def check_client(client: object) -> None:
    """Refuse what is no client.

    Raises:
        ConfigError: neither None nor a :class:`rstream.Client`.
    """
    if client is not None and not isinstance(client, Client):
        raise ConfigError(f"client={client!r}: must be an rstream.Client, or None: the process's")


def _take(key: tuple[int, str]) -> Link | None:
    with _lock:
        shared = _links.get(key)
        if shared is None or shared.client.state != CLIENT_OPEN:
            return None
        link = Link(shared.client, key[1], shared)
        shared.holds.add(id(link))
        return link


def release(link: Link) -> None:
    """Let go; the last one closes the client. It may be called again."""
    shared = link.shared
    if shared is None:
        return
    with _lock:
        shared.holds.discard(id(link))
        if shared.holds:
            return
        key = (os.getpid(), link.directory)
        if _links.get(key) is shared:
            del _links[key]
    shared.client.close()


def exchange(link: Link) -> Link:
    """Let go of a client without driver for a living one; a driver is started if need be.

    Raises:
        DriverError: not now.
    """
    new = acquire(link.directory)
    release(link)
    return new
