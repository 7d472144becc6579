"""The keyword options of publishers and subscribers: one description, one default each."""

from dataclasses import fields

import pytest

import rstream
from rstream import policy
from rstream.errors import ConfigError
from rstream.stream import PublisherOptions, SendOptions, SubscriberOptions
from rstream.stream._options import PublisherSettings, SubscriberSettings, settings


@pytest.mark.parametrize(
    ("options", "kind"),
    [(PublisherOptions, PublisherSettings), (SubscriberOptions, SubscriberSettings)],
)
def test_every_option_has_a_default_and_a_description(options, kind):
    names = {field.name for field in fields(kind)}
    assert names == options.__optional_keys__
    described = (options.__doc__ or "") + (SendOptions.__doc__ or "")
    assert all(f"        {name}: " in described for name in names)


def test_options_that_are_given_replace_defaults():
    chosen = settings(PublisherSettings, "publisher", {"linger_s": 1.0})
    assert (chosen.linger_s, chosen.connect_timeout_s) == (1.0, 10.0)


@pytest.mark.parametrize("function", [rstream.publisher, rstream.subscriber])
def test_a_misspelled_option_is_an_error_that_names_it(function):
    with pytest.raises(TypeError, match=r"er\(\) got an unexpected keyword argument 'chanel'"):
        function("ticks", chanel="aeron:ipc")


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
    ],
)
def test_a_value_of_the_wrong_kind_is_an_error_that_says_what_to_write(
    driver_dir, function, options, text
):
    with pytest.raises(ConfigError, match=text):
        function("ticks", dir=driver_dir, **options)
