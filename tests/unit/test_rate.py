"""Rates as users write them: a wrong rate is refused where it is written.

The text of rs-rate means the same to Python and to the driver.
"""

import contextlib
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rstream import rate
from rstream.channel import Channel
from rstream.errors import ConfigError, RegistrationError

BYTES = st.integers(1, 10**12)
#: Shares that a percentage with ten decimals represents exactly.
SHARES = st.integers(1, 10_000).map(lambda n: n / 10_000)


@st.composite
def limits(draw):
    """Limits that do not contradict each other, some left out."""
    least, initial, most = sorted(draw(st.tuples(BYTES, BYTES, BYTES)))
    fields = {"initial_bytes_per_s": initial, "least_bytes_per_s": least, "most_bytes_per_s": most}
    given_ = draw(st.sets(st.sampled_from(sorted(fields))))
    return {field: fields[field] for field in given_}


@st.composite
def naks(draw):
    triggers = sorted(draw(st.sets(SHARES, min_size=1, max_size=8)))
    cuts = draw(st.lists(SHARES, min_size=len(triggers), max_size=len(triggers)))
    window_s = draw(st.integers(10**6, 10**10)) / 1e9
    return rate.Nak(
        window_s=window_s,
        triggers=tuple(triggers),
        cuts=tuple(cuts),
        step=draw(SHARES),
        **draw(limits()),
    )


LAWS = st.one_of(
    st.just(rate.Unlimited()),
    st.builds(rate.Fixed, BYTES, st.integers(0, 10**12)),
    st.builds(rate.Fixed, st.none(), st.integers(1, 10**12)),
    st.builds(
        lambda ns, fields: rate.Adaptive(target_delay_s=ns / 1e9, **fields),
        st.integers(1, 10**10),
        limits(),
    ),
    naks(),
    st.builds(
        lambda a, b, fields: rate.Aimd(increase_bytes_per_s=a, decrease=b, **fields),
        BYTES,
        SHARES,
        limits(),
    ),
)


@pytest.mark.parametrize(
    ("text", "bytes_per_s"),
    [
        ("200MB/s", 200_000_000),
        ("64 KiB/s", 65536),
        ("1.5GiB", 3 * 2**29),
        ("10B/s", 10),
        ("3kb/s", 3000),
        (5, 5),
        (2.5, 2),
        (1e12, 10**12),
    ],
)
def test_units(text, bytes_per_s):
    assert rate.Fixed(text).bytes_per_s == bytes_per_s
    assert rate.Fixed(text) == rate.Fixed(bytes_per_s)
    assert rate.Fixed(text).to_text() == f"fixed,r:{bytes_per_s}"


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "fast",
        "10 MBit/s",
        "-1MB/s",
        "0B/s",
        0,
        -3,
        float("inf"),
        float("nan"),
        "1e3MB",
        10**12 + 1,
        True,
        [5],
    ],
)
def test_wrong_rates_are_refused_by_name(bad):
    for make in (
        rate.Fixed,
        lambda v: rate.Adaptive(most_bytes_per_s=v),
        lambda v: rate.Aimd(increase_bytes_per_s=v),
    ):
        with pytest.raises(ConfigError, match="rate"):
            make(bad)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: rate.Fixed(), "datagrams_per_s"),
        (lambda: rate.Fixed(5, -1), "datagrams_per_s=-1"),
        (lambda: rate.Fixed(5, 1.5), "datagrams_per_s=1.5"),
        (lambda: rate.Adaptive(target_delay_s=0), "target_delay_s=0"),
        (lambda: rate.Adaptive(target_delay_s=11), "target_delay_s=11"),
        (lambda: rate.Adaptive(target_delay_s="10ms"), "target_delay_s='10ms'"),
        (lambda: rate.Adaptive(least_bytes_per_s=6, initial_bytes_per_s=5), "least_bytes_per_s <="),
        (lambda: rate.Adaptive(least_bytes_per_s=6, most_bytes_per_s=5), "least_bytes_per_s <="),
        (lambda: rate.Nak(window_s=0.0001), "window_s=0.0001"),
        (lambda: rate.Nak(triggers=()), "triggers="),
        (lambda: rate.Nak(triggers=(0.5,)), "cuts="),
        (lambda: rate.Nak(triggers=(0.5, 0.4, 0.6, 1)), "must rise"),
        (lambda: rate.Nak(triggers=(0.5, 0.6, 0.7, 1.01)), "above 0 to 1"),
        (lambda: rate.Nak(cuts=(0, 0.1, 0.2, 0.3)), "above 0 to 1"),
        (lambda: rate.Nak(step=-0.1), "step=-0.1"),
        (
            lambda: rate.Nak(
                triggers=tuple((n + 1) / 17 for n in range(8)),
                cuts=tuple((n + 1) / 17 for n in range(8)),
                least_bytes_per_s=10**11,
                most_bytes_per_s=10**12,
            ),
            "longer than 255 bytes",
        ),
        (lambda: rate.Aimd(decrease=1.5), "decrease=1.5"),
    ],
)
def test_wrong_values_are_refused_by_name(make, words):
    with pytest.raises(ConfigError) as caught:
        make()
    assert words in str(caught.value)


