"""Multi-task conditional imitation learning: the network, its training on demonstrations, and its export to ONNX.

Camera pictures go through a small convolutional network, the lidar through a one-dimensional one, measurements through
a layer; what they give is joined. From there a head for each lateral command predicts the steer, and a head for each
longitudinal command predicts throttle and brake; the command of a frame chooses the heads that answer and learn.
After Zhu and Zhao (arXiv 2202.10124) and Codevilla et al. (ICRA 2018); sizes are ours. The same settings give the same
weights on one machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sidestep._util.onnx import export_network
from sidestep.errors import BadInput
from sidestep.learning.demonstration_layout import BRANCHES, INPUTS
from sidestep.learning.demonstration_reader import Demonstrations, read_demonstrations

LATERAL, LONGITUDINAL = 4, 3
"""Numbers of high-level commands."""
Progress = Callable[[int, int, str], None]


class DrivingNetwork(nn.Module):
    """(image, lidar, measurements, command) → (steer, throttle, brake), in IntersectNav's frame."""

    def __init__(self, width: int = 64, dropout: float = 0.0, camera_dropout: float = 0.0) -> None:
        super().__init__()
        self.camera_dropout = camera_dropout
        self.camera = nn.Sequential(
            nn.Conv2d(3, 16, 5, 2, 2), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU(),
            nn.Conv2d(32, 48, 3, 2, 1), nn.ReLU(), nn.Conv2d(48, 48, 3, 2, 1), nn.ReLU(),
            nn.Flatten(), nn.Linear(48 * 6 * 13, width), nn.ReLU(),
        )  # fmt: skip
        self.lidar = nn.Sequential(
            nn.Conv1d(1, 16, 9, 4, 4), nn.ReLU(), nn.Conv1d(16, 24, 5, 3, 2), nn.ReLU(),
            nn.Conv1d(24, 24, 5, 3, 2), nn.ReLU(), nn.Flatten(), nn.Linear(24 * 20, width), nn.ReLU(),
        )  # fmt: skip
        self.measured = nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, width // 2), nn.ReLU())
        self.joined = nn.Sequential(
            nn.Dropout(dropout), nn.Linear(2 * width + width // 2, 2 * width), nn.ReLU(), nn.Dropout(dropout)
        )
        self.steer = nn.Linear(2 * width, LATERAL)
        self.pedals = nn.Linear(2 * width, 2 * LONGITUDINAL)

    def forward(self, image: Tensor, lidar: Tensor, measurements: Tensor, command: Tensor) -> Tensor:
        """(N, 3) actions."""
        picture = image.permute(0, 3, 1, 2).to(torch.float32) / 255.0 - 0.5
        seen = self.camera(picture)
        if self.training and self.camera_dropout > 0.0:
            seen = seen * (torch.rand(len(seen), 1) >= self.camera_dropout)
        joined = self.joined(torch.cat([seen, self.lidar(lidar[:, None]), self.measured(measurements)], dim=1))
        steer = torch.tanh(self.steer(joined)).gather(1, command[:, :1])
        pedals = torch.sigmoid(self.pedals(joined)).reshape(-1, LONGITUDINAL, 2)
        chosen = pedals.gather(1, command[:, 1, None, None].expand(-1, 1, 2))[:, 0]
        return torch.cat([steer, chosen], dim=1)


@dataclass(frozen=True)
class DrivingTraining:
    """Settings of a training run."""

    epochs: int = 12
    batch: int = 128
    rate: float = 1e-3
    seed: int = 0
    width: int = 64
    steer_weight: float = 4.0
    """Weight of the squared error of the steer relative to those of throttle and brake."""
    held_out: float = 0.1
    """Share of the episodes that validate."""
    dropout: float = 0.2
    """Share of the joined features that is left out while learning."""
    camera_dropout: float = 0.0
    """Share of the frames that are learned without their picture. With 0.3 the development scenes were driven worse."""
    weight_decay: float = 1e-4
    brightness: float = 0.3
    """Pictures are made brighter or darker by up to this share while learning."""

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.batch < 1 or not 0.0 <= self.held_out < 1.0 or self.rate <= 0.0:
            raise BadInput("training: epochs and batch are at least 1, rate above 0, held_out in [0, 1)")
        shares = self.dropout, self.camera_dropout, self.brightness
        if not (all(0.0 <= share < 1.0 for share in shares) and self.weight_decay >= 0.0):
            raise BadInput("training: dropouts and brightness are in [0, 1), weight_decay is at least 0")


@dataclass(frozen=True)
class DrivingTrained:
    """Result of a training run."""

    network: DrivingNetwork
    curve: list[dict[str, float]]
    """Mean losses of every epoch."""
    frames: int
    inputs: int = INPUTS
    """Version of the inputs that it was trained on."""


class _Frames:
    """All frames of some files in memory, and which of them validate."""

    def __init__(self, paths: list[Path], settings: DrivingTraining) -> None:
        columns: dict[str, list[Any]] = {name: [] for name in ("image", "lidar", "measurements", "command", "action")}
        validates: list[Any] = []
        rng = np.random.default_rng(settings.seed)
        versions: dict[int, Path] = {}
        for path in paths:
            with read_demonstrations(path) as demos:
                versions.setdefault(demos.inputs, path)
                self._read(demos, columns, validates, rng, settings.held_out)
        if len(versions) > 1:
            found = ", ".join(f"{path} has version {version}" for version, path in versions.items())
            raise BadInput(f"files with different versions of the inputs: {found}; train on files of one version")
        self.inputs = next(iter(versions), INPUTS)
        if not validates or not sum(map(len, validates)):
            raise BadInput(f"{', '.join(map(str, paths))}: no frames to learn from; record demonstrations first")
        self.tensors = {name: torch.from_numpy(np.concatenate(parts)) for name, parts in columns.items()}
        held_out = np.concatenate(validates)
        self.train, self.validate = np.flatnonzero(~held_out), np.flatnonzero(held_out)

    @staticmethod
    def _read(
        demos: Demonstrations,
        columns: dict[str, list[Any]],
        validates: list[Any],
        rng: np.random.Generator,
        share: float,
    ) -> None:
        for branch in BRANCHES:
            count = demos.frames[branch]
            if not count:
                continue
            for name, parts in columns.items():
                values = np.asarray(demos.column(branch, name))
                if name == "measurements" and values.shape[1] != 4:
                    raise BadInput(f"{demos.path}: mea_t has {values.shape[1]} values; the network takes 4")
                parts.append(values.astype({"image": np.uint8, "command": np.int64}.get(name, np.float32)))
            held_out = np.zeros(count, bool)
            for episode in demos.episodes:
                if episode.branch == branch and rng.random() < share:
                    held_out[episode.start : episode.stop] = True
            validates.append(held_out)

    def batches(self, rows: Any, size: int) -> Iterator[dict[str, Tensor]]:
        for first in range(0, len(rows), size):
            chosen = torch.from_numpy(np.ascontiguousarray(rows[first : first + size]))
            yield {name: values[chosen] for name, values in self.tensors.items()}


def _augmented(batch: dict[str, Tensor], share: float) -> dict[str, Tensor]:
    """The batch with pictures of another brightness each."""
    factor = 1.0 + share * (2.0 * torch.rand(len(batch["image"]), 1, 1, 1) - 1.0)
    image = (batch["image"] * factor).clamp(0.0, 255.0).to(torch.uint8)
    return {**batch, "image": image}


def _loss(network: DrivingNetwork, batch: dict[str, Tensor], weight: float) -> Tensor:
    action = network(batch["image"], batch["lidar"], batch["measurements"], batch["command"])
    error = (action - batch["action"]).square().mean(dim=0)
    loss: Tensor = weight * error[0] + error[1] + error[2]
    return loss


def train_driving(
    paths: list[Path], settings: DrivingTraining, progress: Progress, keep: Callable[[DrivingTrained], None]
) -> DrivingTrained:
    """Learn from demonstration files. ``keep`` gets the best network so far after every epoch that improved it."""
    frames = _Frames(paths, settings)
    torch.manual_seed(settings.seed)
    rng = np.random.default_rng(settings.seed + 1)
    network = DrivingNetwork(settings.width, settings.dropout, settings.camera_dropout)
    optimizer = torch.optim.AdamW(network.parameters(), lr=settings.rate, weight_decay=settings.weight_decay)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, settings.epochs, settings.rate / 20)
    curve: list[dict[str, float]] = []
    best, best_state = np.inf, network.state_dict()
    for epoch in range(settings.epochs):
        network.train()
        total = 0.0
        for batch in frames.batches(rng.permutation(frames.train), settings.batch):
            optimizer.zero_grad()
            loss = _loss(network, _augmented(batch, settings.brightness), settings.steer_weight)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            total += loss.item() * len(batch["action"])
        schedule.step()
        network.eval()
        with torch.no_grad():
            checked = sum(
                float(_loss(network, batch, settings.steer_weight)) * len(batch["action"])
                for batch in frames.batches(frames.validate, 512)
            )
        curve.append({"train": total / max(len(frames.train), 1), "validate": checked / max(len(frames.validate), 1)})
        judged = curve[-1]["validate"] if len(frames.validate) else curve[-1]["train"]
        if judged < best:
            best, best_state = judged, {name: value.clone() for name, value in network.state_dict().items()}
            keep(DrivingTrained(network, curve, len(frames.train), frames.inputs))
        progress(epoch + 1, settings.epochs, f"loss {curve[-1]['train']:.4f}, held out {curve[-1]['validate']:.4f}")
    network.load_state_dict(best_state)
    return DrivingTrained(network, curve, len(frames.train), frames.inputs)


def export_driving(trained: DrivingTrained, path: Path, settings: DrivingTraining) -> None:
    """Write the network as ONNX, with the settings in its metadata."""
    examples = (
        torch.zeros(1, 88, 200, 3, dtype=torch.uint8), torch.zeros(1, 720), torch.zeros(1, 4),
        torch.zeros(1, 2, dtype=torch.int64),
    )  # fmt: skip
    names, outputs = ["image", "lidar", "measurements", "command"], ["action"]
    axes = {name: {0: "n"} for name in [*names, *outputs]}
    about = {**asdict(settings), "frames": trained.frames, "inputs": trained.inputs}
    texts = {key: str(value) for key, value in about.items()}
    export_network(trained.network, examples, path, names, outputs, axes, texts)
