"""Damage to binary files that keeps what would hide the rest: lengths, checksums, compressed members."""

from __future__ import annotations

import base64
import io
import json
import pickle
import random
import struct
import zipfile
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from tests.fuzz.damage import damage
from tests.fuzz.trees import VALUES, Damage


def glb_damage(inner: Damage) -> Damage:
    """Damage to the description of a binary glTF file, its length put right; sometimes to the whole file."""

    def apply(seed: int, content: bytes) -> bytes:
        if seed % 4 == 0:
            return damage(seed, content)
        length = int.from_bytes(content[12:16], "little")
        text, rest = inner(seed, content[20 : 20 + length].rstrip(b" ")), content[20 + length :]
        head = struct.pack("<4sIIII", b"glTF", 2, 20 + len(text) + len(rest), len(text), 0x4E4F534A)
        return head + text + rest

    return apply


def header_damage(seed: int, content: bytes) -> bytes:
    """Damage to the first kilobytes in half of the cases, else anywhere."""
    if seed % 2:
        return damage(seed, content)
    return damage(seed, content[:4096]) + content[4096:]


@lru_cache(maxsize=4)
def _members(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zip_damage(inner: Damage) -> Damage:
    """Damage to a member of an archive: its head of 200 bytes, all of it, or its name; else to the bytes."""

    def apply(seed: int, content: bytes) -> bytes:
        if seed % 5 == 0:
            return damage(seed, content)
        draw = random.Random(seed)
        members = dict(_members(content))
        name = draw.choice(list(members))
        data = members[name]
        if draw.random() < 0.1:
            members[draw.choice(("", "../x", "/x", name.upper(), name + "2"))] = members.pop(name)
        elif data.startswith(b"{"):
            members[name] = inner(seed, data)
        else:
            members[name] = damage(seed, data[:200]) + data[200:]
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            for member, content in members.items():
                archive.writestr(member or "x", content)
        return packed.getvalue()

    return apply


def record_damage(inner: Damage) -> Damage:
    """Damage to the texts of a record's metadata, or to a column, with the right checksum: only the digest differs."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from sidestep.records.write import seal

    @lru_cache(maxsize=4)
    def table_of(content: bytes) -> Any:
        table = pq.read_table(io.BytesIO(content))
        return table.replace_schema_metadata(
            {key: text for key, text in table.schema.metadata.items() if key != b"sidestep.checksum"}
        )

    def apply(seed: int, content: bytes) -> bytes:
        table = table_of(content)
        draw = random.Random(seed)
        about = dict(table.schema.metadata)
        if draw.random() < 0.75:
            key = draw.choice([key for key in about if key.startswith(b"sidestep.")])
            about[key] = (inner if about[key][:1] in b"{[" else damage)(seed, about[key])
        else:
            column = draw.randrange(table.num_columns)
            other = draw.randrange(table.num_columns)
            name = table.column_names[column]
            action = draw.random()
            if action < 0.3:
                table = table.remove_column(column)
            elif action < 0.6:
                table = table.set_column(column, name, table.column(other))
            elif action < 0.8:
                table = table.set_column(column, name, pa.nulls(len(table), table.column(column).type))
            else:
                table = table.slice(draw.randrange(len(table)), draw.randrange(3))
        return bytes(seal(table.replace_schema_metadata(about)))

    return apply


def hdf5_damage(*, sealed: bool) -> Damage:
    """A field of an HDF5 file with other values, another type, shape or none; ``sealed``: with the right checksum."""
    import h5py

    from sidestep.prediction.data.store import seal

    @lru_cache(maxsize=4)
    def names_of(content: bytes) -> list[str]:
        found: list[str] = []
        with h5py.File(io.BytesIO(content), "r") as file:
            file.visit(found.append)
        return found

    def apply(seed: int, content: bytes) -> bytes:
        draw = random.Random(seed)
        buffer = io.BytesIO(content)
        with h5py.File(buffer, "r+") as file:
            for _ in range(draw.choice((1, 1, 2))):
                _change_field(file, draw.choice(names_of(content)), draw)
        changed = buffer.getvalue()
        if not sealed:
            return changed
        path = _scratch() / "sealed.h5"
        path.write_bytes(changed)
        seal(path)
        return path.read_bytes()

    return apply


@cache
def _scratch() -> Path:
    import tempfile

    return Path(tempfile.mkdtemp(prefix="sidestep-fuzz-"))


def _change_field(file: Any, name: str, draw: random.Random) -> None:
    if name not in file:
        return
    action, item = draw.random(), file[name]
    if action < 0.15:
        del file[name]
    elif action < 0.3 and len(item.attrs):
        _change_attribute(item, draw)
    elif action < 0.4:
        _change_attribute(file, draw)
    elif not hasattr(item, "dtype") or action < 0.6:
        del file[name]
        shape = draw.choice(((), (0,), (3,), (2, 2), (1, 88, 200, 3), (10**9,), (10**5, 10**5), (2**40,)))
        kind = draw.choice(("f8", "i8", "u1", "S4", "f4", "?", "c16"))
        file.create_dataset(
            name, shape, kind, chunks=True if 0 not in shape and shape and draw.random() < 0.5 else None
        )
    elif item.shape and 0 < item.size < 10**6 and item.dtype.kind in "fiu":
        values = np.array(item[...])
        limits = (0, 1) if item.dtype.kind == "u" else (-1, 2**31 - 1, -(2**31))
        odd = draw.choice((np.nan, np.inf, -np.inf, 1e308, -1.0)) if item.dtype.kind == "f" else draw.choice(limits)
        with np.errstate(all="ignore"):
            values.flat[draw.randrange(values.size)] = np.asarray(odd).astype(item.dtype)
        item[...] = values


def _change_attribute(item: Any, draw: random.Random) -> None:
    names = list(item.attrs)
    if names:
        name = draw.choice(names)
        value = draw.choice((*(each for each in VALUES if isinstance(each, float | bool)), "x", -1, 2**40, [1.0, 2.0]))
        item.attrs[name] = value


def lerobot_episodes(folder: Path) -> bytes:
    """The table of episodes of a LeRobot dataset."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    video = "videos/observation.images.front"
    names = (
        "episode_index", "dataset_from_index", "dataset_to_index", "data/chunk_index", "data/file_index",
        f"{video}/chunk_index", f"{video}/file_index", f"{video}/from_timestamp",
    )  # fmt: skip
    rows = [(0, 0, 7, 0, 0, 0, 0, 0.0), (1, 7, 9, 0, 0, 0, 0, 0.7)]
    pq.write_table(pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows]), folder / "e.parquet")
    return (folder / "e.parquet").read_bytes()


