"""Readers of forecasts, results, packs, held-out seeds, protocols and more, as functions, with valid inputs."""

from __future__ import annotations

import json
import shutil
from functools import cache
from pathlib import Path
from typing import Any

from tests.fuzz.target import Prepared, from_file

# forecasts


@cache
def _samples() -> Any:
    from sidestep.prediction.data import make_samples
    from tests.prediction.data.walkers import walkers

    return make_samples(walkers(2), every=10)


def forecast(path: Path) -> None:
    """A file of forecasts."""
    from sidestep.prediction.forecasts import read_forecast

    read_forecast(path, _samples())


def forecast_file(folder: Path) -> bytes:
    """Forecasts with covariances, by the predictor ``kalman``."""
    from sidestep.prediction.forecasts import forecast_samples, write_forecast
    from sidestep.prediction.predictors.kalman import Kalman

    write_forecast(folder / "seed.h5", _samples(), forecast_samples(Kalman(), _samples()))
    return (folder / "seed.h5").read_bytes()


def foreign_interactions(folder: Path) -> bytes:
    """Interactions without a checksum, as another program writes them."""
    import h5py

    from tests.fuzz.seeds import interactions

    (folder / "ours.h5").write_bytes(interactions(folder))
    with h5py.File(folder / "ours.h5") as file, h5py.File(folder / "theirs.h5", "w") as other:
        for name in file:
            file.copy(name, other)
        other.attrs.update(file.attrs)
    return (folder / "theirs.h5").read_bytes()


# runs and packs


LIST_OF_KEYS = f"# who may sign\n{'ab' * 32} one\n{'cd' * 32} two  # and why\n".encode()


def list_of_keys(path: Path) -> None:
    """A list of keys that packs may be signed with."""
    from sidestep.leaderboard.signatures import read_keys

    read_keys(path)


def ledger(path: Path) -> None:
    """A ledger of a run."""
    from sidestep.runs.ledger import Ledger

    Ledger.load(path.parent)


def ledger_file(folder: Path) -> bytes:
    """A ledger of three records."""
    from sidestep.runs.ledger import Ledger

    whole = Ledger(folder / "seed.jsonl")
    for number in range(3):
        whole.add(folder / "episodes" / f"{number}.parquet", f"{number:064x}")
    return whole.path.read_bytes()


def results(path: Path) -> None:
    """A table of results, and what a report asks of it."""
    from sidestep.metrics.observed import parse_observed
    from sidestep.runs.folder import load_results, open_results

    episodes, _ = load_results(path)
    parse_observed(each.observes for each in episodes)
    with open_results(path) as table:
        table.read()


def results_file(folder: Path) -> bytes:
    """The table of two episodes with all that a record has."""
    from sidestep.metrics.score import score_episode
    from sidestep.runs.folder import save_results
    from tests.records.example import example_record

    scored = score_episode(example_record())
    save_results([scored], folder / "seed.parquet", "paper")
    return (folder / "seed.parquet").read_bytes()


OWNER = b'{"pid": 7, "host": "here", "started": "2026-11-01T12:00:00+00:00"}'


def owner(path: Path) -> None:
    """What another process says of the run that it has under way."""
    from sidestep.runs.folder import _who_runs

    _who_runs(path.parent)


def pack(path: Path) -> None:
    """A pack, unpacked and opened as a run."""
    from sidestep.leaderboard.entries import _source_code
    from sidestep.leaderboard.unpack import is_pack, opened_runs, unpacked

    is_pack(path)
    with unpacked(path) as found:
        for reference in found.sources.values():
            _source_code(found.folder, reference)
    with opened_runs([path]) as (run,):
        len(run.episodes)


def pack_file(folder: Path) -> bytes:
    """A signed pack of one policy, with its source."""
    from sidestep.leaderboard.pack import write_pack
    from sidestep.leaderboard.signatures import make_key
    from tests.leaderboard.packing import make_run

    key = folder / "key"
    make_key(key)
    write_pack(make_run(folder, seeds=(0,), scenarios=1), folder / "seed.pack", key=key)
    content = (folder / "seed.pack").read_bytes()
    shutil.rmtree(folder / "run")
    return content


def signature(content: bytes) -> None:
    """The signature in a pack."""
    from sidestep.leaderboard.signatures import check_signature

    check_signature(b"sums", content, "signature.json")


def signature_seed(folder: Path) -> Prepared:
    """A valid one."""
    from sidestep.leaderboard.signatures import make_key, sign

    make_key(folder / "key")
    return Prepared((json.dumps(sign(b"sums", folder / "key")).encode(),), signature)


