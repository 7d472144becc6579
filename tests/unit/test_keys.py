"""Keys: what they show of themselves, how ``key=`` becomes a parameter of a channel.

No text that rstream makes contains a key, also not where a user gives one in a wrong place.
"""

from __future__ import annotations

import copy
import dataclasses
import pickle
import pprint
import re
import stat
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import rstream
from rstream import _core, aio, keys, stream
from rstream._link_options import with_link_options
from rstream.channel import Channel
from rstream.client import Client
from rstream.driver import Driver
from rstream.errors import ChannelError, ConfigError, RStreamError
from rstream.keys import GroupKey
from tests import sealed
from tests.hostile.frames import Host
from tests.support import free_port, until

if TYPE_CHECKING:
    from collections.abc import Callable

UDP = "aeron:udp?endpoint=127.0.0.1:40123"
SECRET = bytes(range(32))
KEY = GroupKey(SECRET)
OTHER = GroupKey(bytes(32))
#: Types of the counters of sockets, whose labels have the channel.
SOCKETS = {"add_publication": 6, "add_subscription": 7}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "group.key"


def said(error: BaseException) -> str:
    """All that a user may see of an error."""
    hint = getattr(error, "hint", "")
    return "".join(traceback.format_exception(error)) + f"{error!r} {hint}"


# ---- the key itself ----


@pytest.mark.parametrize("secret", [SECRET, bytes(32), b"\xff" * 32], ids=["rising", "0", "1"])
def test_the_id_is_what_hkdf_makes_of_the_key(secret: bytes) -> None:
    """Computed by another library. The ids are also written down: files name them for years."""
    assert GroupKey(secret).id == f"{sealed.key_id(secret):08x}"
    assert KEY.id == "c6266af2"


def test_the_id_on_the_wire_is_the_keys(driver: object, client: Client) -> None:
    """The C side computes it once more, of the file that it gets."""
    key = GroupKey.new()
    with (
        Host() as wire,
        client.add_publication(Channel.udp(f"127.0.0.1:{wire.port}", key=key.reference), 1001),
    ):
        until(wire.drain)
    for frame in wire.received:
        assert sealed.is_sealed(frame.raw)
        assert f"{sealed.key_id_in(frame.raw):08x}" == key.id


@pytest.mark.parametrize("show", [repr, str, "{}".format, ascii, pprint.pformat])
def test_its_texts_have_the_id_alone(show: Callable[[object], str]) -> None:
    assert f"<rstream.keys.GroupKey {KEY.id}>" in show(KEY)
    assert SECRET.hex() not in show(KEY)
    assert repr(SECRET) not in show(KEY)


def test_it_is_a_value() -> None:
    assert GroupKey(SECRET) == KEY != OTHER
    assert len({KEY, GroupKey(SECRET), OTHER}) == 2
    assert GroupKey.new() != GroupKey.new()
    with pytest.raises(dataclasses.FrozenInstanceError):
        KEY.secret = bytes(32)  # type: ignore[misc]


def test_a_pickle_hands_the_key_on() -> None:
    """A program sends it to the processes that it trusts."""
    assert pickle.loads(pickle.dumps(KEY)) == KEY
    assert copy.deepcopy(KEY) == KEY


@pytest.mark.parametrize("length", [0, 31, 33])
def test_another_length_is_refused(length: int) -> None:
    with pytest.raises(ConfigError, match=f"a key of {length} bytes: must have 32") as refused:
        GroupKey(bytes(length))
    assert "rstream key new" in str(refused.value.hint)


@pytest.mark.parametrize("text", [SECRET.hex(), SECRET.hex().upper(), f" {SECRET.hex()}\n"])
def test_hex_digits_make_a_key(text: str) -> None:
    assert GroupKey.from_hex(text) == KEY


