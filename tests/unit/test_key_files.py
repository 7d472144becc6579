"""Files of keys: how they are written, read, refused and rotated, and the command ``rstream key``.

No text contains a key, also not where a file has something else in place of one.
"""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rstream import keys
from rstream.errors import ConfigError, RStreamError
from rstream.keys import GroupKey
from tests import sealed
from tests.hostile.frames import Host
from tests.support import until

if TYPE_CHECKING:
    from rstream.client import Client

ROOT = Path(__file__).resolve().parents[2]
SECRET = bytes(range(32))
KEY = GroupKey(SECRET)
OTHER = GroupKey(bytes(32))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "group.key"


def said(error: BaseException) -> str:
    """All that a user may see of an error."""
    hint = getattr(error, "hint", "")
    return "".join(traceback.format_exception(error)) + f"{error!r} {hint}"


# ---- files ----


@pytest.mark.parametrize("group", [[KEY], [KEY, OTHER]])
def test_a_file_is_read_as_it_was_written(path: Path, group: list[GroupKey]) -> None:
    keys.write_file(path, group, second="next")
    assert keys.read_file(path) == group
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in path.parent.iterdir()] == [path.name]  # no draft is left


def test_a_file_has_mode_0600_whatever_the_umask(path: Path) -> None:
    before = os.umask(0)
    try:
        keys.write_file(path, [KEY])
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_is_replaced_as_a_whole(path: Path) -> None:
    """Who has it open still reads the old one; nobody ever reads half of one."""
    keys.write_file(path, [KEY])
    with path.open() as old:
        keys.write_file(path, [OTHER])
        assert old.read() == f"{SECRET.hex()}\n"
    assert keys.read_file(path) == [OTHER]


def test_a_file_stays_when_it_cannot_be_replaced(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys.write_file(path, [KEY])

    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(ConfigError, match=r"key file .*: No space left on device") as refused:
        keys.write_file(path, [OTHER])
    assert OTHER.secret.hex() not in said(refused.value)
    assert keys.read_file(path) == [KEY]
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("count", [0, 3])
def test_a_file_has_one_or_two_keys(path: Path, count: int) -> None:
    with pytest.raises(ConfigError, match=f"{count} keys: a file has one or two"):
        keys.write_file(path, [KEY] * count)
    assert not path.exists()


def test_a_file_in_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"key file .*: No such file or directory"):
        keys.write_file(tmp_path / "none" / "key", [KEY])


def test_a_file_that_is_not_there_names_the_command(path: Path) -> None:
    with pytest.raises(ConfigError, match=f"key file {path}: No such file") as refused:
        keys.read_file(path)
    assert "rstream key new" in str(refused.value.hint)


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o620, 0o602, 0o601])
def test_a_file_that_others_can_read_or_write_is_refused(path: Path, mode: int) -> None:
    keys.write_file(path, [KEY])
    path.chmod(mode)
    with pytest.raises(ConfigError, match=rf"others may .* \(mode {mode:04o}\)") as refused:
        keys.read_file(path)
    assert refused.value.hint == f"chmod 600 {path}"


@pytest.mark.parametrize("mode", [0o400, 0o600, 0o640])
def test_a_file_for_its_owner_and_readers_of_its_group_is_taken(path: Path, mode: int) -> None:
    keys.write_file(path, [KEY])
    path.chmod(mode)
    assert keys.read_file(path) == [KEY]


def written(path: Path, text: str) -> Path:
    path.touch(0o600)
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "text",
    [
        f"{SECRET.hex()}\n\n# next\n{bytes(32).hex()}\n",
        f"# mine\r\n{SECRET.hex()}  \r\n{bytes(32).hex()}",
        f"{SECRET.hex().upper()}\n \n{bytes(32).hex()}\t\n",
    ],
)
def test_comments_and_empty_lines_mean_nothing(path: Path, text: str) -> None:
    assert keys.read_file(written(path, text)) == [KEY, OTHER]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing\n",
        f"{SECRET.hex()[:-1]}\n",
        f"{SECRET.hex()}{SECRET.hex()}\n",
        f"{SECRET.hex()}\n" * 3,
        f"{SECRET.hex()}\nsecret\n",
        f"{SECRET.hex()[:-1]}é\n",
        f"key = {SECRET.hex()}\n",
    ],
)
def test_a_file_with_something_else_is_refused_and_not_repeated(path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match="must have one or two lines of 64 hex digits") as refused:
        keys.read_file(written(path, text))
    assert SECRET.hex()[:-1] not in said(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        f"{SECRET.hex()}\n\n# next\n{bytes(32).hex()}\n",
        f"# mine\r\n{SECRET.hex()}  \r\n",
        f" {SECRET.hex()}\n",
        f"{SECRET.hex()}\n # next\n",
        f"{SECRET.hex()}\n \n",
        f"{SECRET.hex()}\nsecret\n",
        f"{SECRET.hex()}\n" * 3,
        f"{SECRET.hex()}\n" + "#" * 4096,
        "",
    ],
)
def test_both_readers_of_files_agree(path: Path, text: str, driver: object, client: Client) -> None:
    """``rstream key show`` must not praise a file that the driver refuses, nor the reverse."""
    try:
        first = keys.read_file(written(path, text))[0].id
    except ConfigError:
        first = ""
    with Host() as wire:
        channel = f"aeron:udp?endpoint=127.0.0.1:{wire.port}|rs-key=file:{path}"
        if first:
            with client.add_publication(channel, 1001):
                until(wire.drain)
            assert f"{sealed.key_id_in(wire.received[0].raw):08x}" == first
            return
        with pytest.raises(RStreamError, match="key file") as refused:
            client.add_publication(channel, 1001)
        assert SECRET.hex() not in said(refused.value)


