"""How many messages a reader asks its publishers for ahead of what it has taken.

A publisher that makes elements on demand makes no more than its readers have asked for. A request
that leaves too late costs a round trip in which nothing comes. So the chunk, which is the demand
that is outstanding after a request, must last longer than the way of a request and its answer.
With the drain (messages taken per second) and the turn (round trip and wake-up)

    need = 2 x drain x turn        a request leaves when half of the chunk is used
    chunk < need      the chunk grows to the need, but at most doubles
    chunk > 2 x need  half of it is not used: the chunk loses a quarter

and that is judged at most once per turn. A reader that too small a chunk holds back drains no more
than one chunk per turn, so its need says little about what it could take. Such a reader waits for
the first message of a request. Then the chunk grows in the ratio in which the wait has made the
turn longer, at most to twice, and once per round trip. Always

    least <= chunk <= most        outstanding demand <= chunk after a request

With a drain and a round trip that do not change, the chunk ends between the need and twice the need
(or at a limit), in a number of turns that is the logarithm of the distance.

The round trip. A reader cannot read it anywhere: the driver measures it for its own laws, over the
network only, and how long a publisher needs until it makes an element is known to nobody. But a
reader that waits for the first message of a request, and for no other message so long, sees the
whole turn: the publisher had used up all demand before. So the time from such a request to that
message is taken as the round trip. The way to see it is to have too little demand, so the measured
time fades: the chunk shrinks, slowly, until the reader waits for a request again. A path that has
become shorter is noticed this way.

A pause of the publisher can look like a round trip when it falls between two requests. It must be
longer than any other wait since the request, and the result fades. Plain publishers, which send
whether or not someone asks, do not look like that for long.

Pure: time is an argument, in nanoseconds. Not thread-safe: the thread that polls owns it.
"""

from __future__ import annotations

from collections import deque
from typing import Final

__all__ = ("LEAST", "MOST", "Chunk")

#: The chunk to begin with: two polls of 256 messages, one in work and one on its way.
LEAST: Final = 512
#: Publishers keep the positions of so many elements (crossing.py), and a consumer that stops has
#: so many more to come at most. It is enough for 800 000 messages/s at a round trip of 40 ms.
MOST: Final = 65_536
#: What a turn has besides the round trip: threads and agents wake up. It also bounds the requests:
#: a drain has at most about one in that time.
WAKE_UP_NS: Final = 1_000_000
#: Longer waits are pauses of the publisher.
ROUND_TRIP_MOST_NS: Final = 1_000_000_000
#: A wait that is a smaller part of the time since the request holds nobody back.
WAIT_LEAST_PART: Final = 16
#: A wait is the round trip when it is so many times as long as every other one since the request.
WAIT_LONGER: Final = 2
#: The part of the round trip that it loses with each judgement.
FADE: Final = 64
#: Requests that are remembered. More than three are outstanding only under requests of the user.
REQUESTS_MOST: Final = 8


class _Request:
    """One request whose first message has not come yet."""

    __slots__ = ("asked_ns", "first", "longest_wait_ns")

    def __init__(self, first: int, asked_ns: int) -> None:
        self.first = first  # the number of its first message
        self.asked_ns = asked_ns
        self.longest_wait_ns = 0  # of the waits between it and the last request


