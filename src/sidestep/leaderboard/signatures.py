"""Ed25519 keys and signatures of packs (extra ``sign``). A signature proves who made a pack, not that its numbers are
correct."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sidestep._util.reading import parse_json, read_bytes, read_text
from sidestep._util.writing import write_whole
from sidestep.errors import BadInput

CONTEXT = b"sidestep pack 1\n"
"""Prefix of the signed data, so that a signature of a pack is valid for nothing else."""
KEY_BYTES = 1 << 14
KEYS_BYTES = 1 << 20
KEY_LENGTH = 32
HEX_KEY = re.compile(r"[0-9a-fA-F]{64}")
SPKI_ED25519 = bytes.fromhex("302a300506032b6570032100")
"""How the public keys in PEM files begin."""


@dataclass(frozen=True)
class Signature:
    """A valid signature, by its public key in hexadecimal digits."""

    public_key: str

    @property
    def fingerprint(self) -> str:
        """Short name of the key: the first 16 digits of its SHA-256."""
        return hashlib.sha256(bytes.fromhex(self.public_key)).hexdigest()[:16]


def make_key(path: Path) -> Signature:
    """Write a new private key to ``path`` (readable by its owner only) and the public key to ``path`` + ``.pub``."""
    crypto = _library()
    public_path = path.with_name(path.name + ".pub")
    for file in (path, public_path):
        if file.exists():
            raise BadInput(f"{file}: already exists; choose another name, as an overwritten key cannot be restored")
    key = crypto.Ed25519PrivateKey.generate()
    pem = key.private_bytes(crypto.Encoding.PEM, crypto.PrivateFormat.PKCS8, crypto.NoEncryption())
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            stream.write(pem)
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {error.strerror}; choose another path") from error
    public = key.public_key()
    write_whole(public_path, public.public_bytes(crypto.Encoding.PEM, crypto.PublicFormat.SubjectPublicKeyInfo))
    return Signature(public.public_bytes_raw().hex())


def sign(data: bytes, key: Path) -> dict[str, str]:
    """The document of ``signature.json`` for ``data``, signed with the private key in the file ``key``."""
    crypto = _library()
    try:
        private = crypto.load_pem_private_key(read_bytes(key, "private key", KEY_BYTES), password=None)
    except BadInput:
        raise
    except Exception:  # OpenSSL has a dozen ways to say it
        private = None
    if not isinstance(private, crypto.Ed25519PrivateKey):
        raise BadInput(f"{key}: not an unencrypted Ed25519 private key; make one with `sidestep pack keygen FILE`")
    return {
        "algorithm": "ed25519",
        "public_key": private.public_key().public_bytes_raw().hex(),
        "signature": private.sign(CONTEXT + data).hex(),
    }


def check_signature(data: bytes, text: bytes, where: str) -> Signature:
    """Check the signature of ``data`` in ``text`` (``signature.json``); raises ``BadInput`` unless it is valid."""
    document = parse_json(text, where)
    crypto = _library()
    try:
        if document["algorithm"] != "ed25519":
            raise BadInput(f"{where}: unknown algorithm {document['algorithm']!r:.40}; packs are signed with ed25519")
        public = crypto.Ed25519PublicKey.from_public_bytes(bytes.fromhex(document["public_key"]))
        public.verify(bytes.fromhex(document["signature"]), CONTEXT + data)
    except (LookupError, TypeError, ValueError):
        raise BadInput(f"{where}: not a signature of a pack; ask for the pack again") from None
    except crypto.InvalidSignature:
        raise BadInput(
            f"{where}: the signature does not match: the pack was changed after it was signed; ask for the pack again"
        ) from None
    return Signature(document["public_key"].lower())


def read_public_key(path: Path) -> str:
    """The public key of a ``.pub`` file in hexadecimal digits."""
    crypto = _library()
    try:
        key = crypto.load_pem_public_key(read_bytes(path, "public key", KEY_BYTES))
    except BadInput:
        raise
    except Exception:  # OpenSSL has a dozen ways to say it
        key = None
    if not isinstance(key, crypto.Ed25519PublicKey):
        raise BadInput(f"{path}: not an Ed25519 public key; `sidestep pack keygen FILE` writes it to FILE.pub")
    return str(key.public_bytes_raw().hex())


def read_keys(path: Path) -> dict[str, str]:
    """Public key in hexadecimal digits → name, of a list of keys: a line ``KEY NAME`` for each, with comments after
    ``#``. A key is 64 hexadecimal digits, or base64 of the 32 bytes or of the line in a ``.pub`` file."""
    found: dict[str, str] = {}
    for number, line in enumerate(read_text(path, "list of keys", KEYS_BYTES).splitlines(), start=1):
        key, _, name = line.partition("#")[0].strip().partition(" ")
        if not key:
            continue
        where = f"{path}: line {number}"
        public = _public_key_of(key)
        if public is None or not name.strip():
            raise BadInput(f"{where}: not `KEY NAME`, with 64 hexadecimal digits or base64 of an Ed25519 public key")
        if public in found:
            raise BadInput(f"{where}: the key of {found[public]!r:.80} again; give every key once")
        found[public] = name.strip()
    if not found:
        raise BadInput(f"{path}: no keys in it; write a line `KEY NAME` for each key that is allowed")
    return found


def _public_key_of(text: str) -> str | None:
    if HEX_KEY.fullmatch(text):
        return text.lower()
    try:
        data = base64.b64decode(text, validate=True).removeprefix(SPKI_ED25519)
    except ValueError:
        return None
    return data.hex() if len(data) == KEY_LENGTH else None


class _Library:
    """The parts of ``cryptography`` that are used."""

    def __init__(self) -> None:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519

        self.InvalidSignature = InvalidSignature
        self.Ed25519PrivateKey, self.Ed25519PublicKey = ed25519.Ed25519PrivateKey, ed25519.Ed25519PublicKey
        self.load_pem_private_key = serialization.load_pem_private_key
        self.load_pem_public_key = serialization.load_pem_public_key
        self.Encoding, self.PrivateFormat = serialization.Encoding, serialization.PrivateFormat
        self.PublicFormat, self.NoEncryption = serialization.PublicFormat, serialization.NoEncryption


def _library() -> Any:
    try:
        return _Library()
    except ImportError:
        raise BadInput("signatures need the extra `sign`: pip install 'sidestep[sign]'") from None
