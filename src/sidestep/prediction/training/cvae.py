"""A conditional variational autoencoder of where a pedestrian will be in 1, 2, 3 and 4 seconds.

Past observations go through two stacked LSTM cells, a window of the semantic map through a small VGG-like network. The
predictive model turns both and a latent z ~ N(0, I) into a Gaussian over the future positions; the inference model,
used in training only, turns both and the future into a Gaussian over z. After the appendix of the paper that proposes
In-ROI Sensitivity; docs/predictors.md lists the layers and what the text leaves open.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm
from torch.nn.utils.parametrize import is_parametrized, remove_parametrizations

from sidestep._util.onnx import export_network
from sidestep.errors import BadInput, UnknownName
from sidestep.prediction.data.samples import HORIZONS_S
from sidestep.prediction.predictors.cvae import SPEC_KEY, NetworkSpec
from sidestep.prediction.predictors.network_input import STEPS, FrameKind, channels_of, parse_features
from sidestep.types.interactions import GROUND

MAP_LAYERS = (4, "P", 8, "P", 16, 16, "P", 32, 32, "P", 64, 64, "P")
"""Filters of 3 × 3 convolutions with ReLU, and 2 × 2 max-pooling."""
MAP_HIDDEN, MAP_EMBEDDING, PAST_EMBEDDING = 512, 100, 128
LEAST_SD_M = 0.03
MOTION_UNIT_M, EGO_UNIT_M = 0.1, 10.0
"""Motions of a step and distances to the vehicle are divided by these, so that inputs are near 1."""


@dataclass(frozen=True)
class CvaeSizes:
    """Sizes of the layers, and the frame of the input."""

    state: int
    """Size of the state of the LSTM cells."""
    width: int
    """Width of the layers of both MLPs."""
    cells: int
    """Number of cells along each side of the map window; a multiple of 32."""
    frame: FrameKind
    """``world``: axes as in the data; ``heading``: x along the pedestrian's motion."""
    extrapolates: bool
    """Means are offsets from the straight line at the mean velocity of the history, not from the last position."""
    latent: int = 10

    def __post_init__(self) -> None:
        if self.cells % 32 or min(self.state, self.width, self.cells, self.latent) < 1:
            raise BadInput("cvae: sizes are at least 1, and cells a multiple of 32")


SIZES = {"paper": CvaeSizes(256, 384, 256, "world", False), "small": CvaeSizes(64, 128, 64, "heading", True)}


def sizes_of(name: str) -> CvaeSizes:
    """The sizes called ``name``."""
    if name not in SIZES:
        raise UnknownName("size", name, SIZES)
    return SIZES[name]


