"""Held-out seeds. The organisers draw them from a secret and publish a commitment: the SHA-256 of the secret with the
suite and the number of seeds. At the end they reveal the secret, and everybody can draw the same seeds."""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sidestep._util.reading import read_bytes, read_json
from sidestep._util.writing import write_whole
from sidestep.errors import BadInput

CONTEXT = "sidestep held-out seeds 1"
LEAST_BYTES = 16
"""Smallest length of a secret; a shorter one can be guessed."""
MOST_BYTES = 4096
MOST_SEEDS = 10_000
SEED_BITS = 48
SUITE = re.compile(r"[^\x00-\x1f\ud800-\udfff]{1,200}")
COMMITMENT = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class HeldOut:
    """A commitment to seeds of a suite. ``seeds`` and ``secret`` are empty until they are revealed."""

    suite: str
    count: int
    commitment: str
    seeds: tuple[int, ...] = ()
    secret: str = ""

    def as_json(self, revealed: bool = True) -> dict[str, Any]:
        """The entry of ``board.json`` and ``sidestep board seeds --json``; if not ``revealed``, only the public
        part."""
        public = {"suite": self.suite, "count": self.count, "commitment": self.commitment}
        return public | ({"seeds": list(self.seeds), "secret": self.secret} if revealed and self.seeds else {})


def draw_seeds(secret: bytes, suite: str, count: int) -> HeldOut:
    """Draw ``count`` consecutive seeds, whose start depends on the secret, and the commitment to them. ``sidestep run
    --seed S --repeat N`` runs them."""
    if not LEAST_BYTES <= len(secret) <= MOST_BYTES:
        raise BadInput(
            f"the secret has {len(secret)} bytes; it must have {LEAST_BYTES} to {MOST_BYTES}; "
            "name a new file to make one"
        )
    if not secret.isascii() or not secret.decode("ascii").isprintable():
        raise BadInput(
            "the secret must be printable ASCII text, so that it can be published; name a new file to make one"
        )
    if not 1 <= count <= MOST_SEEDS:
        raise BadInput(f"{count} seeds; draw 1 to {MOST_SEEDS:,}")
    start = int.from_bytes(_hash("start", suite, count, secret)[:8], "big") >> (64 - SEED_BITS)
    commitment = _hash("commitment", suite, count, secret).hex()
    seeds = tuple(range(start, start + count))
    return HeldOut(suite, count, commitment, seeds, secret.decode("ascii"))


def _hash(purpose: str, suite: str, count: int, secret: bytes) -> bytes:
    return hashlib.sha256(f"{CONTEXT}\n{purpose}\n{suite}\n{count}\n".encode() + secret).digest()


def read_secret(path: Path, make: bool = False) -> bytes:
    """Read the secret in a file, without surrounding white space; with ``make``, a missing file is created."""
    if make and not path.exists():
        write_whole(path, secrets.token_hex(32).encode() + b"\n")
        path.chmod(0o600)
    return read_bytes(path, "secret", MOST_BYTES).strip()


def read_commitment(path: Path, secret: bytes | None = None) -> HeldOut:
    """Read a commitment written by ``sidestep board seeds --out``; the matching ``secret`` reveals the seeds."""
    document = read_json(path, "commitment")
    suite, count, commitment = (
        document.get(key) if isinstance(document, dict) else None for key in ("suite", "count", "commitment")
    )
    if not (
        isinstance(suite, str)
        and SUITE.fullmatch(suite)
        and type(count) is int
        and 1 <= count <= MOST_SEEDS
        and isinstance(commitment, str)
        and COMMITMENT.fullmatch(commitment)
    ):
        raise BadInput(f"{path}: not a commitment to seeds; `sidestep board seeds --out {path}` writes one")
    if secret is not None and (found := draw_seeds(secret, suite, count)).commitment == commitment:
        return found
    return HeldOut(suite, count, commitment)
