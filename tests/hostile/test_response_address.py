"""The address of a response publication: a stranger's request for a SETUP must not move it."""

from __future__ import annotations

import itertools

from rstream.client import Client
from rstream.driver import Driver
from tests.hostile import frames
from tests.hostile.frames import Host
from tests.hostile.locks import Lock
from tests.hostile.streams import STREAM, connect, read_count, send
from tests.support import free_port, until


def test_responses_stay_with_their_client(driver: Driver, client: Client, lock: Lock) -> None:
    """The attacker knows the session of the responses, and asks for its SETUP all the time."""
    requests = f"aeron:udp?endpoint=127.0.0.1:{free_port()}{lock.suffix}"
    port = free_port()
    responses = f"aeron:udp?control-mode=response|control=127.0.0.1:{port}{lock.suffix}"
    with (
        Host(dress=lock.dress) as attacker,
        client.add_subscription(requests, STREAM) as server,
        client.add_subscription(responses, STREAM + 1) as mine,
        client.add_publication(
            f"{requests}|response-correlation-id={mine.registration_id}", STREAM, exclusive=True
        ) as asks,
    ):
        connect(asks, server)
        (image,) = server.images()
        with client.add_publication(
            f"{responses}|response-correlation-id={image.correlation_id}", STREAM + 1
        ) as answers:
            until(lambda: answers.is_connected and mine.is_connected)
            for number in range(200):
                for receiver_id, flags in itertools.product((1, 2), (0x80, 0)):
                    attacker.send(
                        frames.status(
                            answers.session_id, STREAM + 1, flags=flags, receiver_id=receiver_id
                        ),
                        ("127.0.0.1", port),
                    )
                send(answers, b"%d" % number)
            assert read_count(mine, 200) == [b"%d" % number for number in range(200)]
            attacker.listen(0.5)
            assert all(frame.kind != frames.DATA for frame in attacker.received)
            assert attacker.gain <= 3
            assert lock.is_open or lock.says_nothing(attacker.received)