@pytest.mark.parametrize(
    "text", ["", SECRET.hex()[:-1], SECRET.hex() + "0", SECRET.hex()[:-1] + "g", "é" * 64]
)
def test_other_texts_are_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(ConfigError, match="not a key: must be 64 hex digits") as refused:
        GroupKey.from_hex(text)
    assert text == "" or text not in said(refused.value)


# ---- what key= takes ----


def test_references(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    monkeypatch.setenv("HOME", "/home/of/mine")
    monkeypatch.setenv("MY_KEY", f"{OTHER.secret.hex()}\n")
    assert keys.reference(None) == keys.reference("none") == "none"
    assert keys.reference("default") is None
    assert keys.reference(KEY) == KEY.reference == f"id:{KEY.id}"
    assert keys.reference(f"id:{KEY.id}") == f"id:{KEY.id}"
    assert keys.reference("file:/etc/my.key") == "file:/etc/my.key"
    assert keys.reference("file:group.key") == f"file:{path}"
    assert keys.reference("file:~/my.key") == "file:/home/of/mine/my.key"
    assert keys.reference("env:MY_KEY") == f"id:{OTHER.id}"
    assert keys.known_key(f"id:{OTHER.id}") == OTHER


@pytest.mark.parametrize(
    "wrong",
    [
        SECRET.hex(),
        f"hex:{SECRET.hex()}",
        f"id:{SECRET.hex()}",
        f"env:{SECRET.hex()}",
        f"key={SECRET.hex()}",
        f"file:{SECRET.hex()}",
        SECRET,
        SECRET.hex().encode(),
        Path(SECRET.hex()),
        [SECRET.hex()],
    ],
    ids=lambda value: f"{type(value).__name__} {str(value)[:5]}",
)
def test_a_key_in_a_wrong_place_is_refused_and_not_repeated(wrong: Any) -> None:
    """Errors go to logs. None of the faces shows what it was given."""
    for call in (
        lambda: keys.reference(wrong),
        lambda: with_link_options(UDP, is_publisher=True, key=wrong),
        lambda: rstream.publisher("ticks", channel=UDP, key=wrong),
        lambda: rstream.subscriber("ticks", channel=UDP, key=wrong),
        lambda: Channel.udp("127.0.0.1:40123", key=wrong),
    ):
        with pytest.raises((RStreamError, TypeError)) as refused:
            call()
        told = said(refused.value)
        assert SECRET.hex() not in told
        assert repr(SECRET) not in told


@pytest.mark.parametrize("wrong", ["", "file:", "env:", "id:", "id:xyz", "ID:c6266af2", "x"])
def test_other_texts_name_what_is_right(wrong: str) -> None:
    with pytest.raises(ConfigError, match="key= is no reference to a key") as refused:
        keys.reference(wrong)
    assert "GroupKey, 'file:PATH', 'env:NAME', or None" in str(refused.value.hint)


@pytest.mark.parametrize("wrong", [b"x", 7, True, ["none"]])
def test_other_types_are_named(wrong: Any) -> None:
    with pytest.raises(ConfigError, match=f"key= takes no {type(wrong).__name__}"):
        keys.reference(wrong)


def test_a_variable_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="'env:MY_KEY': there is no such environment variable"):
        keys.reference("env:MY_KEY")
    monkeypatch.setenv("MY_KEY", SECRET.hex()[1:])
    with pytest.raises(ConfigError, match="'env:MY_KEY': not a key: must be 64") as refused:
        keys.reference("env:MY_KEY")
    assert SECRET.hex()[1:] not in said(refused.value)


def test_keys_of_a_file_are_learnt_by_their_ids(path: Path) -> None:
    group = [GroupKey.new(), GroupKey.new()]
    keys.write_file(path, group)
    assert keys.known_key(f"id:{group[1].id}") is None
    keys.learn(f"file:{path}")
    assert [keys.known_key(f"id:{key.id}") for key in group] == group
    for wrong in (SECRET.hex(), "none", f"id:{KEY.id}", "file:"):
        with pytest.raises(ConfigError, match="no reference to a key") as refused:
            keys.learn(wrong)
        assert SECRET.hex() not in said(refused.value)


