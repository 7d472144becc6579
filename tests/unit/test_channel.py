"""Channel values and URIs mean the same; a refusal names the setting."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rstream import _core, rate
from rstream.channel import Channel
from rstream.errors import ChannelError, ConfigError, NotSupported
from tests.unit.test_rate import LAWS

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
        "aeron:udp?endpoint=a:1|rs-rate=fixed,r:200000000,p:7",
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
        ("aeron:ipc?rs-rate=fixed,q:1", "q:1"),
        ("aeron:ipc?rs-rate=slow", "slow"),
        ("aeron:ipc?alias=" + "x" * 4096, "4095"),
    ],
)
def test_refusals_name_the_setting(uri: str, words: str) -> None:
    with pytest.raises(ChannelError, match=words) as caught:
        Channel.parse(uri)
    assert isinstance(caught.value, ConfigError | ValueError)
    assert caught.value.code == "RST_ECHANNEL"


@pytest.mark.parametrize(
    ("uri", "hint"),
    [
        ("aeron:udp?endpont=a:1", "'endpont' is not known: did you mean 'endpoint'?"),
        ("aeron:udp?mtu=64|contol=a:1", "'contol' is not known: did you mean 'control'?"),
        ("aeron:ipc?term-lenght=1m|mtu=1x", "did you mean 'term-length'?"),
        ("aeron:ipc?rs-nmae=x", "did you mean 'rs-name'?"),
        ("aeron:udp?address=a:1", ""),
        ("aeron:udp?mtu=64", ""),
    ],
)
def test_a_refusal_asks_for_the_slip_in_a_key(uri: str, hint: str) -> None:
    with pytest.raises(ChannelError) as caught:
        Channel.parse(uri)
    assert caught.value.hint.endswith(hint)
    assert bool(caught.value.hint) == bool(hint)


@pytest.mark.parametrize("bad", ["", "a|b", "a\nb"])
def test_a_name_cannot_inject_parameters(bad: str) -> None:
    with pytest.raises(ChannelError, match="name"):
        Channel.ipc(name=bad)


# ---- F3: every parameter ----

I32 = st.integers(-(2**31), 2**31 - 1)
TAG = st.integers(-(2**63) + 1, 2**63 - 1)
BOOLS = st.booleans()
SECONDS = st.integers(0, 3600 * 10**9).map(lambda ns: ns / 1e9)
#: Field to values: all parameters of the reference, except those of the address.
VALUES: dict[str, st.SearchStrategy[object]] = {
    "ttl": st.integers(0, 255),
    "session_id": I32,
    "session_tag": TAG,
    "stream_id": I32,
    "mtu": st.integers(2, 2047).map(lambda n: n * 32),
    "term_length": st.integers(16, 30).map(lambda n: 1 << n),
    "publication_window": st.integers(65504, 1 << 29),
    "receiver_window": st.integers(256, 1 << 30),
    "linger_s": SECONDS,
    "reliable": BOOLS,
    "sparse": BOOLS,
    "eos": BOOLS,
    "tether": BOOLS,
    "group": st.sampled_from([True, False, "infer"]),
    "rejoin": BOOLS,
    "spies_simulate_connection": BOOLS,
    "flow_control": st.sampled_from(["max", "min", "min,g:3", "tagged,g:7/2,t:250ms"]),
    "group_tag": TAG,
    "congestion_control": st.sampled_from(["static", "cubic"]),
    "channel_tag": TAG,
    "socket_sndbuf": st.integers(0, 2**31 - 1),
    "socket_rcvbuf": st.integers(0, 2**31 - 1),
    "nak_delay_s": SECONDS,
    "max_resend": st.integers(1, 256),
    "untethered_window_limit_timeout_s": SECONDS,
    "untethered_linger_timeout_s": SECONDS,
    "untethered_resting_timeout_s": SECONDS,
    "response_correlation_id": st.one_of(st.integers(-1, 2**63 - 1), st.just("prototype")),
    "name": NAMES,
    "rate": LAWS,
    "fill_window": BOOLS,
    "alias": NAMES,
    "spy": BOOLS,
}


@given(data=st.data(), field=st.sampled_from(sorted(VALUES)), is_ipc=st.booleans())
def test_every_parameter_survives_the_round_trip_and_the_core_reads_it(
    data: st.DataObject, field: str, is_ipc: bool
) -> None:
    """F3."""
    value = data.draw(VALUES[field])
    address = {} if is_ipc else {"endpoint": "localhost:1"}
    # The field's name is data, so the type checker cannot know its type.
    channel = Channel(
        media="ipc" if is_ipc else "udp",
        **address,
        **{field: value},  # type: ignore[arg-type]
    )
    assert Channel.parse(str(channel)) == channel
    _core.check_channel(str(channel))


@given(fields=st.sets(st.sampled_from(sorted(VALUES)), min_size=2), data=st.data())
def test_parameters_go_together(fields: set[str], data: st.DataObject) -> None:
    fields -= {"session_tag"} if "session_id" in fields else set()
    fields -= {"publication_window"}
    channel = Channel(
        **{field: data.draw(VALUES[field]) for field in sorted(fields)}  # type: ignore[arg-type]
    )
    assert Channel.parse(str(channel)) == channel
    _core.check_channel(str(channel))


@pytest.mark.parametrize(
    ("field", "legal", "illegal"),
    [
        ("ttl", (0, 255), (-1, 256, "1", True)),
        ("session_id", (-(2**31), 2**31 - 1), (-(2**31) - 1, 2**31, 0.5)),
        ("stream_id", (-(2**31), 2**31 - 1), (2**31,)),
        ("mtu", (64, 65504), (32, 65536, 100)),
        ("term_length", (1 << 16, 1 << 30), (1 << 15, 1 << 31, 100000)),
        ("receiver_window", (256, 1 << 30), (255, (1 << 30) + 1)),
        ("linger_s", (0, 3600), (-1, 3601, "5s")),
        ("nak_delay_s", (0, 86400), (-1e-9, 86401)),
        ("untethered_window_limit_timeout_s", (0, 86400), (-1,)),
        ("untethered_linger_timeout_s", (0, 86400), (86401,)),
        ("untethered_resting_timeout_s", (0, 86400), (86401,)),
        ("max_resend", (1, 256), (0, 257)),
        ("rate", (rate.Unlimited(), rate.Nak()), ("unlimited", 5)),
        ("socket_sndbuf", (0, 2**31 - 1), (-1, 2**31)),
        ("socket_rcvbuf", (0, 2**31 - 1), (-1, 2**31)),
        ("group_tag", (-(2**63) + 1, 2**63 - 1), (-(2**63), 2**63)),
        ("channel_tag", (-(2**63) + 1, 2**63 - 1), (-(2**63), 2**63, "1")),
        ("session_tag", (-(2**63) + 1, 2**63 - 1), (-(2**63), 2**63)),
        ("send_timestamp_offset", (0, "reserved"), (-1, "elsewhere")),
        ("receive_timestamp_offset", (0, "reserved"), (2**31,)),
        ("media_timestamp_offset", (0, "reserved"), (-1,)),
        ("response_correlation_id", (-1, 2**63 - 1, "prototype"), (-2, 2**63, "image")),
        ("group", (True, False, "infer"), ("yes", 1)),
        ("eos", (True, False), ("true", 1)),
        ("tether", (True, False), (0,)),
        ("rejoin", (True, False), (0,)),
        ("fill_window", (True, False), (0, "true")),
        ("spies_simulate_connection", (True, False), (0,)),
    ],
)
def test_limits_of_every_parameter(
    field: str, legal: tuple[object, ...], illegal: tuple[object, ...]
) -> None:
    """F3."""
    for value in legal:
        channel = Channel(**{field: value})  # type: ignore[arg-type]
        assert Channel.parse(str(channel)) == channel
    for value in illegal:
        with pytest.raises(ChannelError, match=field):
            Channel(**{field: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "query",
    [
        "ttl=1.5",
        "ttl=+1",
        "ttl=1_0",
        "ttl= 1",
        "ttl=١",
        "session-id=99999999999999999999",
        "session-id=tag:",
        "session-id=tag:x",
        "tags=1,",
        "tags=,1",
        "tags=1,2,3",
        "mtu=1408|mtu=1408",
        "so-sndbuf=1kk",
        "rcv-wnd=-1",
        "linger=5 s",
        "group=maybe",
        "eos=True",
        "channel-snd-ts-offset=x",
        "response-correlation-id=proto",
        "init-term-id=1|term-id=1",
        "init-term-id=0|term-id=0|term-offset=31",
        "init-term-id=0|term-id=-1|term-offset=0",
        "init-term-id=0|term-id=0|term-offset=65568|term-length=64k",
    ],
)
def test_bad_characters_overflows_and_half_settings(query: str) -> None:
    """F3."""
    with pytest.raises(ChannelError):
        Channel.parse(f"aeron:ipc?{query}")


def test_conflicting_parameters_are_refused() -> None:
    with pytest.raises(ChannelError, match="channel_tag"):
        Channel.ipc().replace(entity_tag=5)
    with pytest.raises(ChannelError, match="session_tag"):
        Channel.ipc(session_id=1).replace(session_tag=5)
    with pytest.raises(ChannelError, match="control"):
        Channel(media="udp", endpoint="a:1", control_mode="dynamic")
    assert str(Channel(media="udp", channel_tag=3, entity_tag=4)) == "aeron:udp?tags=3,4"
    spy = Channel.parse("aeron-spy:aeron:udp?endpoint=localhost:1")
    assert spy.spy
    assert str(spy) == "aeron-spy:aeron:udp?endpoint=localhost:1"


@given(
    initial=I32,
    term_bits=st.integers(16, 30),
    terms=st.integers(0, 2**31 - 1),
    frames=st.integers(0, 2**11 - 1),
)
def test_initial_position(initial: int, term_bits: int, terms: int, frames: int) -> None:
    """F3."""
    position = (terms << term_bits) + 32 * frames
    channel = Channel.ipc(term_length=1 << term_bits).at_position(position, initial_term_id=initial)
    assert channel.term_id is not None
    assert channel.term_offset == 32 * frames
    assert (channel.term_id - initial) % 2**32 == terms
    assert Channel.parse(str(channel)) == channel
    _core.check_channel(str(channel))


def test_impossible_initial_positions_are_refused() -> None:
    for position in (-32, 33, (1 << 16 << 31) + 32):
        with pytest.raises(ChannelError, match="position"):
            Channel.ipc(term_length=1 << 16).at_position(position, initial_term_id=0)
    with pytest.raises(ChannelError, match="term_length"):
        Channel.ipc().at_position(0, initial_term_id=0)


def test_what_the_core_refuses_has_its_own_errors() -> None:
    """F1, as the core reports it."""
    with pytest.raises(ChannelError, match="mtu"):
        _core.check_channel("aeron:ipc?mtu=x")
    with pytest.raises(NotSupported):
        _core.check_channel("aeron:ipc?ats=true")
    with pytest.raises(ChannelError):
        _core.check_channel("aeron:ipc\0")
    with pytest.raises(TypeError):
        _core.check_channel(b"aeron:ipc")  # type: ignore[arg-type]
