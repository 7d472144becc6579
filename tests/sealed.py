"""Sealed datagrams made and opened with the package ``cryptography``, not with our own code.

The layout is that of decision 109 and of ``transport_ext/seal/sealed.h``, written here once more,
so that a test also notices when both ends of rstream change it together.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

AES_128_GCM, CHACHA20_POLY1305 = 1, 2
KINDS = (AES_128_GCM, CHACHA20_POLY1305)
TYPE = 0x5352
SALT, HEADER, SHOWN, TAG = 12, 32, 24, 16
OVERHEAD = HEADER + TAG
REFUSAL = 32
_HEAD = struct.Struct("<iBBhI12sQ")


def derive(secret: bytes, salt: bytes | None, info: bytes, length: int) -> bytes:
    return HKDF(algorithm=SHA256(), length=length, salt=salt, info=info).derive(secret)


def key_id(secret: bytes) -> int:
    """The id of a group's key, as it stands in each datagram."""
    return int.from_bytes(derive(secret, None, b"rstream key id", 4), "little")


def _aead(secret: bytes, salt: bytes, kind: int) -> AESGCM | ChaCha20Poly1305:
    info = b"rstream datagram 1" + bytes([kind])
    if kind == AES_128_GCM:
        return AESGCM(derive(secret, salt, info, 16))
    return ChaCha20Poly1305(derive(secret, salt, info, 32))


def is_sealed(datagram: bytes) -> bool:
    return len(datagram) > REFUSAL and datagram[6:8] == struct.pack("<h", TYPE)


def is_refusal(datagram: bytes) -> bool:
    return len(datagram) == REFUSAL and datagram[6:8] == struct.pack("<h", TYPE)


def key_id_in(datagram: bytes) -> int:
    """Of a sealed datagram, or of a refusal: the key that is asked for."""
    return int(struct.unpack_from("<I", datagram, 8)[0])


@dataclass
class Sealer:
    """What one socket sends: a salt of its own, and a counter."""

    secret: bytes
    kind: int = AES_128_GCM
    salt: bytes = field(default_factory=lambda: os.urandom(SALT))
    counter: int = 0

    def seal(self, frame: bytes) -> bytes:
        known = self.header(len(frame)) + frame[:SHOWN]
        aead = _aead(self.secret, self.salt, self.kind)
        nonce = struct.pack("<IQ", 0, self.counter)
        self.counter += 1
        return known + aead.encrypt(nonce, frame[SHOWN:], known)

    def forge(self, frame: bytes) -> bytes:
        """The same with the tag of chance: what a host without the key can make."""
        known = self.header(len(frame)) + frame[:SHOWN]
        self.counter += 1
        return known + frame[SHOWN:] + os.urandom(TAG)

    def header(self, length: int) -> bytes:
        return _HEAD.pack(
            length + OVERHEAD, 0, self.kind, TYPE, key_id(self.secret), self.salt, self.counter
        )


@dataclass(frozen=True)
class Opened:
    """A sealed datagram."""

    kind: int
    key_id: int
    salt: bytes
    counter: int
    frame: bytes


def open_datagram(secret: bytes, datagram: bytes) -> Opened:
    """Raises ValueError: it is not sealed with this key, or was altered."""
    length, version, kind, type_, id_, salt, counter = _HEAD.unpack_from(datagram)
    if (length, version, type_, id_) != (len(datagram), 0, TYPE, key_id(secret)):
        raise ValueError(f"not sealed with this key: {datagram[:HEADER].hex()}")
    known = datagram[: HEADER + SHOWN]
    nonce = struct.pack("<IQ", 0, counter)
    try:
        hidden = _aead(secret, salt, kind).decrypt(nonce, datagram[len(known) :], known)
    except InvalidTag:
        raise ValueError("altered or forged") from None
    return Opened(kind, id_, salt, counter, known[HEADER:] + hidden)
