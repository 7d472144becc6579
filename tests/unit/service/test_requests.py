"""Requests between threads: every one ends with its own answer, or an error that says why not."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent import futures

import msgspec
import pytest

import rstream
from rstream import codecs, service
from rstream._waits import Waker, run
from rstream.errors import (
    BackPressured,
    ClosedError,
    CodecError,
    ConfigError,
    DriverNotFound,
    MessageTooLarge,
    NoServer,
    RegistrationError,
    RemoteError,
    RequestTimeout,
    RStreamError,
    ServerLost,
)
from rstream.service._wire import MessageKind
from rstream.stream._sending._session import SendSession
from tests.support import free_port, in_thread, until

SOON_S = 5.0  # an error must come at once; the time-out of the request is much longer


class Query(msgspec.Struct):
    symbol: str


class Price(msgspec.Struct):
    px: float


@pytest.fixture
def ask(driver_dir, name):
    with service.requester(name, dir=driver_dir) as asks:
        yield asks


def serving(name, driver_dir, function, **options):
    return rstream.serve(name, dir=driver_dir, **options)(function)


def test_a_function_answers(driver_dir, name):
    def price(query):
        return Price(px=len(query.symbol))

    with serving(name, driver_dir, price, type=Query) as served:
        answer = rstream.request(name, Query("ABC"), Price, dir=driver_dir)
        assert answer == Price(px=3)
        assert served(Query("AB")) == Price(px=2)  # it is still the function
        assert served.statistics()["answered"] == 1
    service.close_requesters()


@pytest.mark.parametrize("threads", [1, 2])
def test_a_function_that_exits_ends_its_request_and_not_the_service(driver_dir, name, ask, threads):
    def leave(query):
        if query == "exit":
            raise SystemExit(4)
        return query

    with serving(name, driver_dir, leave, threads=threads) as served:
        with pytest.raises(RemoteError, match="SystemExit: 4"):
            ask.request("exit", timeout_s=SOON_S)
        assert ask.request("still here", timeout_s=SOON_S) == "still here"
        assert served.statistics()["cancelled"] == 0


def test_an_error_arrives_as_its_class_with_its_cause(driver_dir, name, ask):
    def fails(query):
        try:
            {}[query]
        except KeyError as error:
            raise ValueError("no price") from error

    with serving(name, driver_dir, fails):
        with pytest.raises(ValueError, match="its server failed: ValueError: no price") as caught:
            ask.request("x")
        assert isinstance(caught.value, RemoteError)
        assert isinstance(caught.value.__cause__, KeyError)
        assert "{}[query]" in caught.value.__cause__.remote_traceback
        with pytest.raises(ValueError, match="no price"):
            ask.request("y")  # the server goes on


def test_nobody_serves_the_name(ask, name, driver_dir):
    with pytest.raises(NoServer, match=f"nobody serves it in {driver_dir}.*start the server"):
        ask.request("x", timeout_s=0.05)
    with serving(name, driver_dir, str):
        assert ask.request(5) == "5"


def test_a_server_that_starts_within_the_timeout_is_found(ask, name, driver_dir):
    answers = []
    waits = in_thread(lambda: answers.append(ask.request(1, timeout_s=30)))
    until(lambda: ask.statistics()["outstanding"])
    with serving(name, driver_dir, lambda n: n + 1):
        waits.join(20)
    assert answers == [2]


def test_a_second_server_of_a_name_is_refused(driver_dir, name):
    with serving(name, driver_dir, str):
        second = serving(name, driver_dir, str)
        with pytest.raises(RegistrationError, match="another server of this name is alive"):
            second.start()
    with serving(name, driver_dir, str):  # the place is free again
        pass


def test_a_timeout_reaches_the_function(ask, name, driver_dir):
    told = threading.Event()

    def slow(query):
        call = service.current_call()
        if query == "x":
            until(lambda: call.is_cancelled)
            told.set()

    with serving(name, driver_dir, slow):
        ask.request("first")
        with pytest.raises(RequestTimeout, match=r"no answer within 0\.5 s") as caught:
            ask.request("x", timeout_s=0.5)
        assert isinstance(caught.value, TimeoutError)
        assert told.wait(SOON_S)
    assert ask.statistics()["outstanding"] == 0


@pytest.mark.parametrize("threads", [0, 2])
def test_giving_up_reaches_a_function_without_a_deadline(driver_dir, name, threads):
    entered, told = threading.Event(), threading.Event()

    def slow(_):
        entered.set()
        call = service.current_call()
        assert call.remaining_s == float("inf")
        until(lambda: call.is_cancelled)
        told.set()

    with serving(name, driver_dir, slow, threads=threads):
        asks = service.requester(name, dir=driver_dir)
        errors = []

        def ask():
            try:
                asks.request("x", timeout_s=None)
            except RStreamError as error:
                errors.append(error)

        waits = in_thread(ask)
        assert entered.wait(SOON_S)
        asks.close()
        assert told.wait(SOON_S)
        waits.join(SOON_S)
    assert [type(error) for error in errors] == [ClosedError]


def test_a_request_given_up_before_its_turn_is_not_carried_out(ask, name, driver_dir):
    carried, gate = [], threading.Event()

    def slow(query):
        carried.append(query)
        gate.wait(20)

    with serving(name, driver_dir, slow) as served:
        first = in_thread(lambda: ask.request("first"))
        until(lambda: carried)
        with pytest.raises(RequestTimeout):
            ask.request("second", timeout_s=0.05)
        gate.set()
        first.join(20)
        until(lambda: served.statistics()["cancelled"])
    assert carried == ["first"]


@pytest.mark.parametrize("threads", [0, 4])
def test_many_threads_get_their_own_answers(ask, name, driver_dir, threads):
    wrong = []

    def work(first):
        for n in range(first, first + 100):
            answer = ask.request(n)
            if answer != n * n:
                wrong.append((n, answer))

    with serving(name, driver_dir, lambda n: n * n, threads=threads) as served:
        workers = [in_thread(work, 1000 * k) for k in range(8)]
        for worker in workers:
            worker.join(60)
        assert served.statistics()["answered"] == 800
    assert not wrong


def test_requests_beyond_the_limit_wait_for_a_place(driver_dir, name):
    gate = threading.Event()
    with (
        serving(name, driver_dir, lambda n: gate.wait(20) and n, threads=4),
        service.requester(name, dir=driver_dir, outstanding=2) as asks,
    ):
        answers = []
        workers = [in_thread(lambda k=k: answers.append(asks.request(k))) for k in range(2)]
        until(lambda: asks.statistics()["outstanding"] == 2)
        with pytest.raises(BackPressured, match="2 requests have no answer"):
            asks.request(9, timeout_s=0.05)
        workers += [in_thread(lambda k=k: answers.append(asks.request(k))) for k in (2, 3)]
        gate.set()
        for worker in workers:
            worker.join(20)
        assert sorted(answers) == [0, 1, 2, 3]


def test_the_server_refuses_what_exceeds_its_own_limit(ask, name, driver_dir):
    gate = threading.Event()
    with serving(name, driver_dir, lambda _: gate.wait(20), threads=1, outstanding=1):
        first = in_thread(lambda: ask.request(1))
        until(lambda: ask.statistics()["outstanding"])
        with pytest.raises(
            RemoteError, match=r"1 requests of this caller .*; ask for less at a time"
        ):
            until(lambda: ask.request(2))
        gate.set()
        first.join(20)


def test_a_closing_server_ends_requests_at_once_and_the_next_one_answers(ask, name, driver_dir):
    entered = threading.Event()

    def slow(_):
        entered.set()
        call = service.current_call()
        until(lambda: call.is_cancelled, 20)

    served = serving(name, driver_dir, slow, threads=1).start()
    errors = []

    def wait_for_it():
        try:
            ask.request(1, timeout_s=60)
        except RStreamError as error:
            errors.append(error)

    waits = in_thread(wait_for_it)
    assert entered.wait(SOON_S)
    began_s = time.monotonic()
    served.close()
    waits.join(SOON_S)
    assert time.monotonic() - began_s < SOON_S
    assert isinstance(errors[0], ServerLost)
    assert "may have carried the request out or not" in str(errors[0])
    with serving(name, driver_dir, lambda n: n):
        assert ask.request(7) == 7


@pytest.mark.parametrize("medium", ["ipc", "udp"])
def test_messages_of_any_size_pass(driver_dir, name, medium):
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}" if medium == "udp" else None
    with (
        serving(name, driver_dir, lambda data: data, channel=channel, codec="raw"),
        service.requester(name, codec="raw", dir=driver_dir, channel=channel) as asks,
    ):
        for size in (0, 1, 131_000, 200_000, 3_000_000):
            data = bytes([size % 251]) * size
            assert asks.request(data) == data


def test_a_large_answer_to_a_slow_caller_holds_nobody_up(ask, name, driver_dir):
    with serving(name, driver_dir, lambda n: b"x" * n) as served:
        stands_still = service.requester(name, dir=driver_dir)
        line, _ = run(
            stands_still._ask_steps(MessageKind.ASK, 5_000_000, 0, None, time.monotonic() + 10)
        )
        until(lambda: served.serving.line.has_unsent)  # it never reads
        assert [len(ask.request(n)) for n in range(50)] == list(range(50))
        stands_still.close()
        until(lambda: served.statistics()["callers"] == 1)
        assert line.is_dead


def test_what_is_too_large_is_an_error_here_and_there(ask, name, driver_dir, monkeypatch):
    with serving(name, driver_dir, lambda n: b"x" * n):
        assert len(ask.request(1000)) == 1000
        least = property(lambda _: 200_000)
        monkeypatch.setattr(SendSession, "max_message_length", least)
        with pytest.raises(RemoteError, match=r"an answer of .* at most 200000 fit"):
            ask.request(1 << 20)
        with pytest.raises(MessageTooLarge):
            ask.request(b"x" * (1 << 20))
        assert ask.request(3) == b"xxx"


def test_codecs_that_differ_are_an_error_at_once(driver_dir, name):
    with serving(name, driver_dir, bytes.upper, codec="raw"):
        with service.requester(name, codec="raw", dir=driver_dir) as asks:
            assert asks.request(b"abc") == b"ABC"
        with service.requester(name, dir=driver_dir) as asks:
            with pytest.raises(ValueError, match="the query was written with codec msgpack"):
                asks.request("abc")
        with service.requester(name, query_codec="raw", dir=driver_dir) as asks:
            with pytest.raises(
                CodecError, match=r"written with codec raw.*this caller has msgpack"
            ):
                asks.request(b"abc")


def test_a_value_that_has_no_bytes_is_a_codec_error(ask, name, driver_dir):
    with serving(name, driver_dir, lambda _: object()):
        with pytest.raises(CodecError, match=rf"service '{name}' on .*: the query"):
            ask.request(object())
        with pytest.raises(RemoteError):
            ask.request(1)


def test_an_answer_of_another_type_names_the_service(driver_dir, name):
    with serving(name, driver_dir, lambda n: n):
        with service.requester(name, dict, dir=driver_dir) as asks:
            with pytest.raises(CodecError, match=rf"service '{name}' on .*: the answer: .* dict"):
                asks.request(1)


def test_over_udp(driver_dir, name):
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    with (
        serving(name, driver_dir, lambda n: n + 1, channel=channel),
        service.requester(name, channel=channel, dir=driver_dir) as asks,
    ):
        assert [asks.request(n) for n in range(20)] == list(range(1, 21))
        with pytest.raises(TypeError, match="can only concatenate"):
            asks.request("x")


def test_what_cannot_be_a_service_is_refused(driver_dir, name):
    with pytest.raises(ConfigError, match="a group has many readers"):
        rstream.serve(name, channel="aeron:udp?endpoint=224.0.1.1:40456")
    with pytest.raises(ConfigError, match="run code that callers send"):
        rstream.serve(
            name, codec=codecs.pickle(trusted=True), channel="aeron:udp?endpoint=127.0.0.1:4000"
        )
    with pytest.raises(ConfigError, match="outstanding=0"):
        service.requester(name, outstanding=0)
    with pytest.raises(ConfigError, match="threads=-1"):
        rstream.serve(name, threads=-1)(str)
    with pytest.raises(ConfigError, match="decorator of a function"):
        rstream.serve(name)(5)
    with pytest.raises(RStreamError, match="is for the function of a server"):
        service.current_call()


def test_a_driver_that_dies_ends_requests_and_both_ends_join_again(make_driver_dir, name):
    directory = make_driver_dir()
    entered = threading.Event()

    def slow(seconds):
        entered.set()
        until(lambda: seconds == 0 or service.current_call().is_cancelled, 30)
        return seconds

    driver = rstream.Driver(dir=directory)
    with serving(name, directory, slow), service.requester(name, dir=directory) as asks:
        errors = []

        def wait_for_it():
            try:
                asks.request(1, timeout_s=60)
            except RStreamError as error:
                errors.append(error)

        waits = in_thread(wait_for_it)
        assert entered.wait(SOON_S)
        driver.close()
        waits.join(SOON_S)
        assert isinstance(errors[0], ServerLost)
        with rstream.Driver(dir=directory):
            assert asks.request(0, timeout_s=30) == 0


def test_a_leader_that_leaves_wakes_who_has_an_answer_and_one_to_lead(driver_dir, name):
    asks = service.requester(name, dir=driver_dir)
    wakers = [Waker() for _ in range(4)]
    answers = (False, True, False, True)
    asks._followers = {
        waker: lambda is_ready=is_ready: is_ready
        for waker, is_ready in zip(wakers, answers, strict=True)
    }
    asks._wake_followers(anyone=False)
    assert [waker.is_woken for waker in wakers] == [False, True, False, True]
    asks._wake_followers(anyone=True)
    assert [waker.is_woken for waker in wakers] == [True, True, False, True]


def test_a_server_that_follows_another_at_once_is_found(driver_dir, name):
    for number in range(100):
        with service.requester(f"{name}-{number}", dir=driver_dir) as ask:
            for answer in ("first", "second"):
                with serving(f"{name}-{number}", driver_dir, lambda _, answer=answer: answer):
                    assert ask.request() == answer


class Unusual(BaseException):
    """An error that ``except Exception`` does not see."""


UNUSUAL = {
    "own": (Unusual("own"), "Unusual: own"),
    "generator": (GeneratorExit("over"), "GeneratorExit: over"),
    "interrupt": (KeyboardInterrupt("no key"), "KeyboardInterrupt: no key"),
    "cancelled": (asyncio.CancelledError(), "this request was cancelled at the server"),
    "future": (futures.CancelledError(), "this request was cancelled at the server"),
}


@pytest.mark.parametrize("threads", [0, 2])
@pytest.mark.parametrize("kind", sorted(UNUSUAL))
def test_any_error_ends_its_request_and_not_the_service(driver_dir, name, ask, threads, kind):
    error, text = UNUSUAL[kind]

    def fails(query):
        if query:
            raise error
        return "still here"

    def fails_on(first):
        yield first
        raise error

    with serving(name, driver_dir, fails, threads=threads):
        with pytest.raises(RemoteError, match=text):
            ask.request(1, timeout_s=SOON_S)
        assert ask.request(0, timeout_s=SOON_S) == "still here"
    with serving(name, driver_dir, fails_on, threads=threads):
        for _ in range(2):
            stream = ask.request_stream(1, timeout_s=SOON_S)
            assert next(stream) == 1
            with pytest.raises(RemoteError, match=text):
                next(stream)


def test_an_error_of_another_driver_ends_its_request_and_not_the_service(driver_dir, name, ask):
    def forward(query):
        if query:
            raise DriverNotFound("no driver in /elsewhere")
        return "still here"

    with serving(name, driver_dir, forward) as served:
        with pytest.raises(RemoteError, match="DriverNotFound: no driver in /elsewhere"):
            ask.request(1, timeout_s=SOON_S)
        assert ask.request(0, timeout_s=SOON_S) == "still here"
        assert served.statistics()["callers"] == 1  # it has not joined its driver anew
