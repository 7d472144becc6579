"""Starting a media driver: one that processes share, or one inside this process.

*Shared* (default): :func:`ensure_driver` starts the program ``rstreamd`` in a directory without a
living driver. The driver is independent of the process that started it, and ends when no client has
used it for ``idle_exit_s``. When two processes start one at once, the lock of the directory
decides: one driver runs, the other exits.

*Embedded*: :class:`Driver` runs the agents as threads of this process, for tests and for programs
that use no other process.

Publishers and subscribers do all this by themselves. A program that wants to know, or to start the
driver early::

    driver.resolve_dir()                    # the directory that they use
    driver.ensure_driver()                  # a driver lives there now
    driver.rstreamd_path()                  # the program
    driver.get_include()                    # headers and library, for flow control in C
    driver.get_library()
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import logging
import os
import select
import subprocess
import sys
import threading
import time
import weakref
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn, Protocol, Self

from rstream import _core
from rstream._checks import check_timeout
from rstream._keywords import unknown_keyword
from rstream._other_drivers import missing_parent
from rstream._pickling import refuse_pickling
from rstream._process import quiet_when_torn_down, run_before_exit
from rstream._unclosed import call_site, warn_unclosed
from rstream.config import DriverConfig, DriverSettings
from rstream.errors import (
    BY_CODE,
    ConfigError,
    DriverError,
    DriverNotFound,
    DriverTimeout,
    RStreamError,
)

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Unpack

__all__ = (
    "Driver",
    "ensure_driver",
    "get_include",
    "get_library",
    "get_link_flags",
    "resolve_dir",
    "rstreamd_path",
)

log: logging.Logger = logging.getLogger("rstream")

#: Where the default directory is, if it can be written.
SHARED_MEMORY: Final = "/dev/shm"

_core._set_errors(BY_CODE, RStreamError)  # pyright: ignore[reportPrivateUsage]

#: ``_core.probe`` returns this or more when a driver is alive.
_ALIVE: Final = 2
_POLL_S: Final = 0.005
#: After our program has ended, wait this long for the other driver that made it exit.
_LOSER_S: Final = 1.0
#: Soft limits of open files, file size, CPU time and memory become the hard ones.
_RAISE_LIMITS: Final = (
    'for limit in n f t v; do ulimit -S -$limit "$(ulimit -H -$limit)" || :; done 2>/dev/null; '
)
#: A lower priority, such as that of Ray's workers, becomes the usual one where the system lets it.
_RAISE_PRIORITY: Final = (
    '{ own=; n=$(nice) && [ "$n" -gt 0 ] && [ "$(nice -n -$n nice)" = 0 ] && own="nice -n -$n"; } '
    "2>/dev/null; "
)
#: Runs the arguments, and prints their process id.
_RUN: Final = '$own "$@" >&2 & echo $!'
#: One of these stands in the text of a driver that found the directory in use.
_IN_USE: Final = ("has directory", "made and removed again")


def resolve_dir(dir: str | os.PathLike[str] | None = None) -> str:
    """The driver directory: ``dir``, else ``$RSTREAM_DIR``, else ``/dev/shm/rstream-<user>``.

    Where ``/dev/shm`` is missing or cannot be written, the last is a folder of ``$TMPDIR``, else of
    ``/tmp``, and a warning is logged: processes with another ``$TMPDIR`` do not meet this one.
    """
    if dir is None:
        path = _core.default_dir()
        if is_fallback(path):
            _warn_of_fallback(path)
        return path
    if not isinstance(dir, (str, os.PathLike)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigError(f"dir={dir!r}: must be the path of a driver directory")
    path = os.fspath(dir)
    if not path:
        raise ConfigError("driver directory: the path is empty")
    return str(Path(path).absolute())


def is_fallback(path: str) -> bool:
    """Whether the default directory is outside ``/dev/shm`` because that cannot be written."""
    return not (os.environ.get("RSTREAM_DIR") or path.startswith(f"{SHARED_MEMORY}/"))


@functools.cache  # once for each directory
def _warn_of_fallback(path: str) -> None:
    log.warning(
        "%s is missing or cannot be written, so the driver directory is %s; only processes with "
        "the same $TMPDIR meet there: set RSTREAM_DIR to a folder that all of them can write "
        "(`rstream doctor`)",
        SHARED_MEMORY,
        path,
    )


def rstreamd_path() -> str:
    """Path of the program ``rstreamd`` that belongs to this package."""
    return str(Path(_core.__file__).parent / "bin" / "rstreamd")


def get_include() -> str:
    """The folder of the C headers, for ``cc -I``: ``#include "rstream/driver.h"``."""
    return str(Path(_core.__file__).parent / "include")


