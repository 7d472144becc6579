"""The keyword options of publishers and subscribers: one description, one default each."""

import inspect
from dataclasses import fields

import pytest

import rstream
from rstream import aio, policy, stream
from rstream.errors import ConfigError
from rstream.stream import PublisherOptions, SendOptions, SubscriberOptions
from rstream.stream._options import PublisherSettings, SubscriberSettings, settings

NAN = float("nan")


@pytest.mark.parametrize(
    ("options", "kind"),
    [(PublisherOptions, PublisherSettings), (SubscriberOptions, SubscriberSettings)],
)
def test_every_option_has_a_default_and_a_description(options, kind):
    names = {field.name for field in fields(kind)}
    assert names == options.__optional_keys__
    described = f"{inspect.getdoc(options)}\n{inspect.getdoc(SendOptions)}"
    assert all(f"\n    {name}: " in described for name in names)


def test_options_that_are_given_replace_defaults():
    chosen = settings(PublisherSettings, "publisher", {"linger_s": 1.0})
    assert (chosen.linger_s, chosen.connect_timeout_s) == (1.0, 10.0)


@pytest.mark.parametrize("function", [rstream.publisher, rstream.subscriber])
def test_a_misspelled_option_is_an_error_that_names_it(function):
    with pytest.raises(TypeError, match=r"er\(\) got an unexpected keyword argument 'chanel'"):
        function("ticks", chanel="aeron:ipc")


@pytest.mark.parametrize(
    ("function", "given", "meant", "other"),
    [
        (rstream.publisher, "codc", "codec", "wait_for"),
        (rstream.subscriber, "on_slo", "on_slow", "codec"),
        (aio.publisher, "codc", "codec", "wait_for"),
        (stream.source, "executer", "executor", "prefetch"),
        (stream.sink, "windw", "window", "linger_s"),
        (stream.reader, "codc", "codec", "channels"),
        (rstream.Driver, "optoins", "options", "idle_exit_s"),
        (rstream.Driver, "confg", "config", "mtu"),
    ],
)
def test_the_error_of_a_misspelled_option_names_the_one_that_was_meant_and_all(
    function, given, meant, other
):
    text = rf"{function.__name__}\(\) .*'{given}': did you mean '{meant}'\? it takes .*{other}"
    with pytest.raises(TypeError, match=text):
        function("ticks", **{given: None})


@pytest.mark.parametrize(
    ("function", "options", "text"),
    [
        (rstream.publisher, {"rate": "200MB/s"}, r"rate='200MB/s'.*rate.Fixed\(\"200MB/s\"\)"),
        (rstream.publisher, {"rate": 200e6}, r"rate=200000000\.0 is no law"),
        (rstream.publisher, {"connect_timeout_s": "3"}, "connect_timeout_s='3': must be a number"),
        (rstream.publisher, {"linger_s": -1}, "linger_s=-1: must be a number of seconds, 0 or"),
        (
            rstream.subscriber,
            {"on_slow": "drop_oldest"},
            "on_slow='drop_oldest' is no policy.*Drop",
        ),
        (rstream.subscriber, {"on_slow": policy.Latest}, "Latest'> is no policy"),
        (rstream.subscriber, {"on_slow": policy.Buffer(1, overflow="grow")}, "overflow must be"),
        (rstream.publisher, {"stream_id": "7"}, "stream_id='7': must be a whole number of 32 bits"),
        (rstream.subscriber, {"stream_id": 1.0}, r"stream_id=1\.0: must be a whole number of 32"),
        (rstream.subscriber, {"stream_id": 2**31}, "stream_id=2147483648: must be a whole number"),
        (rstream.publisher, {"wait_for": "2"}, "wait_for='2': must be a whole number of subscri"),
        (rstream.publisher, {"wait_for": 1.5}, r"wait_for=1\.5: must be a whole number of subscri"),
        (rstream.publisher, {"wait_for": True}, "wait_for=True: must be a whole number of subsc"),
        (rstream.publisher, {"linger_s": NAN}, "linger_s=nan: must be a number of seconds"),
        (rstream.publisher, {"connect_timeout_s": NAN}, "connect_timeout_s=nan: must be a number"),
        (rstream.publisher, {"dir": 5}, "dir=5: must be the path of a driver directory"),
        (rstream.publisher, {"dir": b"x"}, "dir=b'x': must be the path of a driver directory"),
        (rstream.publisher, {"client": 5}, "client=5: must be an rstream.Client, or None"),
        (rstream.subscriber, {"client": "x"}, "client='x': must be an rstream.Client, or None"),
        (stream.source, {"client": 5}, "client=5: must be an rstream.Client, or None"),
        (stream.reader, {"client": 5}, "client=5: must be an rstream.Client, or None"),
        (aio.publisher, {"client": 5}, "client=5: must be an rstream.Client, or None"),
        (stream.reader, {"evict": policy.Evict("1")}, "Evict: after_s='1': must be a number of"),
    ],
)
def test_a_value_of_the_wrong_kind_is_an_error_that_says_what_to_write(
    driver_dir, function, options, text
):
    with pytest.raises(ConfigError, match=text):
        function("ticks", **{"dir": driver_dir} | options)


