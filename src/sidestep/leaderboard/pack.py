"""A run in a single file that anybody can check: ``write_pack`` writes it, ``sidestep.leaderboard.unpack`` reads it.

A pack is a zip archive of uncompressed members: ``run.json`` (plan and circumstances), ``pack.json`` (environment and
sources), ``results*.parquet``, ``episodes/…`` (records), ``sources/…`` (code of policies), ``SHA256SUMS`` (the hash of
each of these, as ``sha256sum -c`` reads it) and, if it is signed, ``signature.json`` over ``SHA256SUMS``. The same run
in the same environment gives the same bytes, as members are sorted and have no times. A pack adds no paths and no names
of people or hosts; it keeps a policy's name from the run.
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from sidestep import registry
from sidestep._util.writing import whole_file
from sidestep.errors import BadInput
from sidestep.leaderboard.limits import refused_names
from sidestep.leaderboard.signatures import Signature, sign
from sidestep.records import load_record
from sidestep.records.counterfactuals import COUNTERFACTUALS, counterfactual_path
from sidestep.runs.folder import EPISODES, RESULTS_FILE, RUN_FILE, RunFile, load_run, safe_name
from sidestep.runs.ledger import LEDGER_FILE, Ledger
from sidestep.runs.plan import PolicyPlan
from sidestep.runs.provenance import PACKAGE, describe_machine, own_sources, policy_version
from sidestep.runs.runner import tasks_of

PACK_FORMAT = 1
PACK_FILE = "pack.json"
SUMS_FILE = "SHA256SUMS"
SIGNATURE_FILE = "signature.json"
SOURCES = "sources"
_PART = r"[A-Za-z0-9_][A-Za-z0-9._-]{0,149}"
MEMBER = re.compile(
    rf"run\.json|pack\.json|ledger\.jsonl|SHA256SUMS|signature\.json|results(?:\.[A-Za-z0-9_-]{{1,60}})?\.parquet"
    rf"|{EPISODES}/{_PART}/{_PART}\.parquet|{COUNTERFACTUALS}/{_PART}\.parquet|{SOURCES}/{_PART}(?:/{_PART}){{0,8}}\.py"
)
"""Valid names of members: no absolute paths, no parent folders, no hidden files."""
TIME = (1980, 1, 1, 0, 0, 0)
"""Time of all members: the earliest that a zip archive can store."""
BLOCK = 1 << 20


@dataclass(frozen=True)
class Packed:
    """Result of ``write_pack``. ``left_out`` has a sentence for each part of the run that the pack lacks."""

    path: Path
    sha256: str
    members: int
    episodes: int
    sources: tuple[str, ...] = ()
    """Policies whose source code is in the pack."""
    left_out: tuple[str, ...] = ()
    signature: Signature | None = None

    def as_json(self) -> dict[str, Any]:
        """The document of ``sidestep pack --json``."""
        return {
            "pack": str(self.path),
            "sha256": self.sha256,
            "bytes": self.path.stat().st_size,
            "members": self.members,
            "episodes": self.episodes,
            "sources": list(self.sources),
            "left_out": list(self.left_out),
            "signature": None if self.signature is None else self.signature.fingerprint,
        }


@dataclass
class _Archive:
    """A zip archive that is being written, with the hashes of its members so far."""

    zip: zipfile.ZipFile
    sums: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, blocks: Iterable[bytes], size: int) -> None:
        """Write one member of ``size`` bytes."""
        if MEMBER.fullmatch(name) is None:
            raise BadInput(f"{name!r:.200}: not a valid name of a member of a pack; rename that file")
        info = zipfile.ZipInfo(name, TIME)
        info.external_attr, info.create_system, info.file_size = 0o644 << 16, 3, size
        sha = hashlib.sha256()
        with self.zip.open(info, "w", force_zip64=size >= zipfile.ZIP64_LIMIT) as member:
            for block in blocks:
                sha.update(block)
                member.write(block)
        self.sums[name] = sha.hexdigest()


def write_pack(folder: Path, out: Path, *, source: bool = True, key: Path | None = None) -> Packed:
    """Pack the run in ``folder`` into the file ``out``. With ``source``, the pack includes the source code of policies
    that are not bundled and lie in one folder; with ``key``, the file of a private key, it is signed."""
    run = load_run(folder)
    if not (folder / RESULTS_FILE).is_file():
        raise BadInput(f"{folder}: no results; write them with `sidestep run` or `sidestep score {folder}`")
    records = {task.path.relative_to(folder).as_posix(): task.path for task in tasks_of(run.plan, folder)}
    files = {name: path for name, path in records.items() if path.is_file()}
    episodes = len(files)
    if not episodes:
        raise BadInput(f"{folder}: no episode records; run its episodes first")
    files |= {
        f"{COUNTERFACTUALS}/{path.name}": path for path in map(counterfactual_path, files.values()) if path.is_file()
    }
    files |= {path.name: path for path in folder.glob("results*.parquet")}
    if run.has_ledger:
        _check_ledger(folder, [path for path in records.values() if path.is_file()])
        files[LEDGER_FILE] = folder / LEDGER_FILE
    left_out = _missing(run, episodes)
    policies = []
    sources: dict[str, str] = {}
    for policy in run.plan.policies:
        found, entry, reason = _source_of(policy) if source else ({}, "", "")
        if entry:
            files |= found
            sources[policy.name] = entry
            policy = policy.model_copy(update={"reference": entry})
        elif not policy.is_bundled:
            left_out.append(f"policy {policy.name}: its source code is not in the pack" + (reason and f": {reason}"))
            policy = policy.model_copy(update={"reference": _without_folder(policy.reference)})
        if "/" in policy.name or "\\" in policy.name:
            left_out.append(
                f"policy {policy.name}: its name is a path, which the records contain; --policy LABEL=… hides it"
            )
        policies.append(policy)
    plan = run.plan.model_copy(update={"policies": tuple(policies), "base": _base_in_package(run)})
    texts = {RUN_FILE: _run_text(replace(run, plan=plan)), PACK_FILE: _about(run, sources)}
    left_out += [f"nobody can read this pack: {each}" for each in refused_names(json.loads(texts[RUN_FILE])["plan"])]
    with whole_file(out) as temporary:
        signature = _write(temporary, files, texts, key)
    sha256 = sha256_of(out)
    members = len(files) + len(texts) + 1 + (key is not None)
    return Packed(out, sha256, members, episodes, tuple(sources), tuple(left_out), signature)


def _check_ledger(folder: Path, records: Iterable[Path]) -> None:
    """``BadInput`` if a record is not the one that the run has scored."""
    ledger = Ledger.load(folder)
    for path in records:
        if why := ledger.differs(path, load_record(path).digest):
            raise BadInput(f"{path}: {why}; resume the run, which runs this episode again")


def sha256_of(path: Path) -> str:
    """SHA-256 of a file of any size."""
    sha = hashlib.sha256()
    for block in _blocks(path):
        sha.update(block)
    return sha.hexdigest()


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as stream:
        while block := stream.read(BLOCK):
            yield block


def _write(path: Path, files: dict[str, Path], texts: dict[str, bytes], key: Path | None) -> Signature | None:
    folded: dict[str, str] = {}
    for name in (*files, *texts):
        if (other := folded.setdefault(name.casefold(), name)) != name:
            raise BadInput(f"{name} and {other} differ only in upper and lower case; rename one of them")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        pack = _Archive(archive)
        for name in sorted({*files, *texts}):
            if name in texts:
                pack.add(name, [texts[name]], len(texts[name]))
            else:
                pack.add(name, _blocks(files[name]), files[name].stat().st_size)
        sums = sums_text(pack.sums)
        pack.add(SUMS_FILE, [sums], len(sums))
        if key is None:
            return None
        signed = sign(sums, key)
        text = _json(signed)
        pack.add(SIGNATURE_FILE, [text], len(text))
        return Signature(signed["public_key"])


def sums_text(sums: dict[str, str]) -> bytes:
    """``SHA256SUMS``: a line per member, sorted by name."""
    return "".join(f"{sums[name]}  {name}\n" for name in sorted(sums)).encode()


def _json(document: Any) -> bytes:
    return (json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()


def _missing(run: RunFile, episodes: int) -> list[str]:
    """Sentences about parts of the run that the pack lacks."""
    missing = []
    if episodes < run.plan.size:
        missing.append(f"the run has {episodes} of the {run.plan.size} episodes of its plan")
    files = [name for name in run.plan.files if not name.startswith("plug-in ")]
    if files and _base_in_package(run) is None:
        missing.append(
            f"files of scenarios are not in the pack ({', '.join(files[:3])}{', …' if len(files) > 3 else ''}), but "
            "are needed to re-run their episodes"
        )
    return missing


def _base_in_package(run: RunFile) -> Path | None:
    """The base folder of a bundled suite; None for any other folder, which exists only on this machine."""
    base = run.plan.base
    return base if base is not None and base.resolve().is_relative_to(PACKAGE) else None


def _run_text(run: RunFile) -> bytes:
    with tempfile.TemporaryDirectory(prefix="sidestep-pack-") as folder:
        run.save(Path(folder))
        return (Path(folder) / RUN_FILE).read_bytes()


def _source_of(policy: PolicyPlan) -> tuple[dict[str, Path], str, str]:
    """Members with the source code of a policy, its reference in the pack and, if there are none, the reason. The
    policy must be a Python file that imports its own modules from the same folder only."""
    file, _, name = policy.made_from.rpartition(":")
    if not registry.is_guest(policy.made_from) or not file.endswith(".py"):
        return {}, "", "it is not a Python file"
    start = Path(file).resolve()
    if not start.is_file():
        return {}, "", "its file no longer exists"
    if not policy.version.endswith(policy_version(policy.made_from)):
        return {}, "", "its file has changed since the run"
    own = own_sources(start)
    if any(not each.is_relative_to(start.parent) or each.suffix != ".py" for each in own):
        return {}, "", "it imports modules from other folders"
    inside = f"{SOURCES}/{safe_name(policy.name)}"
    members = {f"{inside}/{each.relative_to(start.parent).as_posix()}": each for each in own}
    if any(MEMBER.fullmatch(member) is None for member in members):
        return {}, "", "the names of its files contain special characters"
    return members, f"{inside}/{start.name}:{name}", ""


def _without_folder(reference: str) -> str:
    """``file.py:Class`` for ``folder/file.py:Class``; other references are unchanged."""
    file, colon, name = reference.rpartition(":")
    return f"{Path(file).name}{colon}{name}" if file.endswith(".py") else reference


def _about(run: RunFile, sources: dict[str, str]) -> bytes:
    now = describe_machine()["versions"]
    return _json(
        {
            "format": PACK_FORMAT,
            "package_version": run.package_version,
            "commit": run.commit,
            "machine": run.machine,
            "sources": sources,
            "environment": {
                "python": platform.python_version(),
                "implementation": platform.python_implementation(),
                "as_in_the_run": now == run.machine.get("versions", now),
                "distributions": list(installed_distributions()),
            },
        }
    )


def installed_distributions() -> list[dict[str, str | None]]:
    """Name, version and SHA-256 of ``RECORD`` (which lists the hash of every file) of each installed distribution,
    sorted: the environment in which the pack is written."""
    found: dict[str, dict[str, str | None]] = {}
    for each in distributions():
        name = (each.metadata["Name"] or "").lower()
        record = each.read_text("RECORD")
        digest = None if record is None else hashlib.sha256(record.encode()).hexdigest()
        found.setdefault(name, {"name": name, "version": each.version, "record_sha256": digest})
    return [found[name] for name in sorted(found)]
