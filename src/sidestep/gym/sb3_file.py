"""Files that Stable-Baselines3 saved, as policies: ``--policy sb3:FILE.zip``.

Such a file holds the weights of networks, and pickles of the classes and spaces that they belong to. A pickle can run
any code. Here only the few parts that acting needs are read, weights as ``weights_only`` and pickles by an unpickler
that knows nothing but the names in :data:`ALLOWED`: a file with anything else in these parts is refused, and nothing of
it has run. Models with classes of their own (a features extractor, say) can be read with ``trust=True``, which
unpickles everything: for files that you would also run as a program.
"""

from __future__ import annotations

import base64
import io
import json
import pickle
import zipfile
from importlib import import_module
from pathlib import Path
from typing import Any

from sidestep._util.reading import is_file
from sidestep.errors import BadInput, MissingExtra, describe_error
from sidestep.gym.policy import LearnedPolicy, as_policy
from sidestep.gym.training import ModelNotes, make_normalize, notes_beside, read_notes, read_notes_beside

MOST_DATA_BYTES = 50_000_000
MOST_WEIGHT_BYTES = 4_000_000_000
NEEDED = ("policy_class", "observation_space", "action_space", "policy_kwargs")

ALLOWED: dict[str, frozenset[str]] = {
    "builtins": frozenset({"set", "frozenset"}),
    "collections": frozenset({"OrderedDict"}),
    "numpy": frozenset({"dtype", "ndarray"}),
    "numpy.core.multiarray": frozenset({"_reconstruct", "scalar"}),
    "numpy._core.multiarray": frozenset({"_reconstruct", "scalar"}),
    "numpy.core.numeric": frozenset({"_frombuffer"}),
    "numpy._core.numeric": frozenset({"_frombuffer"}),
    "numpy.random._pickle": frozenset({"__generator_ctor", "__bit_generator_ctor", "__randomstate_ctor"}),
    "numpy.random._pcg64": frozenset({"PCG64"}),
    "numpy.random._mt19937": frozenset({"MT19937"}),
    "numpy.random.bit_generator": frozenset({"__pyx_unpickle_SeedSequence", "SeedSequence"}),
    "gymnasium.spaces.dict": frozenset({"Dict"}),
    "gymnasium.spaces.box": frozenset({"Box"}),
    "gymnasium.spaces.multi_binary": frozenset({"MultiBinary"}),
    "torch.optim.adam": frozenset({"Adam"}),
    "torch.optim.adamw": frozenset({"AdamW"}),
    "torch.optim.sgd": frozenset({"SGD"}),
    "torch.optim.rmsprop": frozenset({"RMSprop"}),
    "torch.nn.modules.activation": frozenset({"ReLU", "Tanh", "ELU", "SELU", "SiLU", "GELU", "LeakyReLU", "Mish"}),
    "stable_baselines3.common.sb2_compat.rmsprop_tf_like": frozenset({"RMSpropTFLike"}),
    "stable_baselines3.common.torch_layers": frozenset(
        {"CombinedExtractor", "FlattenExtractor", "NatureCNN", "MlpExtractor"}
    ),
    "stable_baselines3.common.policies": frozenset(
        {"ActorCriticPolicy", "ActorCriticCnnPolicy", "MultiInputActorCriticPolicy"}
    ),
    "stable_baselines3.sac.policies": frozenset({"SACPolicy", "MlpPolicy", "CnnPolicy", "MultiInputPolicy"}),
    "stable_baselines3.td3.policies": frozenset({"TD3Policy", "MlpPolicy", "CnnPolicy", "MultiInputPolicy"}),
}
"""Module → names that a file may refer to. None of them does anything but make an object of itself."""


