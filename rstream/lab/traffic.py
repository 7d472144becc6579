"""The border to the C engine of flows on one bottleneck, datagram by datagram, in virtual time.

A world is a link and the flows on it. The same world and seed give the same samples.
"""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass
from typing import Final

from rstream.lab import _lab
from rstream.lab.engine import Records, ns

__all__ = (
    "BBR",
    "CUBIC",
    "DATAGRAM",
    "FIXED",
    "PATH",
    "Flow",
    "LabLink",
    "LinkWorld",
    "Trace",
    "run",
)

#: Kinds of flows, as in transport_ext/lab/spec.h.
PATH, CUBIC, BBR, FIXED = range(4)
#: Bytes of a datagram on the link.
DATAGRAM: Final = 1436
#: Columns of the link in front of those of the flows (transport_ext/lab/traffic.h).
_LINK_WIDTH: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class LabLink:
    """The bottleneck.

    Attributes:
        rate: bytes per second.
        queue_bytes: what its queue holds; it drops the rest.
        loss: share of the datagrams that are lost behind it, and of the answers.
        changes: pairs (second, rate).
    """

    rate: float
    queue_bytes: float
    loss: float = 0.0
    changes: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """A sender and its receiver.

    Attributes:
        kind: PATH, CUBIC, BBR or FIXED.
        rtt_s: the round trip without a queue.
        window_bytes: what the receiver has room for.
        begins_s: when it begins.
        ends_s: when the application has written its last byte.
        app_rate: bytes per second that the application writes; 0: as fast as it can.
        stall_every_s: mean time between two stalls of a host; 0: none.
        stall_s: mean length of a stall.
    """

    kind: int
    rtt_s: float
    window_bytes: float
    begins_s: float = 0.0
    ends_s: float = math.inf
    app_rate: float = 0.0
    stall_every_s: float = 0.0
    stall_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkWorld:
    """A link, the flows on it, and how long they run."""

    link: LabLink
    flows: tuple[Flow, ...]
    seconds: float
    sample_s: float


class Trace:
    """The samples of a run, as columns over time; counts of bytes since the beginning."""

    def __init__(self, world: LinkWorld, samples: bytes) -> None:
        self.world = world
        self._values: array[float] = array("d", samples)
        self._names = _lab.traffic_columns()
        self._width = _LINK_WIDTH + len(world.flows) * len(self._names)
        self.times: list[float] = self._values[:: self._width].tolist()
        #: Bytes in the queue of the bottleneck, and its rate.
        self.queue: list[float] = self._values[1 :: self._width].tolist()
        self.rate: list[float] = self._values[2 :: self._width].tolist()

    def flow(self, column: str, number: int) -> list[float]:
        """A column of a flow: sent, resent, dropped, lost, delivered, window, state, refused."""
        at = _LINK_WIDTH + number * len(self._names) + self._names.index(column)
        return self._values[at :: self._width].tolist()

    def index(self, at_s: float) -> int:
        """The index of the first sample at or after a time."""
        return min(len(self.times) - 1, math.ceil(at_s / self.world.sample_s - 1e-9))

    def between(self, column: str, number: int, from_s: float, to_s: float) -> float:
        """What a count of a flow rose in a time."""
        values = self.flow(column, number)
        return values[self.index(to_s)] - values[self.index(from_s)]


def pack(world: LinkWorld, seed: int) -> bytes:
    """The records of a run, as the C engine reads them."""
    records = Records()
    records.add(
        "link",
        rate=world.link.rate,
        queue_bytes=world.link.queue_bytes,
        loss=world.link.loss,
        control_loss=world.link.loss,
        duration_ns=ns(world.seconds),
        sample_ns=ns(world.sample_s),
        seed=seed,
    )
    for at_s, rate in world.link.changes:
        records.add("change", at_ns=ns(at_s), rate=rate)
    for flow in world.flows:
        records.add(
            "flow",
            kind=flow.kind,
            rtt_ns=ns(flow.rtt_s),
            datagram=DATAGRAM,
            window_bytes=flow.window_bytes,
            begins_ns=ns(flow.begins_s),
            ends_ns=ns(flow.ends_s),
            app_rate=flow.app_rate,
            nak_delay_ns=1e5,
            stall_every_ns=ns(flow.stall_every_s),
            stall_ns=ns(flow.stall_s),
        )
    return records.values.tobytes()


def run(world: LinkWorld, seed: int) -> Trace:
    """Run a world once.

    Raises:
        RStreamError: a value is outside its range; the text names record and field.
    """
    return Trace(world, _lab.run_traffic(pack(world, seed)))
