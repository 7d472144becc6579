"""Keys: datagrams between hosts are sealed with a key that a group of streams shares.

    key = rstream.keys.GroupKey.new()              # or: rstream key new FILE
    rstream.publisher("ticks", channel="aeron:udp?endpoint=10.0.0.7:40123", key=key)
    rstream.subscriber("ticks", channel="aeron:udp?endpoint=10.0.0.7:40123", key="file:/etc/my.key")

``key=`` of every face is one of:

``GroupKey``
    The key itself. Channels and handles carry its id alone.
``"file:PATH"``
    A file with one key a line, 64 hex digits, at most two lines; the first key seals, both open.
    The driver reads the file, and reads it again within two seconds when it changes.
``"env:NAME"``
    An environment variable of this process with one key of 64 hex digits.
``None``
    Plain datagrams.
``"default"``
    What the channel says (``rs-key``), else ``file:$RSTREAM_KEY_FILE``, else plain.

Members of a group can pretend to be one another, and who learns a key can read what was recorded
with it: docs/explanation/security.md.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
import stat
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from rstream import _core
from rstream.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ("GroupKey", "KeyLike", "learn", "read_file", "rotated", "write_file")

KEY_BYTES: Final = 32
KEYS_MAX: Final = 2
#: Bytes of a file of keys; the driver reads no longer one either.
FILE_BYTES_MAX: Final = 4096
PLAIN: Final = "none"
ENVIRONMENT: Final = "RSTREAM_KEY_FILE"

_HEX: Final = re.compile(r"[0-9a-fA-F]{64}")
_ID: Final = re.compile(r"id:([0-9a-f]{8})")
_ID_INFO: Final = b"rstream key id"

#: The keys that this process may hand to its drivers, by id.
_known: Final[dict[str, GroupKey]] = {}


@dataclass(frozen=True, slots=True)
class GroupKey:
    """A key of 32 bytes; ``repr`` and ``str`` show its id, never the key.

    Attributes:
        secret: the key.

    Pickling it hands the key on.

    Example::

        key = rstream.keys.GroupKey.new()
        channel = "aeron:udp?endpoint=10.0.0.7:40123"
        with rstream.subscriber("ticks", channel=channel, key=key) as ticks: ...
    """

    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.secret) != KEY_BYTES:
            raise ConfigError(
                f"a key of {len(self.secret)} bytes: must have {KEY_BYTES}",
                hint="GroupKey.new() draws one; `rstream key new FILE` writes one to a file",
            )

    @classmethod
    def new(cls) -> GroupKey:
        """A random key."""
        return cls(secrets.token_bytes(KEY_BYTES))

    @classmethod
    def from_hex(cls, text: str) -> GroupKey:
        """The key of 64 hex digits.

        Raises:
            ConfigError: the text is something else; the error does not repeat it.
        """
        if _HEX.fullmatch(text.strip()) is None:
            raise ConfigError(f"not a key: must be {2 * KEY_BYTES} hex digits")
        return cls(bytes.fromhex(text.strip()))

    @property
    def id(self) -> str:
        """Eight hex digits that follow from the key (HKDF with SHA-256, RFC 5869)."""
        derived = hmac.digest(bytes(32), self.secret, "sha256")
        block = hmac.digest(derived, _ID_INFO + b"\x01", "sha256")
        return f"{int.from_bytes(block[:4], 'little'):08x}"

    @property
    def reference(self) -> str:
        """What stands in a channel for it: ``Channel.udp("host:40123", key=key.reference)``."""
        return remember(self)

    def __repr__(self) -> str:
        return f"<rstream.keys.GroupKey {self.id}>"


#: What ``key=`` takes.
KeyLike: TypeAlias = GroupKey | str | None


def read_file(path: str | os.PathLike[str]) -> list[GroupKey]:
    """The keys of a file, the one that seals first.

    Raises:
        ConfigError: it cannot be read, other users may read it, or a line is no key.

    Example::

        ids = [key.id for key in rstream.keys.read_file("/etc/rstream.key")]
    """
    try:
        with open(path, encoding="ascii", errors="replace", newline="\n", opener=_opener) as file:
            mode = os.fstat(file.fileno()).st_mode
            text = file.read(FILE_BYTES_MAX + 1) if stat.S_ISREG(mode) else ""
    except OSError as error:
        raise ConfigError(
            f"key file {path}: {error.strerror}", hint="`rstream key new FILE` writes one"
        ) from error
    if not stat.S_ISREG(mode):
        raise ConfigError(f"key file {path}: no regular file")
    if mode & (stat.S_IRWXO | stat.S_IWGRP):
        raise ConfigError(
            f"key file {path}: others may read or write it (mode {stat.S_IMODE(mode):04o})",
            hint=f"chmod 600 {path}",
        )
    lines = [line.rstrip(" \t\r") for line in text.split("\n")]
    lines = [line for line in lines if line and not line.startswith("#")]
    is_short = len(text) <= FILE_BYTES_MAX
    if not (is_short and 1 <= len(lines) <= KEYS_MAX and all(map(_HEX.fullmatch, lines))):
        raise ConfigError(
            f"key file {path}: must have one or two lines of {2 * KEY_BYTES} hex digits, and at "
            f"most {FILE_BYTES_MAX} bytes"
        )
    return [GroupKey.from_hex(line) for line in lines]


def _opener(path: str, flags: int) -> int:
    """Without waiting for who writes to a FIFO."""
    return os.open(path, flags | os.O_NONBLOCK)


def write_file(
    path: str | os.PathLike[str],
    keys: Sequence[GroupKey],
    *,
    second: Literal["next", "previous", ""] = "",
) -> None:
    """Write a file of keys with mode 0600; one that exists is replaced at once, as a whole. Of a
    link the file that it leads to.

    Args:
        path: the file; its folder exists.
        keys: one or two of them; the first one seals.
        second: what the second key is in a rotation, for :func:`rotated`.
    Raises:
        ConfigError: a wrong number of keys, or the file cannot be written.

    Example::

        rstream.keys.write_file("/etc/rstream.key", [rstream.keys.GroupKey.new()])
    """
    if not 1 <= len(keys) <= KEYS_MAX:
        raise ConfigError(f"{len(keys)} keys: a file has one or two")
    target = Path(os.path.realpath(path))
    try:
        handle, draft = tempfile.mkstemp(dir=target.parent, prefix=".rstream-key-")
        try:
            with os.fdopen(handle, "w", encoding="ascii") as file:
                file.write(f"{keys[0].secret.hex()}\n")
                if keys[1:]:
                    file.write(f"# {second}\n{keys[1].secret.hex()}\n")
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, target)
        except BaseException:
            Path(draft).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise ConfigError(f"key file {path}: {error.strerror}") from error


def rotated(
    path: str | os.PathLike[str],
) -> tuple[list[GroupKey], Literal["next", "previous", ""]]:
    """The keys that a file has after the next step of its rotation, and what the second one is.

    One key gets a next one, which opens; then the next one seals; then the previous one goes.

    Raises:
        ConfigError: as :func:`read_file`; or two keys stand in it, and it does not say which of
            them is the newer one.

    Example::

        keys, second = rstream.keys.rotated("/etc/rstream.key")
        rstream.keys.write_file("/etc/rstream.key", keys, second=second)
    """
    keys = read_file(path)
    if len(keys) == 1:
        return [*keys, GroupKey.new()], "next"
    lines = Path(path).read_text(encoding="ascii", errors="replace").splitlines()
    if "# next" in lines:
        return [keys[1], keys[0]], "previous"
    if "# previous" in lines:
        return keys[:1], ""
    raise ConfigError(
        f"key file {path}: has two keys, and does not say which one is newer",
        hint='write "# next" or "# previous" in the line before the second one',
    )


def remember(key: GroupKey) -> str:
    """The reference of a key for channels; this process hands the key to drivers from now on."""
    _check_built()
    return f"id:{_known.setdefault(key.id, key).id}"


def known_key(reference: str) -> GroupKey | None:
    """The key of an ``"id:..."``, if this process has it."""
    return _known.get(reference.removeprefix("id:"))


def learn(reference: str) -> None:
    """Remember the keys behind ``"file:PATH"`` or ``"env:NAME"``, for channels that name their ids.

    Raises:
        ConfigError: the file or variable cannot be read, or the reference is another one.

    Example::

        rstream.keys.learn("env:TICKS_KEY")  # a program outside Ray, before it opens a handle
    """
    kind, _, rest = reference.partition(":")
    if kind == "file" and rest:
        for key in read_file(Path(rest).expanduser()):
            remember(key)
    elif kind == "env" and rest:
        remember(_of_environment(rest))
    else:
        raise ConfigError("no reference to a key", hint="give 'file:PATH' or 'env:NAME'")


def reference(key: KeyLike) -> str | None:
    """The ``rs-key`` of a channel for what ``key=`` was given; None: the default.

    Raises:
        ConfigError: it is no key and no reference, or the environment has no such variable.
    """
    if key is None:
        return PLAIN
    if isinstance(key, GroupKey):
        return remember(key)
    if not isinstance(key, str):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
        raise ConfigError(f"key= takes no {type(key).__name__}", hint=_WHAT)
    kind, _, rest = key.partition(":")
    if _HEX.fullmatch(rest):
        raise ConfigError("key= is no reference to a key", hint=_WHAT)  # but the key itself
    if key == "default":
        return None
    if key == PLAIN:
        return PLAIN
    if kind == "file" and rest:
        _check_built()
        path = os.path.abspath(os.path.expanduser(rest))
        return f"file:{path}"
    if kind == "env" and rest:
        return remember(_of_environment(rest))
    if _ID.fullmatch(key):
        _check_built()
        return key
    raise ConfigError("key= is no reference to a key", hint=_WHAT)  # it may be the key itself


def default_reference() -> str | None:
    """``file:`` of the environment variable ``RSTREAM_KEY_FILE``; None: it is not set."""
    path = os.environ.get(ENVIRONMENT)
    return reference(f"file:{path}") if path else None


def named_in(channel: str) -> str:
    """The ``rs-key`` of a channel's URI; empty: it has none."""
    return channel.partition("rs-key=")[2].partition("|")[0]