# ---- channels ----


@pytest.mark.parametrize("is_publisher", [True, False])
def test_a_key_becomes_a_parameter(is_publisher: bool) -> None:
    def made(channel: Channel | str | None, key: Any) -> str:
        return str(with_link_options(channel, is_publisher=is_publisher, key=key))

    assert made(UDP, KEY) == f"{UDP}|rs-key=id:{KEY.id}"
    assert made(f"{UDP}|rs-key=id:{KEY.id}", KEY) == f"{UDP}|rs-key=id:{KEY.id}"
    assert made(UDP, None) == f"{UDP}|rs-key=none"
    assert made(UDP, "default") == UDP
    assert made(f"aeron-spy:{UDP}", KEY) == f"aeron-spy:{UDP}|rs-key=id:{KEY.id}"
    assert made(Channel.udp("10.0.0.7:1"), KEY).endswith(f"|rs-key=id:{KEY.id}")
    assert with_link_options(None, is_publisher=is_publisher, key=None) is None
    assert made("aeron:ipc", None) == "aeron:ipc"


@pytest.mark.parametrize("channel", [None, "aeron:ipc", "aeron:ipc?term-length=1m"])
@pytest.mark.parametrize(
    "face", [rstream.publisher, rstream.subscriber, stream.source, stream.sink]
)
@pytest.mark.parametrize("key", [KEY, "file:/etc/my.key"], ids=["key", "file"])
def test_shared_memory_has_no_key(
    face: Callable[..., object], channel: str | None, key: Any
) -> None:
    with pytest.raises(ConfigError, match=r"on aeron:ipc.*only UDP.*not encrypted") as refused:
        face("ticks", channel=channel, key=key)
    assert "leave key out" in str(refused.value.hint)
    assert SECRET.hex() not in said(refused.value)


@pytest.mark.anyio
@pytest.mark.parametrize("face", [aio.publisher, aio.subscriber])
async def test_the_faces_of_event_loops_refuse_alike(face: Callable[..., Any]) -> None:
    with pytest.raises(ConfigError, match="only UDP has it"):
        await face("ticks", key=KEY)


def test_another_key_in_the_channel_is_refused() -> None:
    for other in (f"id:{OTHER.id}", "none", "file:/etc/my.key"):
        with pytest.raises(ConfigError, match=f"the channel .* says rs-key={other}") as refused:
            rstream.publisher("ticks", channel=f"{UDP}|rs-key={other}", key=KEY)
        assert "give the key once" in str(refused.value.hint)


@pytest.mark.parametrize("key", ["file:/etc/my.key", "id:c6266af2", "none"])
def test_channels_have_references(key: str) -> None:
    channel = Channel.udp("10.0.0.7:1", key=key)
    assert f"|rs-key={key}" in str(channel)
    assert Channel.parse(str(channel)).key == key
    assert channel.replace(mtu=1408).key == key


@pytest.mark.parametrize("key", [SECRET.hex(), "file:my.key", "id:c6266af", "env:MY_KEY"])
def test_channels_have_nothing_else(key: str) -> None:
    for make in (
        lambda: Channel.udp("10.0.0.7:1", key=key),
        lambda: Channel.parse(f"{UDP}|rs-key={key}"),
    ):
        with pytest.raises(ChannelError, match="a channel never has the key itself") as refused:
            make()
        assert SECRET.hex() not in said(refused.value)


@pytest.mark.parametrize("key", [KEY, "file:my.key", "env:MY_KEY"], ids=repr)
def test_a_channel_says_what_it_takes_instead(key: Any) -> None:
    with pytest.raises(ChannelError, match='must be "file:/PATH"') as refused:
        Channel.udp("10.0.0.7:1", key=key)
    assert "key.reference of a GroupKey" in str(refused.value.hint)