@pytest.mark.parametrize(
    ("on_slow", "text"),
    [
        (
            policy.Buffer("x"),
            r"Buffer\(n='x'.*\): a queue of 'x' items: must be a whole number, at least 1",
        ),
        (policy.Buffer(True), r"Buffer\(n=True.*\): a queue of True items: must be a whole number"),
        (policy.DropOldest(1.5), r"DropOldest\(n=1\.5\): a queue of 1\.5 items: must be a whole"),
        (policy.Fail(0), r"Fail\(n=0\): a queue of 0 items: must be a whole number, at least 1"),
        (policy.Latest(5), r"Latest\(key=5.*: key must be None or a function.*; keys_max limits"),
        (policy.Latest(keys_max="9"), "keys_max='9'.*a queue of '9' items: must be a whole number"),
        (policy.Conflate(None), r"Conflate\(merge=None\): merge must be a function of two items"),
        (policy.Evict("1"), "on_slow=Evict: after_s='1': must be a number of seconds"),
        (policy.Evict(NAN), "on_slow=Evict: after_s=nan: must be a number of seconds"),
        (policy.Evict(1, rejoin="no"), "rejoin='no'.*: rejoin must be True or False"),
    ],
)
@pytest.mark.parametrize("open_it", [rstream.subscriber, stream.source])
def test_a_policy_with_a_wrong_field_is_an_error_that_says_what_to_write(
    driver_dir, on_slow, text, open_it
):
    with pytest.raises(ConfigError, match=text):
        open_it("ticks", dir=driver_dir, on_slow=on_slow)


@pytest.mark.parametrize("open_it", [rstream.publisher, rstream.subscriber, aio.publisher])
@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (True, "stream name True: give a text, or a stream id as an int"),
        (1.0, r"stream name 1\.0: give a text, or a stream id as an int"),
        (2**31, "stream_id=2147483648: must be a whole number of 32 bits with sign"),
        ("aeron:ipc", "'aeron:ipc' is a channel; give the name .* channel='aeron:ipc' beside"),
        ("aeron-spy:aeron:ipc", "'aeron-spy:aeron:ipc' is a channel; give the name of the stream"),
        (
            rstream.Channel.udp("10.0.0.7:40123"),
            r"'aeron:udp\?endpoint=10.0.0.7:40123' is a channel; give the name of the stream first",
        ),
    ],
)
def test_what_is_no_name_is_refused(driver_dir, open_it, wrong, text):
    with pytest.raises(ConfigError, match=text):
        open_it(wrong, dir=driver_dir)
