"""The registry: a named, detached Ray actor that knows where endpoints are.

It is started by the first endpoint that has a name or whose actor may be restarted, needs no CPU,
and ends by itself when it has had nothing to remember for ``IDLE_S``. What it remembers is also
in Ray's key-value store, for a registry that Ray restarts; the keys go with the records.

    announce   an endpoint was opened; refused: the name is taken, or this incarnation is old
    recall     the place that a seat had in the incarnation before
    find       the handle of a name; waits for it
    withdraw   an endpoint was closed
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import pickle
import threading
import time
from typing import TYPE_CHECKING, Any, Final

from rstream._waits import Deadline
from rstream.ray._cluster import answer_of, running_ray, standing
from rstream.ray._roster import Record, Roster

if TYPE_CHECKING:
    from collections.abc import Generator

    from rstream.ray._handle import StreamHandle
    from rstream.ray._roster import SeatKey

log = logging.getLogger("rstream")

NAME: Final = "rstream-registry"
NAMESPACE: Final = "rstream"
KEY_PREFIX: Final = b"rstream:endpoint:"
#: How often the registry looks whether holders are dead.
SWEEP_S: Final = 2.0
#: How long the registry stays without anything to remember.
IDLE_S: Final = 15.0
#: Longest wait of one call for a name; the caller calls again.
FIND_WAIT_S: Final = 5.0
#: How long a call of the registry may take, once its process runs.
CALL_TIMEOUT_S: Final = 30.0
#: Pause before a call is made again, of a registry that has just ended.
RETRY_S: Final = 0.05


class RegistryEnding(Exception):
    """The registry is about to end; its caller starts another one."""


class Registry:
    """The actor. Its methods run in its event loop, and a thread sweeps."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._roster = Roster(standing)
        self._waiting: dict[tuple[str, str], set[asyncio.Future[None]]] = {}
        self._is_ending = False
        self._used_s = time.monotonic()
        self._load()
        threading.Thread(target=self._sweep, name="rstream-registry", daemon=True).start()

    @contextlib.contextmanager
    def _open(self) -> Generator[Roster]:
        """The roster, for this call alone.

        Raises:
            RegistryEnding: the registry is about to end.
        """
        with self._lock:
            if self._is_ending:
                raise RegistryEnding
            self._used_s = time.monotonic()
            yield self._roster

    async def announce(self, record: Record) -> Record | None:
        """Take a record in; returns the one that stands in its way."""
        with self._open() as roster:
            replaced, refusal = roster.add(record)
            for old in replaced:
                _keys()._internal_kv_del(KEY_PREFIX + old.token.encode())
            if refusal is not None:
                return refusal
            _keys()._internal_kv_put(KEY_PREFIX + record.token.encode(), pickle.dumps(record))
        for waiting in self._waiting.pop((record.holder.scope, record.name), set()):
            if not waiting.done():
                waiting.set_result(None)
        return None

    async def recall(self, seat: SeatKey) -> StreamHandle | None:
        """The handle that a seat had."""
        with self._open() as roster:
            found = roster.of_seat(seat)
            return None if found is None else found.handle

    async def find(self, scope: str, name: str, wait_s: float) -> StreamHandle | list[str]:
        """The handle of a name; a list, of all names: nobody alive has it after ``wait_s``."""
        deadline = Deadline(min(wait_s, FIND_WAIT_S))
        while True:
            with self._open() as roster:
                found = roster.find(scope, name)
                if found is not None:
                    return found.handle
                names = roster.names(scope)
            if deadline.is_over:
                return names
            await self._wait_for_name((scope, name), deadline.left_s(SWEEP_S))

    async def _wait_for_name(self, key: tuple[str, str], timeout_s: float) -> None:
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key, set()).add(waiting)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(waiting, timeout_s)
        others = self._waiting.get(key, set())
        others.discard(waiting)
        if not others:
            self._waiting.pop(key, None)

    async def withdraw(self, token: str) -> None:
        """Forget an endpoint that was closed."""
        with self._open() as roster:
            roster.drop(token)
            _keys()._internal_kv_del(KEY_PREFIX + token.encode())

    # ---- its thread ----

    def _load(self) -> None:
        for key in _keys()._internal_kv_list(KEY_PREFIX):
            value: bytes | None = _keys()._internal_kv_get(key)
            if value:
                self._roster.add(pickle.loads(value))

    def _sweep(self) -> None:
        while True:
            time.sleep(SWEEP_S)
            with self._lock:
                holders = self._roster.holders()
            # Without the lock: this asks Ray once for each of them.
            standings = {holder: standing(holder) for holder in holders}
            with self._lock:
                for record in self._roster.sweep(standings, time.monotonic()):
                    _keys()._internal_kv_del(KEY_PREFIX + record.token.encode())
                is_idle = time.monotonic() - self._used_s > IDLE_S
                if len(self._roster) or not is_idle:
                    continue
                self._is_ending = True
            ray: Any = importlib.import_module("ray")
            ray.kill(ray.get_runtime_context().current_actor)
            return


# ---- its callers ----

_last: Any = None  # the handle of the last call


def call(method: str, *args: Any, timeout_s: float = CALL_TIMEOUT_S) -> Any:
    """Call a method of the registry, and start it if there is none. Works in event loops too.

    Raises:
        TimeoutError: no answer within ``timeout_s``, not counted while Ray starts its process.
    """
    ray: Any = importlib.import_module("ray")
    deadline = Deadline(timeout_s)
    while True:
        try:
            actor = _actor()
            answer = getattr(actor, method).remote(*args)
            return answer_of(actor, answer, deadline.left_s())
        except (ray.exceptions.RayActorError, RegistryEnding, TimeoutError) as error:
            if deadline.left_s() <= RETRY_S:
                raise TimeoutError(
                    f"the registry of endpoints ({NAME!r} in Ray's namespace {NAMESPACE!r}) did "
                    f"not answer within {timeout_s:g} s: {error}"
                ) from error
            time.sleep(RETRY_S)


def send(method: str, *args: Any) -> None:
    """Call a method of the registry that this process has called before; waits for nothing."""
    if _last is not None and running_ray() is not None:
        with contextlib.suppress(Exception):  # it has ended, or Ray is shutting down
            getattr(_last, method).remote(*args)


def _actor() -> Any:
    global _last
    ray: Any = importlib.import_module("ray")
    _last = (
        ray.remote(Registry)
        .options(
            name=NAME,
            namespace=NAMESPACE,
            lifetime="detached",
            get_if_exists=True,
            num_cpus=0,
            max_restarts=-1,
            max_task_retries=-1,
            max_concurrency=10_000,
        )
        .remote()
    )
    return _last


def _keys() -> Any:
    return importlib.import_module("ray.experimental.internal_kv")
