"""Keys between Ray actors: one for each namespace by default, and never in a handle.

Writers on "another host" have another host token and a driver directory of their own, so they use
UDP.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.ray.test_handles import Reader, Writer
from tests.support import free_port, until

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(180),
    pytest.mark.filterwarnings("default"),
]

ROOT = Path(__file__).resolve().parents[3]
OTHER_HOST = {"env_vars": {"RSTREAM_HOST_TOKEN": "another host"}}
ITEMS = [{"n": number} for number in range(200)]


@pytest.fixture
def hosts(make_driver_dir: Any) -> Iterator[tuple[str, str]]:
    """The directories of the reader's driver and of the writer's."""
    import rstream

    with rstream.Driver(make_driver_dir()) as near, rstream.Driver(make_driver_dir()) as far:
        yield near.dir, far.dir


def written(ray: Any, handle: Any, directory: str) -> str:
    """The channel by which an actor on another host has written the items."""
    writer = ray.remote(num_cpus=0, runtime_env=OTHER_HOST)(Writer).remote()
    return ray.get(writer.send.remote(handle, ITEMS, directory))


def everything_about(directory: str) -> bytes:
    """What `rstream stat`, `rstream errors` and the files of a driver show."""
    from rstream import _core

    shown = [*_core.read_counters(directory), *_core.read_errors(directory)]
    return repr(shown).encode() + (Path(directory) / "cnc.dat").read_bytes()


def hides(key: Any, *texts: bytes) -> bool:
    return not any(
        form in text for text in texts for form in (key.secret, key.secret.hex().encode())
    )


def test_an_endpoint_has_the_key_of_its_namespace(ray_session: Any, hosts: tuple[str, str]) -> None:
    ray = ray_session
    import rstream.ray

    near, far = hosts
    reader = ray.remote(num_cpus=0)(Reader).remote("ray-key", near)
    handle = ray.get(reader.handle.remote())
    key = rstream.ray.job_key()
    assert key is not None
    assert f"|rs-key=id:{key.id}" in handle.udp_channel
    assert "rs-key" not in handle.ipc_channel
    channel = written(ray, handle, far)
    assert channel.startswith("aeron:udp")
    assert f"|rs-key=id:{key.id}" in channel
    assert ray.get(reader.finish.remote()) == ITEMS
    texts = (str(handle), repr(handle), handle.to_text(), handle.udp_channel)
    assert hides(key, *(text.encode() for text in texts))
    assert hides(key, pickle.dumps(handle), everything_about(near), everything_about(far))
    assert handle == rstream.ray.StreamHandle.from_text(handle.to_text())


def test_all_processes_of_a_namespace_have_one_key(ray_session: Any) -> None:
    ray = ray_session
    import rstream.ray

    def id_of_key() -> str:
        found = rstream.ray.job_key()
        return "" if found is None else found.id

    found = ray.get([ray.remote(num_cpus=0)(id_of_key).remote() for _ in range(3)])
    assert set(found) == {id_of_key()}


def test_who_has_not_the_key_is_refused(ray_session: Any, hosts: tuple[str, str]) -> None:
    """A plain writer, and one with another key, on the endpoint's own port."""
    import rstream.ray
    from rstream.errors import NotConnected
    from rstream.keys import GroupKey

    near, far = hosts
    key = rstream.ray.job_key()
    assert key is not None
    with contextlib.closing(rstream.ray.reader("ray-refuses", dir=near, host="127.0.0.1")) as end:
        for other in (None, GroupKey.new()):
            with (
                rstream.publisher(
                    end.handle.name,
                    stream_id=end.handle.stream_id,
                    channel=f"aeron:udp?endpoint={end.handle.endpoint}",
                    key=other,
                    dir=far,
                    connect_timeout_s=1.0,
                ) as pub,
                pytest.raises(NotConnected, match=f"asks for key {key.id}; this channel has"),
            ):
                pub.send("x")


#: A program that writes to a handle, with Ray or without.
OUTSIDE = """
import json, sys
task = json.loads(sys.argv[1])
if task["address"]:
    import ray
    ray.init(address=task["address"], namespace=task["namespace"], logging_level="ERROR")
from rstream.ray import StreamHandle
with StreamHandle.from_text(task["handle"]).publisher(driver_dir=task["dir"], linger_s=10) as pub:
    pub.send({"n": 1})
print("sent")
"""