def load_sb3(
    path: str,
    lidar: Any = None,
    grid: Any = None,
    camera: Any = None,
    trust: bool = False,
    normalize: str | None = None,
) -> LearnedPolicy:
    """The policy of a saved model. ``lidar``, ``grid`` and ``camera``: settings that its environment had, unless the
    notes beside the model say them; ``normalize``: a file of :func:`sidestep.gym.save_normalization`, unless the notes
    have the statistics."""
    file = Path(path)
    if not is_file(file):
        raise BadInput(f"{path}: no such file; a saved model is named sb3:FILE.zip")
    try:
        import torch
    except ImportError as error:
        raise MissingExtra("a model of Stable-Baselines3", "learn") from error
    torch.set_num_threads(1)  # one observation at a time: threads would only change the order of sums
    network = _read_trusted(file) if trust else _read(file)
    notes = read_notes_beside(file) or ModelNotes()
    training = notes.training
    if training is not None:
        lidar = training.lidar if lidar is None and training.lidar else lidar
        grid = training.grid if grid is None and training.grid else grid
    where = notes_beside(file) if normalize is None else Path(normalize)
    statistics = notes.normalization if normalize is None else read_notes(where).normalization
    if normalize is not None and statistics is None:
        raise BadInput(f"{where}: has no statistics; sidestep.gym.save_normalization writes them")
    policy = as_policy(network, lidar=lidar, grid=grid, camera=camera, name=file.stem)
    policy.training = training
    if statistics is not None:
        shapes = {name: space.shape for name, space in network.observation_space.spaces.items()}
        policy.normalize = make_normalize(statistics, shapes, str(where))
    return policy


def _read_trusted(file: Path) -> Any:
    """The policy's network as Stable-Baselines3 reads it, which runs what the file says."""
    from stable_baselines3.common.save_util import load_from_zip_file

    data, weights, _ = load_from_zip_file(file, device="cpu")
    if data is None or "policy" not in weights:
        raise BadInput(f"{file}: holds no model of Stable-Baselines3")
    return _make_network({name: data.get(name) for name in (*NEEDED, "use_sde")}, weights["policy"], file)


def _read(file: Path) -> Any:
    import torch

    try:
        with zipfile.ZipFile(file) as archive:
            data = json.loads(_member(archive, "data", MOST_DATA_BYTES, file))
            packed = io.BytesIO(_member(archive, "policy.pth", MOST_WEIGHT_BYTES, file))
    except BadInput:
        raise
    except Exception as error:  # damaged archives raise a dozen kinds
        raise BadInput(f"{file}: not a Stable-Baselines3 file: {describe_error(error):.200}") from None
    if not isinstance(data, dict):
        raise BadInput(f"{file}: not a Stable-Baselines3 file")
    parts = {name: _unpacked(data.get(name), name, file) for name in NEEDED}
    try:
        weights = torch.load(packed, map_location="cpu", weights_only=True)
    except Exception as error:
        raise BadInput(f"{file}: its weights cannot be read: {describe_error(error)}") from None
    return _make_network({**parts, "use_sde": data.get("use_sde") is True}, weights, file)


def _member(archive: zipfile.ZipFile, name: str, most: int, file: Path) -> bytes:
    try:
        size = archive.getinfo(name).file_size
    except KeyError:
        raise BadInput(f"{file}: not a Stable-Baselines3 file: it has no {name!r}") from None
    if size > most:
        raise BadInput(f"{file}: {name} has {size:,} bytes; at most {most:,} are read")
    return archive.read(name)


def _unpacked(value: Any, name: str, file: Path) -> Any:
    """One entry of the file's data: JSON, or a pickle in it."""
    if not isinstance(value, dict) or ":serialized:" not in value:
        return value
    try:
        return _Unpickler(io.BytesIO(base64.b64decode(value[":serialized:"]))).load()
    except _Refused as error:
        raise BadInput(
            f"{file}: {name} refers to {error}, which is none of the classes that are read from such files; "
            "if you trust the file as you would trust a program, set trust=true"
        ) from None
    except Exception as error:
        raise BadInput(f"{file}: {name} cannot be read: {describe_error(error)}") from None


class _Refused(Exception):
    """The name of something that is not allowed."""


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """Only what the table has, and nothing by a path of attributes."""
        if name not in ALLOWED.get(module, ()):
            raise _Refused(f"{module}.{name}"[:200])
        return vars(import_module(module))[name]


def _make_network(parts: dict[str, Any], weights: Any, file: Path) -> Any:
    """The network of the policy with its weights."""
    settings = dict(parts["policy_kwargs"] or {})
    if parts["use_sde"]:
        settings.setdefault("use_sde", True)
    try:
        network = parts["policy_class"](
            parts["observation_space"], parts["action_space"], lr_schedule=lambda _: 0.0, **settings
        )
        network.load_state_dict(weights)
    except Exception as error:
        raise BadInput(f"{file}: the model cannot be made: {describe_error(error)}") from error
    network.set_training_mode(False)
    return network
