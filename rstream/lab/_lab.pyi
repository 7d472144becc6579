"""Types of the extension ``rstream.lab._lab``: the engines of the laboratory."""

from os import PathLike

from typing_extensions import Buffer

def records() -> list[tuple[str, list[tuple[str, float, float]]]]:
    """(kind, (field, least, most) of each field) of each kind of record, in the order of their
    numbers.
    """

def columns() -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Column names: of a sender's samples, of an image's samples, of an image's results."""

def headroom(
    target_delay_ns: int, detect_ns: int, buffer_bytes: int, rtt_ns: int, rate: float, /
) -> float:
    """The headroom X of a buffer under the adaptive law, for a consumer that drains at ``rate``
    bytes per second.
    """

def defaults() -> tuple[int, int, int]:
    """The adaptive law's target delay, detection time and least period of reports, in ns."""

def run(records: Buffer, /) -> tuple[bytes, bytes]:
    """Run a scenario in virtual time on the queue engine: (samples, results), rows of float64.

    ``records`` are rows of float64, each a kind and its fields. Raises InvalidArgument naming the
    record and the field. The GIL is released.
    """

def traffic_columns() -> tuple[str, ...]:
    """Column names of a flow's samples in the rows of ``run_traffic``."""

def run_traffic(records: Buffer, /) -> bytes:
    """Run flows on a link in virtual time, datagram by datagram: rows of samples, float64.

    ``records`` as of ``run``: a link, its changes, and flows. Raises InvalidArgument naming the
    record and the field. The GIL is released.
    """

def run_agents(records: Buffer, dir: str | bytes | PathLike[str], /) -> tuple[bytes, bytes]:
    """As ``run``, on real media drivers and a network in memory.

    ``dir`` is an empty directory for their files; the caller removes it. Raises InvalidArgument.
    The GIL is released.
    """

def run_real(
    records: Buffer, dir: str | bytes | PathLike[str], /
) -> tuple[tuple[bytes, bytes], int, int]:
    """As ``run_agents``, in real time on sockets of the loopback, in the calling thread.

    Returns ((samples, results), number of steps, longest time between two steps in ns). Raises
    InvalidArgument, also for records of loss, liars and forgers. The GIL is released; signals end
    the run.
    """
