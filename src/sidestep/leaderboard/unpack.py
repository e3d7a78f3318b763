"""Read a pack from an untrusted source. Nothing in it is executed, and members are unpacked only after their names,
sizes and kinds have been checked. Members are uncompressed, so together they are never larger than the file.

With ``opened_runs``, every command that accepts run folders also accepts packs.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import stat
import struct
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sidestep._util.reading import MOST_BYTES, is_file, parse_json
from sidestep.errors import BadInput
from sidestep.leaderboard.limits import MOST_EPISODES, MOST_PLAN_BYTES, check_plan, check_tables
from sidestep.leaderboard.pack import BLOCK, MEMBER, PACK_FILE, PACK_FORMAT, SIGNATURE_FILE, SUMS_FILE, sha256_of
from sidestep.leaderboard.signatures import Signature, check_signature
from sidestep.runs.finished import FinishedRun
from sidestep.runs.folder import RESULTS_FILE, RUN_FILE, safe_name

ZIP_BEGINS = b"PK\x03\x04"
MOST_DIRECTORY_BYTES = 1 << 26
"""Size of the list of members, some 600,000 of them: Python reads it whole, into ten times as much memory."""
MOST_MEMBERS = 2 * MOST_EPISODES + 10_000
"""A record and a counterfactual for each episode, tables and sources."""
MOST_RECORD_BYTES = 1 << 30
MOST_RESULTS_BYTES = 1 << 31
MOST_SUMS_BYTES = 1 << 28
REQUIRED = (RUN_FILE, PACK_FILE, RESULTS_FILE, SUMS_FILE)
SUM_LINE = re.compile(r"([0-9a-f]{64})  (.+)")
_ZIP_ERRORS = (
    zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, EOFError, ValueError, OverflowError, struct.error,
)  # fmt: skip
"""What ``zipfile`` raises on damaged archives."""


@dataclass(frozen=True)
class Pack:
    """An unpacked pack. ``folder`` is an ordinary run folder that exists until the pack is closed."""

    path: Path
    folder: Path
    sha256: str
    """Hash of the whole file."""
    about: dict[str, Any]
    """``pack.json``."""
    signature: Signature | None

    @property
    def sources(self) -> dict[str, str]:
        """Policy → reference of its source below ``folder``, ``sources/…/file.py:Class``."""
        found = self.about.get("sources")
        return found if isinstance(found, dict) else {}


def is_pack(path: Path) -> bool:
    """Whether a file begins like a zip archive."""
    if not is_file(path):
        return False
    try:
        with path.open("rb") as file:
            return file.read(len(ZIP_BEGINS)) == ZIP_BEGINS
    except OSError:
        return False


@contextmanager
def unpacked(path: Path) -> Iterator[Pack]:
    """Unpack into a temporary folder and check every hash and the signature; raises ``BadInput`` with the name of an
    invalid member."""
    if not is_file(path):
        raise BadInput(f"{path}: no such pack; make one with `sidestep pack RUN --out {path}`")
    name = safe_name(path.name.partition(".")[0] or "pack")
    with tempfile.TemporaryDirectory(prefix="sidestep-pack-") as temporary:
        folder = Path(temporary) / name
        try:
            _check_directory(path)
            with zipfile.ZipFile(path) as archive:
                members = _checked_members(archive, path)
                _check_space(members, folder.parent, path)
                sums = _unpack(archive, members, folder, path)
        except BadInput:
            raise
        except _ZIP_ERRORS as error:
            raise BadInput(f"{path}: not a pack, or damaged: {str(error)[:200]}; ask for the file again") from None
        check_tables(folder, check_plan(folder, path), path)
        signature = None
        if SIGNATURE_FILE in members:
            text = (folder / SIGNATURE_FILE).read_bytes()
            signature = check_signature(sums, text, f"{path}: {SIGNATURE_FILE}")
        yield Pack(path, folder, sha256_of(path), _about(folder, path), signature)


@contextmanager
def opened_runs(paths: Sequence[Path]) -> Iterator[list[FinishedRun]]:
    """The run in each path, which is a run folder or a pack. Unpacked folders are deleted on exit."""
    with ExitStack() as stack:
        yield [
            FinishedRun(stack.enter_context(unpacked(path)).folder if is_pack(path) else path, shown=path)
            for path in paths
        ]


END, LARGE_PLACE, LARGE_END = b"PK\x05\x06", b"PK\x06\x07", b"PK\x06\x06"
END_BYTES, PLACE_BYTES = 22, 20


def _check_directory(path: Path) -> None:
    """BadInput if the list of members is too long (ZIP specification, 4.3.14 to 4.3.16: the end of the central
    directory). ``zipfile`` refuses a file whose end is not found."""
    with path.open("rb") as file:
        start = max(0, path.stat().st_size - END_BYTES - 0xFFFF)
        file.seek(start)
        tail = file.read()
        at = tail.rfind(END)
        if at < 0 or len(tail) < at + END_BYTES:
            return
        (size,) = struct.unpack_from("<I", tail, at + 12)
        place = at - PLACE_BYTES
        if place >= 0 and tail.startswith(LARGE_PLACE, place):
            file.seek(min(struct.unpack_from("<Q", tail, place + 8)[0], path.stat().st_size))
            end = file.read(48)
            size = struct.unpack_from("<Q", end, 40)[0] if end.startswith(LARGE_END) and len(end) == 48 else size
    if size > MOST_DIRECTORY_BYTES:
        raise BadInput(f"{path}: a list of members of {size:,} bytes, at most {MOST_DIRECTORY_BYTES:,} are read")


def _checked_members(archive: zipfile.ZipFile, path: Path) -> dict[str, zipfile.ZipInfo]:
    """Members by name; raises ``BadInput`` unless the archive contains only valid members of a pack."""
    infos = archive.infolist()
    if len(infos) > MOST_MEMBERS:
        raise BadInput(f"{path}: has {len(infos):,} members; a pack has at most {MOST_MEMBERS:,}")
    found: dict[str, zipfile.ZipInfo] = {}
    folded: set[str] = set()
    for info in infos:
        where = f"{path}: member {info.filename!r:.200}"
        if MEMBER.fullmatch(info.filename) is None or info.filename != info.orig_filename:
            raise BadInput(f"{where}: not a file of a pack; make packs with `sidestep pack`")
        if info.filename.casefold() in folded:
            raise BadInput(f"{where}: is in the pack twice")
        if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
            raise BadInput(f"{where}: is compressed; members of packs are uncompressed")
        if info.flag_bits & 1:
            raise BadInput(f"{where}: is encrypted")
        if (kind := stat.S_IFMT(info.external_attr >> 16)) not in (0, stat.S_IFREG):
            raise BadInput(f"{where}: not a regular file (mode {kind:o})")
        if info.file_size > (most := _most_bytes(info.filename)):
            raise BadInput(f"{where}: {info.file_size:,} bytes; at most {most:,} are read")
        folded.add(info.filename.casefold())
        found[info.filename] = info
    for name in REQUIRED:
        if name not in found:
            raise BadInput(f"{path}: member {name!r} is missing: not a pack, or an incomplete one")
    if sum(info.file_size for info in infos) > path.stat().st_size:
        largest = max(infos, key=lambda info: info.file_size)
        raise BadInput(f"{path}: member {largest.filename!r}: members overlap: together they are larger than the file")
    return found


def _most_bytes(name: str) -> int:
    if name == SUMS_FILE:
        return MOST_SUMS_BYTES
    if name == RUN_FILE:
        return MOST_PLAN_BYTES
    if name.endswith(".parquet"):
        return MOST_RESULTS_BYTES if name.startswith("results") else MOST_RECORD_BYTES
    return MOST_BYTES


def _check_space(members: dict[str, zipfile.ZipInfo], folder: Path, path: Path) -> None:
    needed, free = sum(info.file_size for info in members.values()), shutil.disk_usage(folder).free
    if needed > free:
        raise BadInput(
            f"{path}: {needed / 1e9:.1f} GB to unpack, {free / 1e9:.1f} GB free in {folder}; set TMPDIR to a folder "
            "with more space"
        )


def _unpack(archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo], folder: Path, path: Path) -> bytes:
    """Write every member into ``folder`` and check its hash; returns the contents of ``SHA256SUMS``."""
    with archive.open(SUMS_FILE) as file:
        sums = file.read()
    stated = _parse_sums(sums, f"{path}: member {SUMS_FILE!r}")
    for name in sorted(stated.keys() - members.keys()):
        raise BadInput(f"{path}: member {name!r} is missing, but {SUMS_FILE} names it")
    for name in sorted(members.keys() - stated.keys() - {SUMS_FILE, SIGNATURE_FILE}):
        raise BadInput(f"{path}: member {name!r} is not in {SUMS_FILE}: it was added after the pack was made")
    for name in members:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        sha = hashlib.sha256()
        with archive.open(name) as source, target.open("xb") as file:
            while block := source.read(BLOCK):
                sha.update(block)
                file.write(block)
        if name in stated and sha.hexdigest() != stated[name]:
            raise BadInput(f"{path}: member {name!r} does not match its hash in {SUMS_FILE}: it was changed or damaged")
    return sums


def _parse_sums(data: bytes, where: str) -> dict[str, str]:
    try:
        lines = data.decode("ascii").splitlines()
    except UnicodeDecodeError:
        raise BadInput(f"{where}: not a list of hashes") from None
    found: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        match = SUM_LINE.fullmatch(line)
        if match is None or match.group(2) in found:
            raise BadInput(f"{where}: line {number} is not `<sha256>  <member>`, or repeats a member")
        found[match.group(2)] = match.group(1)
    return found


def _about(folder: Path, path: Path) -> dict[str, Any]:
    where = f"{path}: member {PACK_FILE!r}"
    document = parse_json((folder / PACK_FILE).read_bytes(), where)
    version = document.get("format") if isinstance(document, dict) else None
    if not isinstance(version, int) or version < 1:
        raise BadInput(f"{where}: not the description of a pack: its format is missing")
    if version > PACK_FORMAT:
        raise BadInput(
            f"{where}: written by a newer Sidestep (format {version}); upgrade with: pip install --upgrade sidestep"
        )
    return dict(document)
