"""Response channels between Aeron's Java and us, in both directions.

Each requester gets exactly its own responses, also with loss.
"""

from __future__ import annotations

import time

import pytest

from rstream.client import Client, Publication, Subscription
from tests.interop.aeron import JAVA_CURRENT, JAVA_OLDER
from tests.interop.ends import SEED, STALL_S, STREAM, counter, lossy_driver
from tests.interop.java import Java, MissingError
from tests.interop.messages import Messages
from tests.support import free_port

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

COUNT = 100
SIZE_MAX = 1 << 14


@pytest.fixture(params=[JAVA_CURRENT, JAVA_OLDER])
def java(request: pytest.FixtureRequest) -> Java:
    try:
        return Java.prepare(str(request.param))
    except MissingError as error:
        pytest.skip(f"no Java peer: {error}")


@pytest.fixture
def uris() -> tuple[str, str]:
    """The channels of requests and of responses."""
    print(f"RSTREAM_SEED={SEED}")
    return (
        f"aeron:udp?endpoint=127.0.0.1:{free_port()}|term-length=1m",
        f"aeron:udp?control-mode=response|control=127.0.0.1:{free_port()}|term-length=1m",
    )


def send(publication: Publication, message: bytes) -> None:
    deadline = time.monotonic() + STALL_S
    while (result := publication.offer(message)) < 0:
        assert time.monotonic() < deadline, f"not accepted: {result}"
        publication.wait(0.1)


def add_requester(
    client: Client, requests: str, responses: str
) -> tuple[Publication, Subscription]:
    """A subscription for the responses, and the publication that refers to it."""
    subscription = client.add_subscription(responses, STREAM + 1)
    return client.add_publication(
        f"{requests}|response-correlation-id={subscription.registration_id}", STREAM, exclusive=True
    ), subscription


def await_connected(*handles: Publication | Subscription) -> None:
    deadline = time.monotonic() + STALL_S
    while not all(handle.is_connected for handle in handles):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def receive(subscription: Subscription, expected: bytes) -> None:
    deadline = time.monotonic() + STALL_S
    while True:
        with subscription.poll(1) as batch:
            if received := batch.to_list():
                assert received == [expected]
                return
        assert time.monotonic() < deadline, "no response"
        subscription.wait(0.05)


def test_they_respond(java: Java, driver_dir: str, uris: tuple[str, str]) -> None:
    """N14, O7: two requesters of ours and a responder of theirs; each gets its own responses."""
    with (
        lossy_driver(driver_dir) as driver,
        java.responder("respond", *uris, 0) as them,
        Client(dir=driver.dir, start_driver=False) as client,
    ):
        requesters = [add_requester(client, *uris) for _ in range(2)]
        await_connected(*(handle for pair in requesters for handle in pair))
        contents = [Messages(SEED + number, SIZE_MAX) for number in range(2)]
        for _ in range(COUNT):
            asked = [messages.next() for messages in contents]
            for (publication, _), message in zip(requesters, asked, strict=True):
                send(publication, message)
            for (_, subscription), message in zip(requesters, asked, strict=True):
                receive(subscription, message)
        for _, subscription in requesters:
            assert subscription.image_count == 1
        them.assert_nothing_invalid()
        assert counter(driver.dir, "Invalid packets") == 0


def test_we_respond(java: Java, driver_dir: str, uris: tuple[str, str]) -> None:
    """N14, O7: two requesters of theirs, one of ours, and a responder of ours."""
    requests, responses = uris
    with (
        lossy_driver(driver_dir) as driver,
        Client(dir=driver.dir, start_driver=False) as client,
        client.add_subscription(requests, STREAM) as subscription,
        java.responder("request", *uris, COUNT, size_max=SIZE_MAX) as one,
        java.responder("request", *uris, COUNT, size_max=SIZE_MAX) as other,
    ):
        answers: dict[int, Publication] = {}
        answered, deadline = 0, time.monotonic() + STALL_S
        while answered < 2 * COUNT:
            assert time.monotonic() < deadline, f"{answered} answered"
            for image in subscription.images():
                if image.session_id not in answers:
                    channel = f"{responses}|response-correlation-id={image.correlation_id}"
                    answers[image.session_id] = client.add_publication(
                        channel, STREAM + 1, exclusive=True
                    )
            with subscription.poll(16) as batch:
                for message in batch.messages():
                    send(answers[message.session_id], bytes(message))
                    answered += 1
            subscription.wait(0.05)
        for them in (one, other):
            them.await_done()
            them.assert_nothing_invalid()
        assert len(answers) == 2
        assert counter(driver.dir, "Invalid packets") == 0
