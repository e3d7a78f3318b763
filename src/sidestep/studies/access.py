"""Access control: passwords, tokens of links and sessions, signed forms, and rate limits.

The database holds hashes only: of passwords (scrypt), links and sessions (SHA-256 of 192 random bits, which nobody can
guess from the hash). A person who reads the database, or a backup of it, can neither log in nor take part.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from time import monotonic, time

from sidestep.errors import BadInput

SHORTEST_PASSWORD, LONGEST_PASSWORD = 12, 200
LEAST_DIFFERENT = 6
"""Minimum number of different characters of a password."""
EASY = ("password", "passwort", "123456789", "qwertz", "qwerty", "letmein", "sidestep", "iloveyou", "welcome")
"""A password is none of these, also repeated or followed by digits."""
COST = (2**17, 8, 1)
"""N, r and p of scrypt, OWASP's minimum: 128 MB and some 0.4 s for every guess."""
OLD_COST = (2**14, 8, 1)
"""Cost of hashes that do not state theirs; they are replaced at the next login."""
SESSION_S = 12 * 3600
"""Seconds after which an experimenter has to log in again."""
MOST_CLIENTS = 10_000
"""Number of clients whose rates are remembered."""
_ONE_HASH = Lock()
"""One password is hashed at a time: many attempts to log in do not fill the memory."""


class Refused(BadInput):
    """A request that is answered with a message and changes nothing. ``text`` may hold fields in braces, which
    ``values`` fill; a page translates ``text``."""

    def __init__(self, status: int, text: str, **values: object) -> None:
        super().__init__(text.format(**values) if values else text)
        self.status, self.text, self.values = status, text, values

    def __reduce__(self) -> tuple[Callable[..., Refused], tuple[object, ...]]:
        return _refused, (self.status, self.text, self.values)  # it crosses from worker processes


def _refused(status: int, text: str, values: dict[str, object]) -> Refused:
    return Refused(status, text, **values)


def new_token() -> str:
    """A link or session that nobody can guess: 192 bits."""
    return secrets.token_urlsafe(24)


def hash_token(token: str) -> str:
    """The hash that the database keeps of a link or session."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def check_password(password: str) -> None:
    """``Refused`` for a password that is too short, too long or easily guessed."""
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise Refused(400, f"a password has {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters")
    if len(set(password)) < LEAST_DIFFERENT:
        raise Refused(400, f"a password has at least {LEAST_DIFFERENT} different characters")
    plain = password.lower().strip("0123456789!?.-_ ")
    if any(plain.replace(each, "") == "" for each in EASY):
        raise Refused(400, "this password is easily guessed; choose another one, such as four words")


def hash_password(password: str) -> str:
    """Cost, salt and scrypt hash of a password that obeys the rules."""
    check_password(password)
    salt = secrets.token_bytes(16)
    cost = "$".join(map(str, COST))
    return f"scrypt${cost}${salt.hex()}${_scrypt(password, salt, COST).hex()}"


def is_password(password: str, stored: str) -> bool:
    """Whether ``stored`` was made from ``password``."""
    _, *cost, salt, expected = stored.split("$")
    n, r, p = map(int, cost) if cost else OLD_COST
    return hmac.compare_digest(_scrypt(password[:LONGEST_PASSWORD], bytes.fromhex(salt), (n, r, p)).hex(), expected)


def is_old_hash(stored: str) -> bool:
    """Whether a hash was made at another cost than today's."""
    return not stored.startswith("scrypt$" + "$".join(map(str, COST)) + "$")


def _scrypt(password: str, salt: bytes, cost: tuple[int, int, int]) -> bytes:
    n, r, p = cost
    with _ONE_HASH:
        return hashlib.scrypt(
            password.encode("utf-8", "replace"), salt=salt, dklen=32, n=n, r=r, p=p, maxmem=160 * n * r
        )


def sign(secret: bytes, purpose: str, until: float | None = None) -> str:
    """A text that only the holder of ``secret`` can make: the end of its validity and a signature."""
    end = int(time() + SESSION_S if until is None else until)
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
