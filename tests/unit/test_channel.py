"""Channel values and URIs say the same, and refuse what cannot work, with the name of the setting."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rstream.channel import Channel
from rstream.errors import ChannelError, ConfigError

NAMES = st.text(
    st.characters(blacklist_characters="|\0\n", blacklist_categories=["Cs"]),
    min_size=1,
    max_size=20,
)


@pytest.mark.parametrize(
    "uri",
    [
        "aeron:ipc",
        "aeron:udp?endpoint=localhost:40123",
        "aeron:udp?endpoint=224.0.1.1:40456|interface=10.0.0.0/8|fc=min",
        "aeron:udp?endpoint=[::1]:40123|session-id=-7|mtu=8192|term-length=65536|reliable=false",
        "aeron:udp?control=localhost:40124|control-mode=dynamic",
        "aeron:udp?control-mode=manual",
        "aeron:ipc?session-id=tag:5|tags=1,2",
        "aeron:ipc?rs-name=ticks=1|alias=für Leute",
    ],
)
def test_text_value_text(uri: str) -> None:
    channel = Channel.parse(uri)
    assert Channel.parse(str(channel)) == channel
    assert sorted(str(channel).partition("?")[2].split("|")) == sorted(
        uri.partition("?")[2].split("|")
    )
    assert pickle.loads(pickle.dumps(channel)) == channel
    assert Channel.of(uri) == Channel.of(channel) == channel


def test_units_of_sizes_and_durations() -> None:
    channel = Channel.parse(
        "aeron:udp?endpoint=a:1|term-length=1m|rcv-wnd=128K|linger=250ms|mtu=4k"
    )
    assert (channel.term_length, channel.receiver_window, channel.mtu) == (1 << 20, 1 << 17, 4096)
    assert channel.linger_s == 0.25


@given(name=NAMES, term_bits=st.integers(16, 30), mtu=st.integers(2, 2047), is_ipc=st.booleans())
def test_every_legal_value_survives(name: str, term_bits: int, mtu: int, is_ipc: bool) -> None:
    make = Channel.ipc if is_ipc else lambda **rest: Channel.udp("host:1", **rest)
    channel = make(name=name, term_length=1 << term_bits, mtu=mtu * 32)
    assert Channel.parse(str(channel)) == channel


@pytest.mark.parametrize(
    ("uri", "words"),
    [
        ("", "aeron:udp"),
        ("tcp://x", "aeron:udp"),
        ("aeron:tcp?endpoint=a:1", "media"),
        ("aeron:udp", "parameters"),
        ("aeron:udp?", "reader"),
        ("aeron:udp?endpoint", "key=value"),
        ("aeron:udp?endpoint=", "key=value"),
        ("aeron:udp?endpoint=a", "host:port"),
        ("aeron:udp?endpoint=a:65536", "65535"),
        ("aeron:udp?control-mode=dynamic|mtu=64", "reader"),
        ("aeron:ipc?endpoint=a:1", "IPC"),
        ("aeron:ipc?mtu=63", "mtu"),
        ("aeron:ipc?mtu=65505", "mtu"),
        ("aeron:ipc?mtu=100", "mtu"),
        ("aeron:ipc?mtu=1x", "size"),
        ("aeron:ipc?term-length=32k", "term_length"),
        ("aeron:ipc?term-length=2g", "term_length"),
        ("aeron:ipc?term-length=100000", "term_length"),
        ("aeron:ipc?term-length=64k|pub-wnd=64k", "publication_window"),
        ("aeron:ipc?linger=5m", "duration"),
        ("aeron:ipc?linger=3601s", "linger"),
        ("aeron:ipc?sparse=yes", "true or false"),
        ("aeron:ipc?session-id=x", "integer"),
        ("aeron:ipc?session-id=2147483648", "session_id"),
        ("aeron:ipc?rs-nmae=x", "rs-nmae"),
        ("aeron:ipc?alias=" + "x" * 4096, "4095"),
    ],
)
def test_refusals_name_the_setting(uri: str, words: str) -> None:
    with pytest.raises(ChannelError, match=words) as caught:
        Channel.parse(uri)
    assert isinstance(caught.value, ConfigError | ValueError)
    assert caught.value.code == "RST_ECHANNEL"


@pytest.mark.parametrize("bad", ["", "a|b", "a\nb"])
def test_names_cannot_break_out(bad: str) -> None:
    with pytest.raises(ChannelError, match="name"):
        Channel.ipc(name=bad)