def get_library() -> str:
    """The static library of the driver and the client in C; :func:`get_link_flags` has the rest.

    A driver with flow control of your own is a program that registers its strategy
    (``rstream/flow.h``) and opens a driver (``rstream/driver.h``). Clients in Python use its
    directory as that of any other driver. The how-to page "Your own flow control in C" has one.
    """
    return str(Path(_core.__file__).parent / "lib" / "librstream.a")


def get_link_flags() -> list[str]:
    """What a program links behind :func:`get_library`: ``-lcrypto`` too, if this rstream has keys.

    Example::

        flags = [rstream.driver.get_library(), *rstream.driver.get_link_flags()]
    """
    has_keys = _core.build_config()["crypto"] != "none"
    return ["-lpthread", "-lm", *(["-lcrypto"] if has_keys else [])]


def ensure_driver(
    dir: str | os.PathLike[str] | None = None,
    *,
    config: DriverConfig | None = None,
    timeout_s: float = 10.0,
    log: str | os.PathLike[str] | None = None,
) -> str:
    """Start the shared driver of a directory unless one is alive, and wait until it is ready.

    Any number of processes may call this at once.

    Args:
        dir: driver directory; None: the default one.
        config: settings for a driver that is started here.
        timeout_s: most seconds to wait until it is ready.
        log: append the driver's output to this file; None: discard it.
    Returns:
        The driver directory.
    Raises:
        DriverError: it could not be started; the driver wrote the text.
        DriverTimeout: not ready within ``timeout_s``.
    """
    check_timeout(timeout_s)
    path = resolve_dir(dir)
    deadline_s = time.monotonic() + timeout_s
    while _ready_pid(path) is None:
        if _core.probe(path) >= _ALIVE:
            # Another process has started it a moment ago.
            if not _wait_ready(path, deadline_s):
                raise DriverTimeout(f"the driver in {path} is alive, but does not become ready")
            break
        text = _start(path, config, log, deadline_s)
        if text is None or _wait_ready(path, min(deadline_s, time.monotonic() + _LOSER_S)):
            break
        if not any(mark in text for mark in _IN_USE):
            raise DriverError(
                f"rstreamd could not be started in {path}: {text or 'it ended without a message'}",
                hint=missing_parent(path) or None,
            )
        # Another driver had the directory and has ended meanwhile: try again.
        if time.monotonic() >= deadline_s:
            raise DriverTimeout(f"driver directory {path}: {text}")
    return path


def _ready_pid(path: str) -> int | None:
    """Process id of the driver of a directory that is ready; 0: not known; None: not ready."""
    if _core.probe(path) < _ALIVE:
        return None
    try:
        info = _core.driver_info(path)
    except DriverNotFound:
        return None
    except RStreamError:
        return 0  # another version, or no right to read: the error of the client says it better
    return info.pid if info.heartbeat_age_ms >= 0 else None


def _wait_ready(path: str, deadline_s: float) -> bool:
    while _ready_pid(path) is None:
        if time.monotonic() >= deadline_s:
            return False
        time.sleep(_POLL_S)
    return True