def outside(task: dict[str, str], **environment: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(part for part in (str(ROOT), os.environ.get("PYTHONPATH", "")) if part)
    return subprocess.run(
        [sys.executable, "-c", OUTSIDE, json.dumps(task)],
        capture_output=True,
        text=True,
        timeout=120,
        env={
            **os.environ,
            "PYTHONPATH": path,
            "RSTREAM_HOST_TOKEN": "another host",
            **environment,
        },
    )


@pytest.mark.parametrize("is_of_ray", [True, False], ids=["namespace", "no Ray"])
def test_a_process_elsewhere_is_told_what_it_lacks(
    ray_session: Any, hosts: tuple[str, str], tmp_path: Path, is_of_ray: bool
) -> None:
    """A job of another namespace, or a program without Ray. With the key's file it can write."""
    import rstream.ray
    from rstream import keys

    near, far = hosts
    key = rstream.ray.job_key()
    assert key is not None
    address = ray_session.get_runtime_context().gcs_address if is_of_ray else ""
    got: list[Any] = []
    with contextlib.closing(rstream.ray.reader(dir=near, host="127.0.0.1")) as end:
        end.start(got.append)
        task = {"handle": end.handle.to_text(), "dir": far, "address": address}
        task["namespace"] = "elsewhere"
        done = outside(task)
        assert done.returncode != 0
        assert f"ConfigError: channel aeron:udp?endpoint={end.handle.endpoint}" in done.stderr
        assert f"this process has no key {key.id}" in done.stderr
        assert "rstream.ray.job_key" in done.stderr
        keys.write_file(tmp_path / "job.key", [key])
        done = outside(task, RSTREAM_KEY_FILE=str(tmp_path / "job.key"))
        assert done.stdout == "sent\n", done.stderr
        until(lambda: got == [{"n": 1}])


class Ticker:
    """Sends by a name, as a program without Ray does."""

    def send(self, channel: str, directory: str, has_key: bool) -> str:
        import rstream
        import rstream.ray

        given = {"key": rstream.ray.job_key()} if has_key else {}
        with rstream.publisher("ticks", channel=channel, dir=directory, **given) as pub:
            pub.send({"n": 1}, timeout_s=20)
            return pub.channel


@pytest.mark.parametrize("has_key", [True, False])
def test_what_an_actor_opens_by_name_has_the_key_that_it_is_given(
    ray_session: Any, hosts: tuple[str, str], tmp_path: Path, has_key: bool
) -> None:
    """A program outside has the key from a file; without `key=` in the actor all is plain."""
    import rstream.ray
    from rstream import keys

    near, far = hosts
    key = rstream.ray.job_key()
    assert key is not None
    keys.write_file(tmp_path / "ticks.key", [key])
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    given: dict[str, Any] = {"key": f"file:{tmp_path}/ticks.key"} if has_key else {}
    with rstream.subscriber("ticks", channel=channel, dir=near, **given) as sub:
        ticker = ray_session.remote(num_cpus=0)(Ticker).remote()
        sent = ticker.send.remote(channel, far, has_key)
        assert sub.get(timeout_s=30) == {"n": 1}
        assert ("rs-key=id:" in ray_session.get(sent)) == has_key


def test_a_restarted_actor_and_its_port_have_the_key_again(
    ray_session: Any, hosts: tuple[str, str]
) -> None:
    ray = ray_session
    near, far = hosts
    actor = ray.remote(num_cpus=0, max_restarts=1, max_task_retries=10)(Reader)
    reader = actor.remote("ray-key-again", near)
    handle = ray.get(reader.handle.remote())
    assert "rs-key=id:" in written(ray, handle, far)
    ray.kill(reader, no_restart=False)
    assert ray.get(reader.handle.remote()) == handle
    written(ray, handle, far)
    until(lambda: ray.get(reader.items.remote())[-len(ITEMS) :] == ITEMS, 20)


def test_none_is_plain(ray_session: Any, hosts: tuple[str, str]) -> None:
    import rstream.ray

    near, far = hosts
    got: list[Any] = []
    with contextlib.closing(rstream.ray.reader(dir=near, host="127.0.0.1", key=None)) as end:
        end.start(got.append)
        assert "|rs-key=none" in end.handle.udp_channel
        assert written(ray_session, end.handle, far).startswith("aeron:udp")
        until(lambda: got == ITEMS)
        assert not (Path(near) / "keys").exists()
        assert not (Path(far) / "keys").exists()


class Holder(Writer):
    """A writer that is given a key, as an argument."""

    def take(self, key: Any) -> str:
        return key.reference


def test_a_key_of_ones_own(ray_session: Any, hosts: tuple[str, str]) -> None:
    """Only actors that were given it can write."""
    ray = ray_session
    import rstream.ray
    from rstream.keys import GroupKey

    near, far = hosts
    key = GroupKey.new()
    got: list[Any] = []
    with contextlib.closing(rstream.ray.reader(dir=near, host="127.0.0.1", key=key)) as end:
        end.start(got.append)
        assert f"|rs-key=id:{key.id}" in end.handle.udp_channel
        with pytest.raises(Exception, match=f"this process has no key {key.id}"):
            written(ray, end.handle, far)
        writer = ray.remote(num_cpus=0, runtime_env=OTHER_HOST)(Holder).remote()
        assert ray.get(writer.take.remote(key)) == f"id:{key.id}"
        ray.get(writer.send.remote(end.handle, ITEMS, far))
        until(lambda: got == ITEMS)
        assert hides(key, pickle.dumps(end.handle), everything_about(near), everything_about(far))


def test_a_file_for_all_hosts(
    ray_session: Any, hosts: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the variable of the environment; the handle names the file, and not the job's key."""
    import rstream.ray
    from rstream import keys
    from rstream.keys import GroupKey

    near, far = hosts
    path = tmp_path / "group.key"
    keys.write_file(path, [GroupKey.new()])
    monkeypatch.setenv("RSTREAM_KEY_FILE", str(path))
    got: list[Any] = []
    with contextlib.closing(rstream.ray.reader(dir=near, host="127.0.0.1")) as end:
        end.start(got.append)
        assert f"|rs-key=file:{path}" in end.handle.udp_channel
        assert f"|rs-key=file:{path}" in written(ray_session, end.handle, far)
        until(lambda: got == ITEMS)


def test_without_udp_there_is_no_key(ray_session: Any, driver_dir: str) -> None:
    import rstream
    from rstream.errors import ConfigError
    from rstream.keys import GroupKey

    with rstream.Driver(driver_dir):
        with contextlib.closing(rstream.ray.reader(dir=driver_dir, udp=False)) as end:
            assert "rs-key" not in end.handle.to_text()
        for key in (GroupKey.new(), "file:/etc/my.key"):
            with pytest.raises(ConfigError, match="shared memory is not encrypted"):
                rstream.ray.reader(dir=driver_dir, udp=False, key=key)