# ---- rotation ----


def test_a_rotation_takes_three_steps(path: Path) -> None:
    keys.write_file(path, [KEY])
    first, second = keys.rotated(path)
    assert (first[0], len(first), second) == (KEY, 2, "next")
    new = first[1]
    keys.write_file(path, first, second=second)
    assert keys.rotated(path) == ([new, KEY], "previous")
    keys.write_file(path, [new, KEY], second="previous")
    assert keys.rotated(path) == ([new], "")
    keys.write_file(path, [new])
    assert keys.rotated(path)[1] == "next"


@pytest.mark.parametrize("line", ["", "# older\n", "#next\n"])
def test_two_keys_of_which_none_is_known_to_be_newer_are_refused(path: Path, line: str) -> None:
    text = f"{SECRET.hex()}\n{line}{bytes(32).hex()}\n"
    with pytest.raises(ConfigError, match="does not say which one is newer") as refused:
        keys.rotated(written(path, text))
    assert "# next" in str(refused.value.hint)
    assert SECRET.hex() not in said(refused.value)
    assert path.read_text() == text


# ---- rstream key ----


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rstream", "key", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )


def lines_of(done: subprocess.CompletedProcess[str], path: Path) -> list[str]:
    """The lines about keys; none has a key of the file in it."""
    assert done.returncode == 0, done.stderr
    for line in path.read_text().splitlines():
        assert len(line) < 64 or line not in done.stdout + done.stderr
    return [line for line in done.stdout.splitlines() if line.endswith(str(path))]


def test_the_command_makes_shows_and_rotates(path: Path) -> None:
    lines = lines_of(run("new", str(path)), path)
    (first,) = keys.read_file(path)
    assert lines == [f"{first.id}  seals and opens  {path}"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert lines_of(run("show", str(path)), path) == lines

    done = run("rotate", str(path))
    second = keys.read_file(path)[1]
    assert "all hosts must open with the new key" in done.stdout
    assert lines_of(done, path) == [*lines, f"{second.id}  opens  {path}"]

    done = run("rotate", str(path))
    assert "the new key seals, and the old one still opens" in done.stdout
    expected = [f"{second.id}  seals and opens  {path}", f"{first.id}  opens  {path}"]
    assert lines_of(done, path) == expected

    done = run("rotate", str(path))
    assert "the old key is gone" in done.stdout
    assert lines_of(done, path) == expected[:1]
    assert keys.read_file(path) == [second]


def test_the_command_takes_the_file_of_the_environment(path: Path) -> None:
    keys.write_file(path, [KEY])
    assert KEY.id in run("show", RSTREAM_KEY_FILE=str(path)).stdout
    assert run("rotate", RSTREAM_KEY_FILE=str(path)).returncode == 0
    assert len(keys.read_file(path)) == 2
    done = run("show")
    assert done.returncode == 1
    assert "rstream key show: give a file, or set RSTREAM_KEY_FILE" in done.stderr


def test_the_command_overwrites_no_file(path: Path) -> None:
    keys.write_file(path, [KEY])
    done = run("new", str(path))
    assert done.returncode == 1
    assert f"key file {path}: exists already" in done.stderr
    assert f"rstream key rotate {path}" in done.stderr
    assert keys.read_file(path) == [KEY]


def test_a_link_to_a_file_stays_a_link(path: Path, tmp_path: Path) -> None:
    keys.write_file(path, [KEY])
    link = tmp_path / "link.key"
    link.symlink_to(path)
    assert run("rotate", str(link)).returncode == 0
    assert link.is_symlink()
    assert keys.read_file(path)[0] == KEY
    assert len(keys.read_file(path)) == 2


@pytest.mark.parametrize("action", ["show", "rotate"])
def test_the_command_takes_regular_files_only(path: Path, action: str) -> None:
    os.mkfifo(path, 0o600)
    done = run(action, str(path))
    assert (done.returncode, f"key file {path}: no regular file" in done.stderr) == (1, True)


def test_the_command_says_what_is_wrong_with_a_file(path: Path) -> None:
    for action in ("show", "rotate"):
        done = run(action, str(path))
        assert (done.returncode, f"{path}: No such file" in done.stderr) == (1, True)
        assert "Traceback" not in done.stderr
    keys.write_file(path, [KEY])
    path.chmod(0o644)
    done = run("show", str(path))
    assert f"(mode 0644); chmod 600 {path}" in done.stderr
    assert SECRET.hex() not in done.stdout + done.stderr