def _start(
    path: str,
    config: DriverConfig | None,
    log: str | os.PathLike[str] | None,
    deadline_s: float,
) -> str | None:
    """Start the program and wait for it.

    Returns:
        None: a driver is ready. Otherwise the program ended; the text is its output.
    """
    program = rstreamd_path()
    if not os.access(program, os.X_OK):
        raise DriverError(
            f"the program {program} is missing or cannot be run: reinstall rstream-transport"
        )
    arguments = [program, "--dir", path]
    for name, value in (config or DriverConfig()).to_options().items():
        arguments.append(f"--{name}={value}")
    read_fd, write_fd = os.pipe()
    try:
        pid = _spawn(arguments, write_fd, log)
    except BaseException:
        os.close(read_fd)
        raise
    finally:
        os.close(write_fd)
    try:
        return _await_ready(path, pid, read_fd, deadline_s)
    finally:
        os.close(read_fd)


def _spawn(arguments: list[str], write_fd: int, log: str | os.PathLike[str] | None) -> int:
    """Start the program; returns its process id.

    A shell in between detaches it: no zombie stays in this process, and signals to this process
    group do not reach the driver. The program keeps ``write_fd`` open, so our end of the pipe shows
    when it ends.
    """
    with contextlib.ExitStack() as stack:
        output = write_fd if log is None else stack.enter_context(open(log, "ab"))
        # The driver serves every later process too. It must not depend on which one came first.
        environment = {
            name: value for name, value in os.environ.items() if name.startswith("RSTREAM_")
        }
        shell = subprocess.run(
            ["/bin/sh", "-c", _RAISE_LIMITS + _RAISE_PRIORITY + _RUN, "sh", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=output,
            pass_fds=(write_fd,),
            start_new_session=True,
            close_fds=True,
            cwd="/",
            env=environment,
            check=True,
        )
    return int(shell.stdout)


def _await_ready(path: str, pid: int, read_fd: int, deadline_s: float) -> str | None:
    text = b""
    while True:
        ready_pid = _ready_pid(path)
        if ready_pid == pid:
            return None
        # Another driver is ready: ours exits. Wait for that, so that it cannot start later.
        if select.select([read_fd], [], [], _POLL_S)[0]:
            data = os.read(read_fd, 4096)
            if not data:
                return None if ready_pid is not None else text.decode(errors="replace").strip()
            text += data
        if time.monotonic() >= deadline_s:
            if ready_pid is not None:
                return None
            raise DriverTimeout(
                f"rstreamd was started in {path}, but is not ready in time; look at `rstream stat`"
            )


# ---- open clients and drivers of this process, for its exit and for forks ----


class _Closable(Protocol):
    def close(self) -> None: ...


class _WatchedLoop(Protocol):
    def stop(self) -> None: ...
    def join(self, timeout_s: float, /) -> None: ...


#: At exit, most seconds to wait for what a loop has under way, such as one call of the user's code.
LOOP_EXIT_S = 2.0

_open_loops: weakref.WeakSet[_WatchedLoop] = weakref.WeakSet()
_open_clients: weakref.WeakSet[_Closable] = weakref.WeakSet()
_open_drivers: weakref.WeakSet[_Closable] = weakref.WeakSet()
_is_watching = _is_watching_main = False


def _close_all() -> None:
    """At exit: stop the loops that read in the background, then close the clients that they use,
    and at last the drivers that serve those.
    """
    run_before_exit()
    _stop_loops()
    for group in (_open_clients, _open_drivers):
        for one in list(group):
            # The process ends anyway.
            with contextlib.suppress(RStreamError):
                one.close()


def _stop_loops() -> None:
    loops = list(_open_loops)
    for loop in loops:
        loop.stop()
    for loop in loops:
        with contextlib.suppress(RuntimeError):  # the start of its thread was interrupted
            loop.join(LOOP_EXIT_S)


def _stop_if_interrupted() -> None:
    """The main thread has ended, and Python will wait for all threads that are no daemons. After
    Ctrl-C nobody wants that: the loops end now.
    """
    if getattr(sys, "last_type", None) is KeyboardInterrupt:
        _stop_loops()


def _forget_all() -> None:
    """In a forked child: loops, open clients and drivers belong to the parent."""
    _open_loops.clear()
    _open_clients.clear()
    _open_drivers.clear()


def watch_exit(one: _Closable, *, is_driver: bool = False) -> None:
    """Close ``one`` at the end of the process if it is still open then."""
    _watch()
    (_open_drivers if is_driver else _open_clients).add(one)


def watch_loop(loop: _WatchedLoop) -> None:
    """Stop ``loop`` at the end of the process if it still runs then, before clients are closed."""
    global _is_watching_main
    _watch()
    if not _is_watching_main:
        _is_watching_main = True
        with contextlib.suppress(AttributeError, RuntimeError):  # the program ends already
            # concurrent.futures uses it, too: an atexit function comes too late.
            threading._register_atexit(_stop_if_interrupted)  # pyright: ignore
    _open_loops.add(loop)


def _watch() -> None:
    global _is_watching
    if not _is_watching:
        _is_watching = True
        atexit.register(_close_all)
        os.register_at_fork(after_in_child=_forget_all)


def runs_here(path: str) -> bool:
    """Whether the driver of a directory is an open :class:`Driver` of this process."""
    return any(isinstance(one, Driver) and one.dir == path for one in list(_open_drivers))


def unwatch(one: _Closable) -> None:
    """Undo :func:`watch_exit`."""
    _open_clients.discard(one)
    _open_drivers.discard(one)


class Driver:
    """An embedded media driver: its agents are threads of this process.

    Args:
        dir: driver directory; None: the default one.
        config: settings.
        settings: or single settings by name, the fields of :class:`rstream.config.DriverConfig`.
    Raises:
        DriverInUse: the directory has a living driver.
        ConfigError: a setting is wrong.

    It is a context manager; ``close()`` is idempotent. After ``fork`` the child has no driver.

    Example::

        with rstream.Driver("/dev/shm/test", mtu=8192) as driver:
            with rstream.Client(driver.dir) as client: ...
    """

    def __init__(
        self,
        dir: str | os.PathLike[str] | None = None,
        *,
        config: DriverConfig | None = None,
        **settings: Unpack[DriverSettings],
    ) -> None:
        self._made_at = call_site()
        known = [field.name for field in fields(DriverConfig)]
        for name in settings:
            if name not in known:
                raise unknown_keyword("Driver", name, ["dir", "config", *known])
        if config is not None and settings:
            raise ConfigError("Driver: give config or single settings, not both")
        options = (config or DriverConfig(**settings)).to_options()
        self._core = _core.Driver({"dir": resolve_dir(dir), **options})
        if options.get("threading") != "invoker":
            try:
                self._core.start()
            except BaseException:
                self._core.close()
                raise
        self._open_pid = os.getpid()
        watch_exit(self, is_driver=True)

    @property
    def dir(self) -> str:
        """The driver directory."""
        return self._core.dir

    def do_work(self) -> tuple[int, int]:
        """Run one duty cycle in invoker mode.

        Returns:
            (work count, next deadline in monotonic nanoseconds).
        """
        return self._core.do_work()

    def close(self) -> None:
        """Stop the agents, notify the clients and remove the files. Idempotent."""
        self._open_pid = 0
        unwatch(self)
        self._core.close()

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
        # In a forked child this is the parent's driver.
        if getattr(self, "_open_pid", 0) == os.getpid():
            try:
                warn_unclosed(self, self._made_at)
            finally:
                self.close()

    def __reduce__(self) -> NoReturn:
        refuse_pickling(self, "pass its dir")

    def __repr__(self) -> str:
        return f"<rstream.Driver {self.dir}>"
