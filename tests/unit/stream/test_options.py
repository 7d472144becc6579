"""The keyword options of publishers and subscribers: one description, one default each."""

from dataclasses import fields

import pytest

import rstream
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