@given(law=LAWS)
def test_a_law_survives_the_round_trip_as_text(law):
    text = law.to_text()
    assert len(text) <= 255
    assert not set(text) & set("|=? \n")
    assert rate.from_text(text) == law
    assert pickle.loads(pickle.dumps(law)) == law
    assert hash(rate.from_text(text)) == hash(law)
    assert Channel.parse(str(Channel.ipc(rate=law))).rate == law


#: Every text that the driver's own parser refuses (transport_ext/tests/flow/test_rate_text.c), and
#: some texts that only look legal.
WRONG = (
    "", "fast", "fixed", "fixed,r:0", "fixed,r:2t", "fixed,r:-5", "fixed,r:1000000000001",
    "fixed,p:1k", "fixed,p:0", "fixed,i:5", "fixed,r:5,r:6", "fixed,r:5,", "fixed,r", "fixed,r:",
    "fixed, r:5", "unlimited,m:5", "adaptive,w:5ms", "adaptive,d:0", "adaptive,d:11s",
    "adaptive,d:5m", "adaptive,l:5,m:4", "adaptive,i:5m,m:4m", "adaptive,i:5,l:6", "nak,w:999us",
    "nak,t:", "nak,t:50/", "nak,t:0/50/60/70", "nak,t:50/60/70/100.1", "nak,t:1/2/3/4/5/6/7/8/9",
    "nak,t:50/40/60/70", "nak,t:50/60", "nak,c:50", "aimd,b:101", "aimd,b:nan", "aimd,b:.5",
    "aimd,b:5.", "aimd,b:1e1", "aimd,a:0", "Fixed,r:5",
)  # fmt: skip
RIGHT = (
    "unlimited", "fixed,r:200m", "fixed,p:7,r:1G", "adaptive", "adaptive,d:10", "adaptive,m:1000",
    "adaptive,d:5MS,l:1k,i:1k,m:1k", "nak", "nak,t:50/75.5,c:10/20", "nak,w:10s,s:0",
    "aimd,b:0,a:1", "aimd,b:100,l:9,m:9",
)  # fmt: skip


@pytest.mark.parametrize("text", WRONG)
def test_invalid_texts_are_refused(text):
    with pytest.raises(ConfigError) as caught:
        rate.from_text(text)
    assert f"rs-rate={text}" in str(caught.value)


def channel_of(text):
    return f"aeron:ipc?term-length=64k|rs-rate={text}"


def accepts(client, text):
    with contextlib.suppress(RegistrationError):
        client.add_publication(channel_of(text), 7, exclusive=True).close()
        return True
    return False


def test_the_driver_reads_what_python_reads(client):
    """The oracle is the other parser: a table in C, regular expressions in Python."""
    for text in RIGHT:
        assert rate.from_text(text)
        assert accepts(client, text), text
    for text in WRONG[1:]:  # the channel grammar refuses an empty value
        with pytest.raises(Exception, match="rs-rate") as caught:
            client.add_publication(channel_of(text), 7)
        assert isinstance(caught.value, RegistrationError), text


def test_both_mean_the_same_numbers(client):
    """Each law opens a shared publication twice, as text from Python and written otherwise.

    The driver would refuse the second if its values differed.
    """
    for text in RIGHT:
        written = rate.from_text(text).to_text()
        with (
            client.add_publication(channel_of(written), 8),
            client.add_publication(channel_of(text), 8),
        ):
            pass


@settings(max_examples=60)
@given(law=LAWS)
def test_the_driver_takes_every_law(rate_client, law):
    assert accepts(rate_client, law.to_text())


@pytest.fixture(scope="module")
def rate_client(module_driver_dir):
    from rstream.client import Client

    with Client(module_driver_dir, start_driver=False) as client:
        yield client
