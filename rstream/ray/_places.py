"""Where the endpoints of a process are, and how a restarted actor gets the same places again.

A *place* is what a handle's address is made of: the stream id and the UDP port. An actor's endpoint
is known by actor id, stream name, and number: the first open endpoint of a name has number 0. Ray's
key-value store remembers its place. So an actor that Ray restarts, or that opens a closed endpoint
anew, has the same handle as before, and two endpoints of one name never share one.
"""

from __future__ import annotations

import dataclasses
import importlib
import sys
import threading
from typing import Any

_lock = threading.Lock()
_open_numbers: dict[str, set[int]] = {}


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """The address of one reader on its host.

    Attributes:
        stream_id: unique to the reader.
        port: UDP port; 0: none yet.
    """

    stream_id: int
    port: int = 0

    @property
    def socket_tag(self) -> int:
        """Names the reader's socket within its driver, for what else listens on it."""
        return self.stream_id & 0x7FFF_FFFF


class Seat:
    """The right of one open endpoint of this process to its number, and the memory of its place."""

    def __init__(self, name: str) -> None:
        self._name = name
        with _lock:
            taken = _open_numbers.setdefault(name, set())
            self._number = next(n for n in range(len(taken) + 1) if n not in taken)
            taken.add(self._number)
        self._is_left = False

    def leave(self) -> None:
        """Give the number back; the next endpoint of the name has the same place. Idempotent."""
        with _lock:
            if not self._is_left:
                self._is_left = True
                _open_numbers[self._name].discard(self._number)

    def recall(self) -> Place | None:
        """The place that an earlier endpoint with this number had; None: there was none."""
        key = self._key()
        value: bytes | None = _key_value_store()._internal_kv_get(key) if key else None
        if not value:
            return None
        stream_id, port = value.split()
        return Place(int(stream_id), int(port))

    def remember(self, place: Place) -> None:
        """Keep the place for a restart; without effect outside of an actor."""
        key = self._key()
        if key:
            _key_value_store()._internal_kv_put(key, f"{place.stream_id} {place.port}".encode())

    def _key(self) -> bytes | None:
        ray = running_ray()
        if ray is None:
            return None
        actor_id: str | None = ray.get_runtime_context().get_actor_id()
        return (
            f"rstream:place:{actor_id}:{self._number}:{self._name}".encode() if actor_id else None
        )


def running_ray() -> Any:
    """The module ray if it is initialised here, else None. It has no strict types.

    It is not imported for that: who has not imported it has not initialised it.
    """
    ray: Any = sys.modules.get("ray")
    return ray if ray is not None and ray.is_initialized() else None


def _key_value_store() -> Any:
    return importlib.import_module("ray.experimental.internal_kv")