@pytest.mark.parametrize("side", ["add_publication", "add_subscription"])
def test_the_low_level_client_takes_channels_as_they_are_written(
    default: str, driver: object, client: Client, side: str
) -> None:
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    with getattr(client, side)(channel, 1001):
        (row,) = (row for row in _core.read_counters(client.dir) if row[1] == SOCKETS[side])
        assert channel in row[6]
        assert "rs-key" not in row[6]
    assert "RSTREAM_KEY_FILE" in str(Client.__doc__)


def test_the_example_of_a_key_is_a_channel() -> None:
    (uri,) = re.findall(r'"(aeron:udp[^"]+)"', str(GroupKey.__doc__))
    assert Channel.parse(uri).endpoint == "10.0.0.7:40123"


def test_a_channel_of_shared_memory_has_no_key() -> None:
    with pytest.raises(ChannelError, match="memory is not encrypted"):
        Channel.ipc(name="ticks").replace(key=f"id:{KEY.id}")


@pytest.mark.parametrize("side", ["add_publication", "add_subscription"])
@pytest.mark.parametrize(
    ("channel", "text"),
    [
        (f"{UDP}|rs-key={SECRET.hex()}", "a channel never has the key itself"),
        (f"aeron:ipc?rs-key={SECRET.hex()}", "a channel never has the key itself"),
        (f"{UDP}|rs-key=id:0badc0de", "this process has no key 0badc0de"),
        (f"{UDP}|rs-key=file:/none/of.key", "No such file.*key file /none/of.key"),
        (f"aeron:ipc?rs-key=id:{KEY.id}", "shared memory is not encrypted"),
    ],
    ids=["digits", "digits in memory", "unknown", "file", "ipc"],
)
def test_the_driver_refuses_what_it_cannot_use(
    driver: object, client: Client, side: str, channel: str, text: str
) -> None:
    _ = KEY.reference
    with pytest.raises(RStreamError, match=text) as refused:
        getattr(client, side)(channel, 1001)
    assert SECRET.hex() not in said(refused.value)


def test_a_destination_has_no_key_of_its_own(driver: object, client: Client) -> None:
    with client.add_publication("aeron:udp?control-mode=manual", 1001) as publication:
        with pytest.raises(RStreamError, match=r"rs-key=.*not to a destination"):
            publication.add_destination(f"{UDP}|rs-key=id:{KEY.id}")


def test_a_path_may_look_like_an_id(path: Path, driver: object, client: Client) -> None:
    file = path.with_name("id:0badc0de")
    keys.write_file(file, [KEY])
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}|rs-key=file:{file}"
    with client.add_subscription(channel, 1001):
        pass


def test_one_socket_has_one_key(driver: object, client: Client) -> None:
    """Streams that share a port cannot differ in their keys: the port's first channel says it."""
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    with client.add_subscription(f"{channel}|rs-key={KEY.reference}", 1001):
        for other in ("", f"|rs-key={OTHER.reference}", "|rs-key=none"):
            with pytest.raises(RStreamError, match=f"rs-key=.*existing socket has id:{KEY.id}"):
                client.add_subscription(channel + other, 1002)
        client.add_subscription(f"{channel}|rs-key={KEY.reference}", 1002).close()


# ---- the default ----


def key_in(uri: str) -> str | None:
    return uri.partition("|rs-key=")[2].partition("|")[0] or None