def grid_of(features: str, sizes: CvaeSizes, is_small: bool = False) -> list[CvaeSizes]:
    """The paper's hyper-parameter search space (Table V) without the seeds; of small networks a quarter as wide."""
    widths = (256, 384, 512) if "map" in features.split("+") else (384, 512, 640)
    part = 4 if is_small else 1
    return [
        replace(sizes, state=state // part, width=width // part) for state in (256, 384) for width in widths
    ]  # fmt: skip


class _Cell(nn.Module):
    """An LSTM cell over a whole sequence, with normalised weights."""

    def __init__(self, inputs: int, state: int) -> None:
        super().__init__()
        self.state = state
        self.given = weight_norm(nn.Linear(inputs, 4 * state))
        self.kept = weight_norm(nn.Linear(state, 4 * state, bias=False))
        with torch.no_grad():
            self.given.bias[state : 2 * state] = 1.0  # remember at first

    def forward(self, sequence: Tensor) -> Tensor:
        given = self.given(sequence)
        weight = self.kept.weight
        hidden = cell = torch.zeros_like(given[:, 0, : self.state])
        found = []
        for step in range(STEPS):
            gates = given[:, step] + nn.functional.linear(hidden, weight)
            enter, forget, candidate, leave = gates.chunk(4, dim=1)
            cell = torch.sigmoid(forget) * cell + torch.sigmoid(enter) * torch.tanh(candidate)
            hidden = torch.sigmoid(leave) * torch.tanh(cell)
            found.append(hidden)
        return torch.stack(found, dim=1)


def _rectified(layer: nn.Linear | nn.Conv2d) -> nn.Module:
    """A layer before a ReLU, with normalised weights that keep the size of signals (He et al., ICCV 2015): with torch's
    own start the map would be lost on its way through the layers."""
    nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
    assert layer.bias is not None
    nn.init.zeros_(layer.bias)
    found: nn.Module = weight_norm(layer)
    return found


def _map_network(cells: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    channels = len(GROUND)
    for layer in MAP_LAYERS:
        if isinstance(layer, str):
            layers.append(nn.MaxPool2d(2))
        else:
            layers += [_rectified(nn.Conv2d(channels, layer, 3, padding=1)), nn.ReLU()]
            channels = layer
    flat = channels * (cells // 32) ** 2
    layers += [nn.Flatten(), _rectified(nn.Linear(flat, MAP_HIDDEN)), nn.ReLU()]
    return nn.Sequential(*layers, _rectified(nn.Linear(MAP_HIDDEN, MAP_EMBEDDING)))


def _mlp(inputs: int, width: int, outputs: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for before in (inputs, width, width):
        layers += [_rectified(nn.Linear(before, width)), nn.ReLU()]
    return nn.Sequential(*layers, weight_norm(nn.Linear(width, outputs)))


class Cvae(nn.Module):
    """(history, window, z) → means and Cholesky factors at the four horizons, in the frame of the input."""

    units: Tensor
    classes: Tensor
    seconds: Tensor

    def __init__(self, features: str, sizes: CvaeSizes) -> None:
        super().__init__()
        self.features, self.sizes = parse_features(features), sizes
        self.has_map = "map" in self.features.split("+")
        channels, horizons = channels_of(self.features), len(HORIZONS_S)
        scale = [MOTION_UNIT_M] * 2 + ([EGO_UNIT_M] * 2 if "egodist" in self.features else [])
        scale += [1.0] * (channels - len(scale))
        self.register_buffer("units", torch.tensor(scale), persistent=False)
        self.register_buffer("classes", torch.arange(len(GROUND), dtype=torch.float32), persistent=False)
        self.register_buffer("seconds", torch.tensor(HORIZONS_S, dtype=torch.float32), persistent=False)
        self.cells = nn.Sequential(_Cell(channels, sizes.state), _Cell(sizes.state, sizes.state))
        self.past = weight_norm(nn.Linear(sizes.state, PAST_EMBEDDING))
        self.map = _map_network(sizes.cells) if self.has_map else None
        known = PAST_EMBEDDING + (MAP_EMBEDDING if self.has_map else 0)
        self.predictive = _mlp(known + sizes.latent, sizes.width, 5 * horizons)
        self.inference = _mlp(known + 3 * horizons, sizes.width, 2 * sizes.latent)

    def encode(self, history: Tensor, window: Tensor | None) -> Tensor:
        """(n, E) embedding of past and map."""
        past: Tensor = self.past(self.cells(history / self.units)[:, -1])
        if self.map is None or window is None:
            return past
        planes = (window.to(torch.float32)[..., None] == self.classes).to(torch.float32)
        return torch.cat([past, self.map(planes.permute(0, 3, 1, 2))], dim=1)

    def infer(self, known: Tensor, history: Tensor, future: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and log variance (n, latent) of z given the future (n, H, 2), which is NaN where it is not known."""
        is_known = torch.isfinite(future[..., 0])
        offset = torch.where(is_known[..., None], future - self._line(history), 0.0) / self.seconds[:, None]
        mean, spread = self.inference(torch.cat([known, offset.flatten(1), is_known.to(torch.float32)], dim=1)).chunk(
            2, dim=1
        )
        return mean, spread.clamp(-8.0, 4.0)

    def predict(self, known: Tensor, history: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
        """Means (n, k, H, 2) and Cholesky factors as (n, k, H, 3) (l11, l21, l22), m, for ``z (n, k, latent)``."""
        joined = torch.cat([known[:, None].expand(-1, z.shape[1], -1), z], dim=2)
        raw = self.predictive(joined).reshape(z.shape[0], z.shape[1], len(HORIZONS_S), 5)
        unit = self.seconds[:, None]
        mean = self._line(history)[:, None] + unit * raw[..., :2]
        diagonal = LEAST_SD_M + 0.5 * unit * nn.functional.softplus(raw[..., 2:4])
        mixed = 0.5 * unit * raw[..., 4:]
        return mean, torch.cat([diagonal[..., :1], mixed, diagonal[..., 1:]], dim=-1)

    def _line(self, history: Tensor) -> Tensor:
        """(n, H, 2) where means are counted from."""
        velocity = (
            10.0 * history[:, :, :2].mean(dim=1) if self.sizes.extrapolates else torch.zeros_like(history[:, 0, :2])
        )
        return velocity[:, None] * self.seconds[:, None]


def log_density(mean: Tensor, factor: Tensor, future: Tensor) -> Tensor:
    """(n, k, H) log of the Gaussian densities at ``future (n, H, 2)``; 0 where that is NaN."""
    is_known = torch.isfinite(future[..., 0])[:, None]
    error = torch.where(is_known[..., None], future[:, None] - mean, 0.0)
    first = error[..., 0] / factor[..., 0]
    second = (error[..., 1] - factor[..., 1] * first) / factor[..., 2]
    density = -0.5 * (first * first + second * second) - torch.log(factor[..., 0] * factor[..., 2]) - 1.8378770664
    return torch.where(is_known, density, 0.0)


class _Exported(nn.Module):
    """The predictive model as files have it: Cholesky factors as matrices, the window only where there is a map."""

    def __init__(self, network: Cvae) -> None:
        super().__init__()
        self.network = network

    def forward(self, history: Tensor, z: Tensor, window: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Means (n, k, H, 2) and Cholesky factors (n, k, H, 2, 2)."""
        mean, factor = self.network.predict(self.network.encode(history, window), history, z)
        first = torch.stack([factor[..., 0], torch.zeros_like(factor[..., 0])], dim=-1)
        return mean, torch.stack([first, factor[..., 1:]], dim=-2)


def export_cvae(network: Cvae, path: Path, about: dict[str, Any]) -> None:
    """Write the predictive model as ONNX with its spec; ``about`` is kept beside it."""
    plain = _without_norm(network)
    sizes = network.sizes
    spec = NetworkSpec(
        features=network.features,
        frame=sizes.frame,
        cells=sizes.cells if network.has_map else 0,
        latent=sizes.latent,
        horizons_s=tuple(HORIZONS_S.tolist()),
        classes=GROUND,
    )
    example: list[Tensor] = [torch.zeros(2, STEPS, channels_of(network.features)), torch.zeros(2, 3, sizes.latent)]
    names = ["history", "z"]
    axes: dict[str, dict[int, str]] = {"history": {0: "n"}, "z": {0: "n", 1: "k"}}
    if network.has_map:
        example.append(torch.zeros(2, sizes.cells, sizes.cells, dtype=torch.uint8))
        names.append("window")
        axes["window"] = {0: "n"}
    axes |= {name: {0: "n", 1: "k"} for name in ("mean", "cholesky")}
    kept = {SPEC_KEY: spec.model_dump_json(), "sizes": asdict(sizes), **about}
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in kept.items()}
    export_network(_Exported(plain), example, path, names, ["mean", "cholesky"], axes, texts)


def _without_norm(network: Cvae) -> Cvae:
    """A copy with plain weights."""
    copy = Cvae(network.features, network.sizes)
    copy.load_state_dict(network.state_dict())
    for module in copy.modules():
        if is_parametrized(module, "weight"):
            remove_parametrizations(module, "weight")
    return copy
