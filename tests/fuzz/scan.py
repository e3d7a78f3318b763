"""Every place in the source that reads a file or parses what comes from outside."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import sidestep

SOURCE = Path(sidestep.__file__).parent
READING = SOURCE / "_util/reading.py"
METHODS = frozenset({
    "read_text", "read_bytes", "loadtxt", "genfromtxt", "fromfile", "unpackb", "InferenceSession", "SeekingReader",
    "ParseFromString", "FromString", "Unpickler", "parse_qsl", "read_feather", "ipc.open_file", "memmap",
})  # fmt: skip
"""Names that read, whatever they are called on."""
QUALIFIED = frozenset({
    "h5py.File", "h5f.open", "pq.ParquetFile", "parquet.ParquetFile", "pq.read_table", "parquet.read_table",
    "zipfile.ZipFile", "ZipFile", "tarfile.open", "np.load", "torch.load", "json.load", "json.loads", "pickle.load",
    "pickle.loads", "av.open", "Image.open", "os.open", "io.open", "csv.reader", "csv.DictReader", "sqlite3.connect",
    "jit.load", "read_schema", "read_metadata", "urlopen", "requests.get", "httpx.get", "ET.parse", "fromstring",
    "yaml.load", "yaml.load_all", "yaml.safe_load",
    "trimesh.load", "load_scene", "load_mesh", "onnx.load", "make_reader", "shutil.unpack_archive",
})  # fmt: skip
"""Names that read, with what they are called on."""


def shared_readers() -> frozenset[str]:
    """The functions of ``_util/reading.py`` that take a file or a text."""
    tree = ast.parse(READING.read_text(encoding="utf-8"))
    names = (node.name for node in tree.body if isinstance(node, ast.FunctionDef))
    return frozenset(name for name in names if name.startswith(("read_", "parse_")))


def reading_functions(source: Path = SOURCE) -> dict[str, list[str]]:
    """``file.py:function`` → what it calls that reads, for every function that does; methods have their class."""
    names = METHODS | shared_readers()
    found: dict[str, list[str]] = {}
    for path in sorted(source.rglob("*.py")):
        if path == READING:
            continue
        for owner, call in _calls(ast.parse(path.read_text(encoding="utf-8")), ""):
            called = ast.unparse(call.func)
            if _reads(call, called, names):
                found.setdefault(f"{path.relative_to(source).as_posix()}:{owner or 'module'}", []).append(called)
    return found


def _calls(node: ast.AST, owner: str) -> Iterator[tuple[str, ast.Call]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call):
            yield owner, child
        is_named = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        yield from _calls(child, f"{owner}.{child.name}".lstrip(".") if is_named else owner)


def _reads(call: ast.Call, called: str, names: frozenset[str]) -> bool:
    last = called.rpartition(".")[2]
    if last in names or any(called == each or called.endswith(f".{each}") for each in QUALIFIED):
        return not _writes(call)
    return last == "open" and not _writes(call)


def _writes(call: ast.Call) -> bool:
    """Whether a mode among the arguments is for writing only."""
    modes = [each for each in (*call.args, *(key.value for key in call.keywords)) if isinstance(each, ast.Constant)]
    return any(isinstance(each.value, str) and each.value in ("w", "wb", "x", "xb", "a", "ab") for each in modes)


if __name__ == "__main__":
    for name, calls in reading_functions().items():
        print(f"{name:70} {' '.join(calls)}")