def onnx_damage(inner: Damage) -> Damage:
    """Damage to the description in an ONNX network's metadata, else to the bytes of the network."""
    import onnx

    def apply(seed: int, content: bytes) -> bytes:
        if seed % 3 == 0:
            return damage(seed, content)
        model = onnx.ModelProto.FromString(content)
        entry = model.metadata_props[0]
        changed = inner(seed, entry.value.encode()).decode("utf-8", "replace")
        entry.value = changed
        return bytes(model.SerializeToString())

    return apply


def saved_model(folder: Path) -> bytes:
    """An archive as Stable-Baselines3 saves it, with one pickle and weights of a tiny network."""
    import torch
    from gymnasium.spaces import Box

    def packed(value: Any) -> dict[str, str]:
        return {":type:": "x", ":serialized:": base64.b64encode(pickle.dumps(value)).decode()}

    box = Box(-1.0, 1.0, (2,), np.float32)
    data = {
        "policy_class": {":type:": "x", ":serialized:": base64.b64encode(b"c_x\ny\n.").decode()},
        "observation_space": packed(box), "action_space": packed(box), "policy_kwargs": {"net_arch": [2]},
        "use_sde": False,
    }  # fmt: skip
    weights, archive = io.BytesIO(), io.BytesIO()
    torch.save({"a": torch.zeros(2)}, weights)
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("data", json.dumps(data))
        file.writestr("policy.pth", weights.getvalue())
    return archive.getvalue()
