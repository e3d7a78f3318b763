"""Who may do what: passwords, signed cookies, forms that come from our own pages, and limits of rate and size."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from time import monotonic, time

from sidestep.errors import BadInput

SHORTEST_PASSWORD, LONGEST_PASSWORD = 8, 200
COST = {"n": 2**14, "r": 8, "p": 1}
"""Of scrypt: 16 MB and some 50 ms for every guess."""
COOKIE_S = 12 * 3600
"""After which an experimenter logs in again."""
MOST_CLIENTS = 10_000
"""Whose rates are remembered."""


class Refused(BadInput):
    """A request that is answered with a message and changes nothing."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def new_token() -> str:
    """A link that nobody can guess: 192 bits."""
    return secrets.token_urlsafe(24)


def hash_password(password: str) -> str:
    """Salt and scrypt hash of a password."""
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise Refused(400, f"a password has {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters")
    salt = secrets.token_bytes(16)
    return f"scrypt${salt.hex()}${_scrypt(password, salt).hex()}"


def is_password(password: str, stored: str) -> bool:
    """Whether ``stored`` was made from ``password``."""
    _, salt, expected = stored.split("$")
    return hmac.compare_digest(_scrypt(password[:LONGEST_PASSWORD], bytes.fromhex(salt)).hex(), expected)


def _scrypt(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode("utf-8", "replace"), salt=salt, dklen=32, **COST)


def sign(secret: bytes, purpose: str, until: float | None = None) -> str:
    """A text that only the holder of ``secret`` can make: the end of its validity and a signature."""
    end = int(time() + COOKIE_S if until is None else until)
    return f"{end}.{_signature(secret, purpose, end)}"


def is_signed(text: str, secret: bytes, purpose: str) -> bool:
    """Whether ``text`` was signed for ``purpose`` and is still valid."""
    end, _, signature = text.partition(".")
    if not (end.isascii() and end.isdigit() and len(end) < 12 and signature.isascii()):
        return False
    return hmac.compare_digest(signature, _signature(secret, purpose, int(end))) and int(end) > time()


def _signature(secret: bytes, purpose: str, end: int) -> str:
    return hmac.new(secret, f"{purpose}\n{end}".encode(), hashlib.sha256).hexdigest()


class RateLimit:
    """Token buckets: ``burst`` requests at once, then ``per_s`` a second, for every client on its own."""

    def __init__(self, burst: float, per_s: float, clock: Callable[[], float] = monotonic) -> None:
        self._burst, self._per_s, self._clock = burst, per_s, clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = Lock()

    def allows(self, client: str, cost: float = 1.0) -> bool:
        """Whether the client may go on; takes ``cost`` from its bucket if so."""
        with self._lock:
            at = self._clock()
            left, before = self._left.pop(client, (self._burst, at))
            left = min(self._burst, left + (at - before) * self._per_s)
            allowed = left >= cost
            self._left[client] = (left - cost if allowed else left, at)
            while len(self._left) > MOST_CLIENTS:
                self._left.popitem(last=False)
            return allowed

    def check(self, client: str, what: str, cost: float = 1.0) -> None:
        """``Refused`` (429) for a client that is too fast."""
        if not self.allows(client, cost):
            raise Refused(429, f"too many {what}; wait a minute and try again")