class Chunk:
    """The demand that a reader tells, for one transport subscription.

    The owner subtracts what a poll has taken from ``outstanding``, also what nobody asked for. When
    it holds nothing any more and ``outstanding <= renew_at``, it tells what :meth:`request`
    returns. It calls :meth:`empty` after a poll that found nothing, if ``is_waiting`` is false, and
    :meth:`arrived` after one that found something, if it is true.

    Args:
        least: the chunk to begin with, 1 or more.
        most: never more than this; equal to ``least``: the chunk never changes.

    Attributes:
        size: the chunk, in messages.
        outstanding: messages asked for and not taken yet; below 0: more came than were asked for.
        renew_at: a request is due when no more are outstanding: half of the chunk.
        is_waiting: no message has come since :meth:`empty`.
        round_trip_ns: as it was seen last, faded; 0: not seen.
    """

    __slots__ = (
        "_asked",
        "_awaited",
        "_empty_since_ns",
        "_grown_ns",
        "_is_fixed",
        "_judged_at",
        "_judged_ns",
        "_longest_wait_ns",
        "_requests",
        "is_waiting",
        "least",
        "most",
        "outstanding",
        "renew_at",
        "round_trip_ns",
        "size",
    )

    def __init__(self, least: int = LEAST, most: int = MOST) -> None:
        if not 1 <= least <= most:
            raise ValueError(f"chunk of {least} to {most}: must be 1 <= least <= most")
        self.least: int = least
        self.most: int = most
        self.size: int = least
        self.renew_at: int = least >> 1
        self.outstanding: int = 0
        self.round_trip_ns: int = 0
        self.is_waiting: bool = False
        self._is_fixed = least == most
        self._asked = 0  # messages asked for since the start
        self._empty_since_ns = 0
        self._longest_wait_ns = 0  # since the last request
        self._judged_at = 0  # messages taken at the last judgement
        self._judged_ns = 0
        self._grown_ns = 0  # when it grew last because a reader waited
        self._requests: deque[_Request] = deque(maxlen=REQUESTS_MOST)
        self._awaited = -1  # what is outstanding when the first of the oldest request comes next

    def request(self, now_ns: int) -> int:
        """How many messages to ask for now; they count as asked for.

        Args:
            now_ns: must not go back.
        """
        self.outstanding = max(self.outstanding, 0)
        if not self._is_fixed:
            self._judge(self._asked - self.outstanding, now_ns)
            for request in self._requests:
                request.longest_wait_ns = max(request.longest_wait_ns, self._longest_wait_ns)
            self._longest_wait_ns = 0
            self._requests.append(_Request(self._asked, now_ns))
        count = self.size - self.outstanding
        self._asked += count
        self.outstanding = self.size
        self._find_awaited()
        return count

    def empty(self, now_ns: int) -> None:
        """Note that a poll found nothing; the first one after a message counts."""
        self.is_waiting = True
        self._empty_since_ns = now_ns

    def arrived(self, now_ns: int) -> None:
        """Note that a poll found something at last; before it is subtracted."""
        self.is_waiting = False
        wait_ns = now_ns - self._empty_since_ns
        if self.outstanding < self._awaited:
            self._find_awaited()
        if self.outstanding == self._awaited and not self._is_fixed:
            self._see(self._requests[0], wait_ns, now_ns)
        if wait_ns > self._longest_wait_ns:
            self._longest_wait_ns = wait_ns

    def _find_awaited(self) -> None:
        requests = self._requests
        number = self._asked - self.outstanding
        while requests and requests[0].first < number:
            requests.popleft()
        self._awaited = self._asked - requests[0].first if requests else -1

    def _see(self, request: _Request, wait_ns: int, now_ns: int) -> None:
        """The first message of a request came, after a wait."""
        turn_ns = now_ns - request.asked_ns
        if (
            wait_ns <= WAIT_LONGER * max(request.longest_wait_ns, self._longest_wait_ns)
            or wait_ns * WAIT_LEAST_PART < turn_ns
            or turn_ns > ROUND_TRIP_MOST_NS
            or request.first == 0  # before the first message there may have been no publisher
        ):
            return
        self.round_trip_ns = turn_ns
        if request.asked_ns < self._grown_ns:
            return  # asked for when the chunk was still smaller
        used_ns = max(turn_ns - wait_ns, 1)
        self._set_size(self.size * turn_ns // used_ns)
        self._grown_ns = self._judged_ns = now_ns
        self._judged_at = request.first

    def _judge(self, taken: int, now_ns: int) -> None:
        """Grow or shrink by the need, when a turn has passed since the last time."""
        turn_ns = self.round_trip_ns + WAKE_UP_NS
        passed_ns = now_ns - self._judged_ns
        if passed_ns < turn_ns:
            return
        need = 2 * (taken - self._judged_at) * turn_ns // passed_ns
        self._judged_at, self._judged_ns = taken, now_ns
        self.round_trip_ns -= self.round_trip_ns // FADE
        if need > self.size:
            self._set_size(need)
        elif 2 * need < self.size:
            self._set_size(self.size - self.size // 4)

    def _set_size(self, size: int) -> None:
        self.size = max(self.least, min(size, 2 * self.size, self.most))
        self.renew_at = self.size >> 1