@pytest.fixture
def default(path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The reference to the key that the environment names."""
    keys.write_file(path, [KEY])
    monkeypatch.setenv("RSTREAM_KEY_FILE", str(path))
    return f"file:{path}"


@pytest.mark.parametrize("face", [rstream.publisher, rstream.subscriber])
def test_the_environment_has_the_default(
    default: str, driver: object, driver_dir: str, face: Callable[..., Any]
) -> None:
    def opened(**given: Any) -> str | None:
        with face("ticks", dir=driver_dir, **given) as made:
            return key_in(made.channel)

    udp = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    assert opened(channel=udp) == default
    assert opened(channel=udp, key="default") == default
    assert opened(channel=udp, key=OTHER) == f"id:{OTHER.id}"
    assert opened(channel=f"{udp}|rs-key=id:{OTHER.id}") == f"id:{OTHER.id}"
    assert opened(channel=udp, key=None) == "none"
    assert opened() is None
    assert opened(channel="aeron:ipc", key=None) is None


def test_the_default_is_also_that_of_destinations(
    default: str, driver: object, driver_dir: str
) -> None:
    """Such a publication has no address of its own, but a socket that sends."""
    with rstream.publisher(
        "ticks", channel="aeron:udp?control-mode=manual", dir=driver_dir
    ) as made:
        assert key_in(made.channel) == default


def test_an_id_may_be_that_of_the_default(
    path: Path, monkeypatch: pytest.MonkeyPatch, driver: object, client: Client
) -> None:
    """So a program without Ray writes to a handle of Ray, which has the id of its key."""
    key = GroupKey.new()
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}|rs-key=id:{key.id}"
    with pytest.raises(ConfigError, match=f"this process has no key {key.id}") as refused:
        client.add_subscription(channel, 1001)
    assert "RSTREAM_KEY_FILE" in str(refused.value.hint)
    keys.write_file(path, [OTHER, key])
    monkeypatch.setenv("RSTREAM_KEY_FILE", str(path))
    client.add_subscription(channel, 1001).close()


def test_without_the_variable_all_is_plain(driver: object, driver_dir: str) -> None:
    udp = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    with rstream.publisher("ticks", channel=udp, dir=driver_dir) as made:
        assert key_in(made.channel) is None


# ---- what drivers keep ----


def test_a_driver_is_given_the_key_for_itself_alone(
    driver: object, driver_dir: str, client: Client
) -> None:
    key = GroupKey.new()
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}|rs-key={key.reference}"
    client.add_subscription(channel, 1001).close()
    (file,) = (Path(driver_dir) / "keys").iterdir()
    assert keys.read_file(file) == [key]
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_driver_may_have_several_keys(driver: object, client: Client) -> None:
    group = [GroupKey.new() for _ in range(3)]
    with Host() as wire:
        for key in group:
            channel = Channel.udp(f"127.0.0.1:{wire.port}", key=key.reference)
            client.add_publication(channel.replace(control=f"127.0.0.1:{free_port()}"), 1001)

        def ids() -> set[str]:
            wire.drain()
            return {f"{sealed.key_id_in(frame.raw):08x}" for frame in wire.received}

        until(lambda: ids() == {key.id for key in group})


def test_no_key_outlives_its_driver(driver_dir: str) -> None:
    """Neither the keys that clients left, nor the draft of one that died while it wrote."""
    folder = Path(driver_dir) / "keys"
    with Driver(driver_dir), Client(driver_dir, start_driver=False) as client:
        client.add_subscription(
            f"aeron:udp?endpoint=127.0.0.1:{free_port()}|rs-key={KEY.reference}", 1001
        )
        assert list(folder.iterdir())
        (folder / ".rstream-key-abc").write_text(SECRET.hex())
    assert not Path(driver_dir).exists()


def test_aerons_driver_has_no_keys(
    driver: object, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would ignore rs-key, and send plainly."""
    monkeypatch.setattr(Client, "is_aeron_driver", True)
    for side in (client.add_publication, client.add_subscription):
        with pytest.raises(ConfigError, match="is Aeron's, which has no keys") as refused:
            side(f"{UDP}|rs-key={KEY.reference}", 1001)
        assert "start rstream's driver" in str(refused.value.hint)


def test_without_libcrypto_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rstream._core.build_config", lambda: {"crypto": "none"})
    assert not keys.is_built()
    for key in (KEY, "file:/etc/my.key", f"id:{KEY.id}"):
        with pytest.raises(ConfigError, match="built without libcrypto") as refused:
            keys.reference(key)
        assert "libssl-dev" in str(refused.value.hint)
    assert keys.reference(None) == "none"
