"""Channel URIs taken apart: values stay as they were written."""

import pytest

from rstream._channel_uri import ChannelUri
from rstream.errors import ChannelError

URI = "aeron:udp?endpoint=localhost:0|term-length=64k|alias=a"


@pytest.mark.parametrize(
    "uri", [URI, "aeron:ipc", "aeron-spy:aeron:ipc?alias=a", "aeron:ipc?a=b=c"]
)
def test_what_is_parsed_is_written_back(uri):
    assert str(ChannelUri.parse(uri)) == uri


def test_a_value_is_replaced_in_its_place_and_added_at_the_end():
    uri = ChannelUri.parse(URI)
    assert str(uri.with_value("endpoint", "localhost:7")) == URI.replace(":0", ":7")
    assert str(uri.with_value("ttl", "3")) == f"{URI}|ttl=3"


def test_defaults_do_not_replace_what_is_given():
    uri = ChannelUri.parse(URI).with_defaults({"term-length": "1m", "rs-name": "n"})
    assert str(uri) == f"{URI}|rs-name=n"
    assert (uri.get("term-length"), uri.get("ttl")) == ("64k", None)


@pytest.mark.parametrize("uri", ["udp?endpoint=a:1", "aeron:tcp?a=b", "aeron:udp", "aeron:ipc?mtu"])
def test_what_does_not_follow_the_grammar_is_refused(uri):
    with pytest.raises(ChannelError, match="channel "):
        ChannelUri.parse(uri)


@pytest.mark.parametrize(
    ("fc", "size"),
    [("min,g:/3", 3), ("tagged,g:101/2,t:5s", 2), ("min,g:101", 0), ("min", 0), ("max", 0)],
)
def test_the_group_size_is_read_from_the_flow_control(fc, size):
    uri = f"aeron:udp?endpoint=224.0.1.1:1|fc={fc}"
    assert ChannelUri.parse(uri).group_size == size
    assert ChannelUri.parse("aeron:ipc").group_size == 0
