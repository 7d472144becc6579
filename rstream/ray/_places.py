"""Where the endpoints of a process are, and how a restarted actor gets the same places again.

A *place* is what a handle's address is made of: the stream id and the UDP port. An actor's endpoint
is known by its *seat*: actor id, label, and number; the first open endpoint of a label has number
0. The label is the name, or empty for endpoints without one. The registry remembers the place for
an actor that Ray may restart. So an actor that was restarted, or that opens a closed endpoint
anew, has the same handle as before, and two endpoints never share one.
"""

from __future__ import annotations

import dataclasses
import threading
from typing import TYPE_CHECKING

from rstream.ray import _registry

if TYPE_CHECKING:
    from rstream.ray._cluster import EndpointHolder
    from rstream.ray._handle import StreamHandle
    from rstream.ray._roster import SeatKey

_lock = threading.Lock()
_open_numbers: dict[str, set[int]] = {}
_left_places: dict[SeatKey, ReaderPlace] = {}


@dataclasses.dataclass(frozen=True, slots=True)
class ReaderPlace:
    """The address of one reader on its host.

    Attributes:
        stream_id: unique to the reader.
        port: UDP port; 0: none yet.
    """

    stream_id: int
    port: int = 0


class Seat:
    """The right of one open endpoint of this process to its number, and the memory of its place.

    Args:
        label: the endpoint's name, or empty.
        holder: this process; None: Ray does not run here.
    """

    def __init__(self, label: str, holder: EndpointHolder | None) -> None:
        self._label = label
        self._holder = holder
        with _lock:
            taken = _open_numbers.setdefault(label, set())
            self.number: int = next(n for n in range(len(taken) + 1) if n not in taken)
            taken.add(self.number)
        self._is_left = False

    @property
    def key(self) -> SeatKey:
        """As the registry knows it."""
        holder = self._holder
        process = "" if holder is None else holder.actor_id or holder.worker_id or holder.job_id
        return process, self._label, self.number

    def leave(self, place: ReaderPlace | None = None) -> None:
        """Give the number back; the next endpoint of the label has the same place. Idempotent."""
        with _lock:
            if not self._is_left:
                self._is_left = True
                _open_numbers[self._label].discard(self.number)
                if place is not None and self._holder is not None and self._holder.actor_id:
                    _left_places[self.key] = place

    def recall(self) -> ReaderPlace | None:
        """The place that an earlier endpoint with this seat had; None: there was none."""
        holder = self._holder
        if holder is None or not holder.actor_id:
            return None
        left = _left_places.get(self.key)
        if left is not None or holder.restarts == 0:
            return left
        handle: StreamHandle | None = _registry.call("recall", self.key)
        return None if handle is None else place_of(handle)


def place_of(handle: StreamHandle) -> ReaderPlace:
    """The place of a handle."""
    port = int(handle.endpoint.rpartition(":")[2]) if handle.endpoint else 0
    return ReaderPlace(handle.stream_id, port)