def missing(channel: str) -> str:
    """The id of a channel's key that this process has not; empty: it has it, or needs none."""
    match = _ID.fullmatch(named_in(channel))
    if match is None or match[1] in _known or _of_default_file(match[1]) is not None:
        return ""
    return match[1]


def hand_over(channel: str, directory: str) -> None:
    """Give the driver of a directory the key of a channel with ``rs-key=id:...``.

    Raises:
        ConfigError: this process has not the key; that its driver may have it is not enough.
    """
    match = _ID.fullmatch(named_in(channel))
    if match is None:
        return
    key = _known.get(match[1]) or _of_default_file(match[1])
    if key is None:
        raise ConfigError(
            f"channel {channel}: this process has no key {match[1]}",
            hint="give the key that the other side has: key=GroupKey, key='file:...' or 'env:...', "
            f"or for a handle a file of keys by {ENVIRONMENT}; processes of one Ray namespace have "
            "one key, and others get it by rstream.ray.job_key",
        )
    path = Path(directory, "keys", f"{int(match[1], 16)}.key")
    if not path.exists():
        path.parent.mkdir(mode=0o700, exist_ok=True)
        write_file(path, [key])


def _of_default_file(key_id: str) -> GroupKey | None:
    """The key with this id in the file of ``$RSTREAM_KEY_FILE``. Raises ConfigError."""
    path = os.environ.get(ENVIRONMENT)
    if path:
        learn(f"file:{path}")
    return _known.get(key_id)


def is_built() -> bool:
    """Whether this rstream can seal: it was built with libcrypto (OpenSSL 3)."""
    return _core.build_config()["crypto"] != "none"


_WHAT: Final = (
    "give a rstream.keys.GroupKey, 'file:PATH', 'env:NAME', or None for plain datagrams; never the "
    "key's digits, because channels are printed"
)


def _check_built() -> None:
    if not is_built():
        raise ConfigError(
            "key=: this rstream was built without libcrypto",
            hint="install its headers (Debian: libssl-dev) and build anew, or take a wheel",
        )


def _of_environment(name: str) -> GroupKey:
    text = os.environ.get(name)
    if text is None:
        raise ConfigError(f"key='env:{name}': there is no such environment variable")
    try:
        return GroupKey.from_hex(text)
    except ConfigError as error:
        raise ConfigError(f"key='env:{name}': {error}") from None