def keys(folder: Path, private: bool) -> Prepared:
    """A private or a public key in a file."""
    from sidestep.leaderboard.signatures import make_key, read_public_key, sign

    make_key(folder / "made")
    name = "made" if private else "made.pub"
    read = (lambda path: sign(b"x", path)) if private else read_public_key
    return from_file((folder / name).read_bytes(), name, read)(folder)


COMMITMENT = json.dumps({"suite": "core", "count": 20, "commitment": "ab" * 32}).encode()
SECRET = b"0123456789abcdef0123456789abcdef\n"


def commitment(path: Path) -> None:
    """A commitment to seeds, and a secret that may belong to it."""
    from sidestep.leaderboard.held_out import read_commitment

    read_commitment(path, SECRET.strip()).as_json()


def secret(path: Path) -> None:
    """The secret of held-out seeds."""
    from sidestep.leaderboard.held_out import draw_seeds, read_secret

    draw_seeds(read_secret(path), "core", 20)


# suites

PROTOCOL = b"""
protocol: my_lab
scene: {name: room, enclosed: true, regions: [{kind: walkable, polygon: [[0, 0], [30, 0], [30, 9], [0, 9]]}]}
questionnaire: asked.yaml
language: en
scenarios:
  frontal:
    title: {en: Frontal, de: Frontal}
    conduct: walk_on
    instruction: {en: Please walk along the path., de: Bitte gehen Sie.}
    expected: The robot yields early.
    person: {patience_s: 3}
    time_limit_s: 40
    locations:
      f1: {a: [[5.5, 5.5], [28.8, 5.5]], start_m: [1, 2], split: dev}
      f2: {a: [[5.5, 5.5], [28.8, 5.5]], b: [[9, 1], [9, 8]], meet: [9, 5.5], person: {speed: 1.2}}
"""


def protocol(path: Path) -> None:
    """A protocol as a suite, both ways round."""
    from sidestep.suites.files import choose_options, load_suite, scenario_documents

    suite = load_suite(path)
    for options in ({}, {"roles": "alternate", "language": "de", "split": "all"}):
        list(choose_options(suite, options).scenarios())
    list(scenario_documents(path.parent, []))


def protocol_file(path: Path) -> None:
    """A protocol by itself."""
    from sidestep.suites.protocol import load_protocol

    load_protocol(path).scenarios()


def driving_place(path: Path) -> None:
    """The intersection suite at a place of one's own."""
    from sidestep.suites.files import load_suite

    list(load_suite(path).scenarios())


# what else users hand over


def notes(path: Path) -> None:
    """What a model was trained with."""
    from sidestep.gym.training import read_notes

    read_notes(path)


NOTES = json.dumps({
    "format": "sidestep-model", "version": 1,
    "normalization": {"mean": {"": [0.0, 0.1]}, "variance": {"": [1.0, 2.0]}, "epsilon": 1e-8, "clip": 10.0},
}).encode()  # fmt: skip


def breakpoint_file(path: Path) -> None:
    """Where an evaluation goes on, and where it began."""
    from sidestep.cli.evaluate import _begin_of, _place_of

    _place_of(path.parent / "work", path)
    _begin_of(path.parent / "work")


def begin(path: Path) -> None:
    """Where an evaluation began."""
    from sidestep.cli.evaluate import _begin_of

    _begin_of(path.parent)


def password(path: Path) -> None:
    """The file of a password."""
    from sidestep.cli.study_admin import read_password

    read_password(path)


def groups(path: Path) -> None:
    """Who walks together, and the annotations beside it."""
    from sidestep.datasets.eth_ucy import read_groups

    read_groups(path)


def homography(path: Path) -> None:
    """What maps pixels to metres."""
    from sidestep.datasets.eth_ucy import _homography

    _homography(path, path, "matrix")


def detected(path: Path) -> None:
    """The format of a recording."""
    from sidestep.datasets import detect_format

    detect_format(path)


OLD_RECORD = (Path(__file__).parents[1] / "records/data/format_1.parquet").read_bytes()


def visual_network(path: Path) -> None:
    """The network of a policy that sees."""
    from sidestep.policies.visual.model_files import load_network

    load_network(str(path), "onnx", (), 1, "cpu")


PLY = (
    b"ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
    b"element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n3 0 0\n0 3 0.5\n3 0 1 2\n"
)


def scanned_mesh(path: Path) -> None:
    """A scanned place, by what its first bytes look like."""
    from sidestep.render.scene.scanned import load_environment

    kinds = {b"pl": ".ply", b"so": ".stl"}
    path = path.rename(path.with_suffix(kinds.get(path.read_bytes()[:2], ".obj")))
    load_environment(path)


def study_file(path: Path) -> None:
    """The definition of a study in a file."""
    from sidestep.studies.definition import read_study

    read_study(path)
