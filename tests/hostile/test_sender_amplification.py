"""What a stranger gets back from a sender: at most three times its bytes.

A stranger is a host that has not shown that it reads what the sender sends to its address
(docs/reference/wire.md, "Proofs towards a sender"). Some of these know session and term ids, which
only helps them if they also answer the sender's question.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator

import pytest

from rstream.client import Client, Publication
from rstream.driver import Driver
from tests.hostile import frames
from tests.hostile.frames import Host, hosts
from tests.hostile.locks import Lock, over
from tests.hostile.streams import STREAM, connect, counter, read_count, send
from tests.support import free_port, until

GAIN_MAX = 3.0
FIRST_TERM = 17
MESSAGES = 400
SECONDS = float(os.environ.get("RSTREAM_HOSTILE_S", "0.5"))
COUNT = int(os.environ.get("RSTREAM_HOSTILE_COUNT", "500"))

Forge = Callable[[int, int], bytes]

STATUS_MESSAGES: dict[str, Forge] = {
    "asks for any SETUP": lambda _, n: frames.status(
        0, 0, flags=frames.SM_SEND_SETUP, window=0, receiver_id=n
    ),
    "asks for the SETUP of the session": lambda session_id, n: frames.status(
        session_id, STREAM, flags=frames.SM_SEND_SETUP, window=0, receiver_id=n
    ),
    "asks for the SETUP of an unknown session": lambda session_id, n: frames.status(
        session_id + n + 1, STREAM, flags=frames.SM_SEND_SETUP, window=0
    ),
    "of an unknown session": lambda session_id, n: frames.status(session_id + n + 1, STREAM),
    "of the session, term unknown": lambda session_id, n: frames.status(
        session_id, STREAM, term_id=1_000_000 + n
    ),
    "of the session and term": lambda session_id, n: frames.status(
        session_id, STREAM, FIRST_TERM, receiver_id=n
    ),
    "asks for the round trip": lambda session_id, n: frames.rttm(
        session_id, STREAM, echo=n, flags=frames.RTTM_REPLY
    ),
    "NAK of all that was sent": lambda session_id, _: frames.nak(
        session_id, STREAM, FIRST_TERM, 0, 65536
    ),
    "error frame": lambda session_id, n: frames.error(session_id, STREAM, "no", receiver_id=n),
    "response set-up": lambda session_id, n: frames.response_setup(session_id, STREAM, n),
    "EOS": lambda session_id, n: frames.status(
        session_id, STREAM, FIRST_TERM, flags=frames.SM_EOS, receiver_id=n
    ),
}


@pytest.fixture
def control() -> frames.Address:
    return ("127.0.0.1", free_port())


@pytest.fixture
def publication(
    driver: Driver, client: Client, control: frames.Address, lock: Lock
) -> Iterator[Publication]:
    """A stream with dynamic destinations that flows to one honest reader."""
    at = f"control={control[0]}:{control[1]}|control-mode=dynamic{lock.suffix}"
    with (
        client.add_subscription(f"aeron:udp?endpoint=127.0.0.1:{free_port()}|{at}", STREAM) as sub,
        client.add_publication(
            f"aeron:udp?{at}|term-length=1m|init-term-id={FIRST_TERM}|term-id={FIRST_TERM}"
            "|term-offset=0",
            STREAM,
        ) as made,
    ):
        connect(made, sub)
        for number in range(MESSAGES):
            send(made, b"%d" % number)
        assert len(read_count(sub, MESSAGES)) == MESSAGES
        yield made


@over("plain", "keyed", "forged seal")
@pytest.mark.parametrize("what", STATUS_MESSAGES)
def test_stranger_gets_little(
    driver: Driver, publication: Publication, control: frames.Address, what: str, lock: Lock
) -> None:
    """The stranger sends a burst from one address and listens."""
    forge = STATUS_MESSAGES[what]
    resent = counter(driver.dir, "Retransmits sent")
    with Host(dress=lock.dress) as stranger:
        for number in range(COUNT):
            stranger.send(forge(publication.session_id, number), control)
            stranger.drain()
        stranger.listen(SECONDS)
        assert stranger.gain <= GAIN_MAX, f"{stranger.gain:.1f} times its bytes"
        assert lock.is_open or lock.says_nothing(stranger.received)
    assert counter(driver.dir, "Retransmits sent") == resent
    assert counter(driver.dir, "mdc-num-dest") == 1


@over("plain")
def test_answers_go_to_the_address_that_was_asked(
    driver: Driver, publication: Publication, control: frames.Address
) -> None:
    """A host that was asked cannot prove another host, although it has a right answer."""
    with hosts(2) as (asked, other):
        known = frames.status(publication.session_id, STREAM, FIRST_TERM)
        asked.send(known, control)
        other.send(known, control)
        question = asked.wait_for(frames.RTTM)
        assert question.flags == frames.RTTM_REPLY
        answer = bytearray(question.raw)
        answer[5] = 0
        other.send(bytes(answer), control)
        other.send(known, control)
        other.listen(SECONDS)
        assert other.gain <= GAIN_MAX
        assert counter(driver.dir, "mdc-num-dest") == 1
        # A host that answers for itself gets the stream. It is asked again, because a stamp is good
        # for 5 to 10 s.
        prove(asked, publication.session_id, control)
        until(lambda: counter(driver.dir, "mdc-num-dest") == 2)
        send(publication, b"x")
        asked.wait_for(frames.DATA)


@over("plain")
def test_a_proven_host_is_answered_within_the_limit(
    driver: Driver, publication: Publication, control: frames.Address
) -> None:
    """Bytes sent again: at most the new ones, 8 MiB/s and one term, however many NAKs come."""
    mib = 1 << 20
    with Host() as host:
        session_id = publication.session_id
        prove(host, session_id, control)
        before = counter(driver.dir, "Retransmitted bytes")
        nak = frames.nak(session_id, STREAM, FIRST_TERM, 0, 32768)
        for _ in range(20):
            host.send_all(itertools.repeat(nak, COUNT), control)
            host.send(frames.status(session_id, STREAM, FIRST_TERM), control)
            host.listen(SECONDS / 20)
        after = counter(driver.dir, "Retransmitted bytes")
    # The burst may take longer than SECONDS on a busy machine: ten times as long is allowed.
    assert 0 < after - before <= mib + 8 * mib * 10 * SECONDS + mib


def prove(host: Host, session_id: int, control: frames.Address) -> None:
    """Answers the sender's question as a receiver does."""
    host.send(frames.status(session_id, STREAM, FIRST_TERM), control)
    answer = bytearray(host.wait_for(frames.RTTM).raw)
    answer[5] = 0
    host.send(bytes(answer), control)
    host.send(frames.status(session_id, STREAM, FIRST_TERM), control)
