"""The world of an experiment: the engine that runs it, and the capacity of a receiver there.

Engines. In virtual time real media drivers run scenarios of up to 16 receivers. The queue engine
runs larger ones, and all of them on request.

Scale. The experiments are written for 100 MB/s. On real sockets one thread carries every driver of
a run, so the capacity is what this machine can carry. Buffers, and parameters of the laws in bytes,
shrink with it. Times (B/c, the windows) stay the same.

Buffers. A driver accepts data up to half a term beyond the consumer, and terms are powers of two.
So only a buffer whose length is a power of two bounds what the driver accepts. The capacity is
100 MB/s divided by a power of two. An experiment that needs another buffer takes the power of two
below it, with less capacity. Drivers in virtual time do the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from rstream.errors import ConfigError
from rstream.lab.engine import run
from rstream.lab.measure import mean_rate, quantile
from rstream.lab.scenario import BUFFER, MB, Consumer, Law, Scenario, Sender, group

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ("AGENTS_MOST", "FULL", "QUEUES", "STEP_S", "VIRTUAL", "World", "fitting", "measured")

#: The capacity that the experiments are written for, in bytes per second.
FULL: Final = 100 * MB
#: Most receivers that real agents run in virtual time. tests/lab/test_agents.py compares the
#: engines at eight receivers.
AGENTS_MOST: Final = 16
#: Share of the measured rate; the rest is for bursts, repair, and other load of the machine.
SHARE: Final = 1 / 3
LEAST: Final = FULL / 64
#: Nearly all steps of the thread that carries all drivers are shorter; a longer one is late.
STEP_S: Final = 0.0005
#: A round trip of 1 ms as drivers measure it in virtual time, where a step is 0.05 ms.
VIRTUAL_RTT_S: Final = 0.00105
_BUFFER_LEAST: Final = 65536
_HALF_TERM_LEAST: Final = 32768
#: A buffer may be shorter than that by this factor; its capacity grows by the same factor.
_SHORT: Final = 0.8
_SCALED: Final = frozenset({"initial", "most", "increase", "buffer_bytes"})
_MEASURED_S: Final = 1.0
_SETTLED_S: Final = 0.3
_RMEM_MAX: Final = Path("/proc/sys/net/core/rmem_max")


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """The engine and the size of an experiment.

    Attributes:
        engine: ``agents`` and ``queues`` run in virtual time, ``sockets`` in real time.
        full: capacity of a receiver, in bytes per second.
        rtt_s: round trip of the network path, in seconds.
        carried: rate that each receiver got in a run without limit, in bytes per second; 0 in
            virtual time.
        later_s: seconds by which drivers measure a longer round trip than in virtual time.
    """

    engine: Literal["agents", "queues", "sockets"] = "agents"
    full: float = FULL
    rtt_s: float = 1e-3
    carried: float = 0.0
    later_s: float = 0.0

    @property
    def is_real(self) -> bool:
        """Whether runs take place in real time."""
        return self.engine == "sockets"

    @property
    def scale(self) -> float:
        return self.full / FULL

    def buffer(self, size: float = BUFFER) -> float:
        """A buffer that lasts as long here as ``size`` at 100 MB/s, in bytes (whole KiB)."""
        return (
            size
            if self.scale == 1
            else max(_BUFFER_LEAST, round(size * self.scale / 1024) * 1024.0)
        )

    def holds(self, size: float) -> bool:
        """Whether a driver with this buffer accepts no more data than the buffer holds."""
        return self.engine == "queues" or size >= _SHORT * _HALF_TERM_LEAST

    def must_hold(self, sizes: Mapping[str, float]) -> None:
        """Refuse buffers that do not bound what a driver accepts; a verdict on them says nothing.

        Raises:
            ConfigError: a buffer is too small.
        """
        for what, size in sizes.items():
            if not self.holds(size):
                raise ConfigError(
                    f"at {self.full / 1e6:g} MB/s a receiver the buffer of {what} has "
                    f"{size / 1e3:.0f} kB, and a driver takes {_HALF_TERM_LEAST / 1e3:.0f} "
                    "at least: the machine carries too little just now, "
                    "or net.core.rmem_max is too small"
                )

    def exact(self, size: float) -> tuple[World, float]:
        """A world and a buffer that a driver fills exactly, and that last as long as this one here.

        Returns this world and buffer unchanged on queues, and for a buffer too small for that.
        """
        if self.engine == "queues" or not self.holds(size):
            return self, size
        power = max(2.0 ** math.floor(math.log2(size)), _HALF_TERM_LEAST)
        return replace(self, full=self.full * power / size), power

    @property
    def found_rtt_s(self) -> float:
        """The round trip as drivers measure it, which decides the headroom of small buffers."""
        return self.rtt_s + self.later_s

    def law(self, law: Law) -> Law:
        """The law with its rates and byte counts scaled to this world."""
        if self.scale == 1:
            return law
        return replace(
            law,
            parameters={
                name: float(round(value * self.scale)) if name in _SCALED else value
                for name, value in law.parameters.items()
            },
        )

    def place(self, scenario: Scenario) -> Scenario:
        """The scenario on the engine of this world."""
        if self.is_real:
            return replace(scenario, real=True)
        by_agents = (
            self.engine == "agents" and len(scenario.images) <= AGENTS_MOST and not scenario.queues
        )
        return replace(scenario, agents=True) if by_agents else scenario


VIRTUAL: Final = World()
QUEUES: Final = World(engine="queues")


def fitting(carried: float, buffer_most: float, socket_most: float) -> World:
    """The world with the largest capacity that fits: 100 MB/s divided by a power of two.

    It is at most a third of ``carried``, and the experiment's largest buffer (``buffer_most`` bytes
    at 100 MB/s) fits into a socket buffer of ``socket_most`` bytes.
    """
    full = FULL
    while full > LEAST and (full > carried * SHARE or buffer_most * full / FULL > socket_most):
        full /= 2
    return World(engine="sockets", full=full, carried=carried)


def measured(receivers: int, buffer_most: float) -> World:
    """The world of real sockets on this machine, as busy as it is now.

    It measures for about two seconds: an unlimited run to ``receivers``, then the round trip.
    """
    socket_most = float(_RMEM_MAX.read_text())
    unlimited = Consumer(levels=((0.0, 1e12),))
    world = group(
        "calibration",
        _MEASURED_S,
        (unlimited,) * receivers,
        buffer_bytes=min(BUFFER, socket_most),
        drain_s=0.1,
    ).under(Law("credit"))
    outcome = run(replace(world, real=True), 1)
    found = fitting(
        mean_rate(outcome, "delivered_least", _SETTLED_S, _MEASURED_S - 0.01),
        buffer_most,
        socket_most,
    )
    return replace(found, later_s=_later_s(found, receivers))


def _later_s(world: World, receivers: int) -> float:
    """Seconds by which drivers measure a longer round trip than in virtual time.

    The loopback and the thread that carries all drivers add to it.
    """
    where, size = world.exact(world.buffer())
    noisy = Consumer(levels=((0.0, where.full),), noise=0.15)
    scenario = group(
        "round trip",
        _MEASURED_S,
        (noisy,) * receivers,
        buffer_bytes=size,
        drain_s=0.1,
        step_s=5e-5,
        sender=Sender(rtt_s=world.rtt_s),
    )
    outcome = run(replace(scenario.under(where.law(Law("adaptive"))), real=True), 1)
    round_trips = outcome.sender("rtt_ns")[
        outcome.index(_SETTLED_S) : outcome.index(_MEASURED_S - 0.01)
    ]
    return max(0.0, quantile(round_trips, 0.5) / 1e9 - VIRTUAL_RTT_S)
