"""The ledger of a run: the digest of every record, written by the process that drives the run when the episode is
scored. A record that is changed later, such as by a policy that can write to the run folder, is not the one in the
ledger: it is run again on resume, and not counted by ``score`` and ``pack``.

``ledger.jsonl`` has one line per scored episode. Every line has the SHA-256 of the line before and of its own content,
so lines cannot be changed, left out or put in between without a change of every later line.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path

from sidestep._util.reading import parse_json, read_bytes
from sidestep._util.writing import CannotWrite
from sidestep.errors import BadInput

LEDGER_FILE = "ledger.jsonl"
MOST_BYTES = 1 << 30
START = hashlib.sha256(b"sidestep ledger 1").hexdigest()
"""What the first line is chained to."""
NOT_IN_LEDGER = "is not the record that the run has scored ({file}: {why})"


def chained(before: str, episode: str, digest: str) -> str:
    """The hash of a line."""
    return hashlib.sha256(f"{before}\n{episode}\n{digest}".encode()).hexdigest()


@dataclass
class Ledger:
    """Which record was scored for each episode; the last line of an episode counts."""

    path: Path
    digests: dict[str, str] = field(default_factory=dict)
    """Path of a record below the run folder → its digest."""
    head: str = START

    @classmethod
    def load(cls, folder: Path, mend: bool = False) -> Ledger:
        """The ledger in a run folder, empty if there is none. A last line that a kill has cut off counts for nothing,
        and ``mend`` removes it, for the process that drives the run; any other that does not fit is a ``BadInput``."""
        ledger = cls(folder / LEDGER_FILE)
        if not ledger.path.exists():
            return ledger
        *lines, rest = read_bytes(ledger.path, "ledger", MOST_BYTES).split(b"\n")
        for number, line in enumerate(lines, start=1):
            ledger._take(line, f"{ledger.path}, line {number}")
        if rest and mend:
            ledger._cut(len(rest))
        return ledger

    def _take(self, line: bytes, place: str) -> None:
        try:
            entry = parse_json(line.decode(), place)
            episode, digest, found = str(entry["episode"]), str(entry["digest"]), entry["chain"]
            expected = chained(self.head, episode, digest)
        except (UnicodeError, KeyError, TypeError) as error:
            raise BadInput(f"{place}: not a line of a ledger ({type(error).__name__})") from None
        if found != expected:
            raise BadInput(
                f"{place}: does not follow from the line before: somebody has changed the ledger, so nobody can say "
                "which records are those of the run; run it again with another --out"
            )
        self.head, self.digests[episode] = found, digest

    def _cut(self, size: int) -> None:
        """Remove an incomplete last line."""
        try:
            with self.path.open("r+b") as file:
                file.truncate(self.path.stat().st_size - size)
        except OSError as error:
            raise CannotWrite(self.path, error) from error

    def differs(self, path: Path, digest: str) -> str:
        """Why a record is not the one that the run has scored; empty if it is."""
        known = self.digests.get(self.name(path))
        if known == digest:
            return ""
        why = "it has no line there" if known is None else f"the one there has the digest {known[:12]}…"
        return NOT_IN_LEDGER.format(file=LEDGER_FILE, why=why)

    def name(self, path: Path) -> str:
        """The path of a record below the run folder."""
        return path.relative_to(self.path.parent).as_posix()

    def add(self, path: Path, digest: str) -> None:
        """Write a line for a record, unless its last line says the same."""
        episode = self.name(path)
        if self.digests.get(episode) == digest:
            return
        head = chained(self.head, episode, digest)
        line = json.dumps({"episode": episode, "digest": digest, "chain": head}, ensure_ascii=False) + "\n"
        try:
            with self.path.open("ab") as file:
                file.write(line.encode())
        except OSError as error:
            raise CannotWrite(self.path, error) from error
        self.head, self.digests[episode] = head, digest
