"""Behavioural cloning of the waypoints of ``ilqr_bc``: the network, its training on frames of an expert, and its export
to ONNX. The same settings give the same weights on one machine.

After Pirk et al. (*A protocol for validating social navigation policies*, 2022), who trained a convolutional network on
300 expert runs of the frontal approach to predict intermediate waypoints; picture, sizes and expert are ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from sidestep._util.onnx import export_network
from sidestep.errors import BadInput
from sidestep.learning.frontal import Frames
from sidestep.policies.ilqr.picture import CELLS, CHANNELS
from sidestep.policies.ilqr.policy import WAYPOINT_TIMES
from sidestep.types.base import IntArray

POINTS = len(WAYPOINT_TIMES)
Progress = Callable[[int, int, str], None]


class WaypointNetwork(nn.Module):
    """(picture, motion) → waypoints (N, 3, 2) as shares of the path at top speed."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.eye = nn.Sequential(
            nn.Conv2d(CHANNELS, 12, 5, 2, 2), nn.ReLU(), nn.Conv2d(12, 24, 3, 2, 1), nn.ReLU(),
            nn.Conv2d(24, 32, 3, 2, 1), nn.ReLU(), nn.Conv2d(32, 32, 3, 2, 1), nn.ReLU(), nn.Flatten(),
        )  # fmt: skip
        self.head = nn.Sequential(
            nn.Linear(32 * (CELLS // 16) ** 2 + 4, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
            nn.Linear(width, 2 * POINTS),
        )  # fmt: skip

    def forward(self, picture: Tensor, motion: Tensor) -> Tensor:
        """(N, 3, 2) waypoints."""
        seen = self.eye(picture.to(torch.float32) / 127.0)
        points: Tensor = self.head(torch.cat([seen, motion], dim=1)).reshape(-1, POINTS, 2)
        return points


@dataclass(frozen=True)
class WaypointTraining:
    """Settings of a training run."""

    epochs: int = 15
    batch: int = 64
    rate: float = 1e-3
    seed: int = 0
    held_out: float = 0.1
    """Share of the runs that validate."""
    weight_decay: float = 1e-4
    left_weight: float = 2.0
    """Weight of the squared error across the heading relative to that along it."""

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.batch < 1 or not 0.0 <= self.held_out < 1.0 or self.rate <= 0.0:
            raise BadInput("training: epochs and batch are at least 1, rate above 0, held_out in [0, 1)")


@dataclass(frozen=True)
class TrainedWaypoints:
    """Result of a training run."""

    network: WaypointNetwork
    curve: list[dict[str, float]]
    """Mean squared errors of every epoch."""
    frames: int  # frames that it learned from


def _loss(network: WaypointNetwork, frames: dict[str, Tensor], rows: Tensor, settings: WaypointTraining) -> Tensor:
    error = network(frames["picture"][rows], frames["motion"][rows]) - frames["waypoints"][rows]
    loss: Tensor = (error[..., 0].square() + settings.left_weight * error[..., 1].square()).mean()
    return loss


def _batches(rows: IntArray, size: int) -> list[Tensor]:
    return [torch.from_numpy(rows[first : first + size]) for first in range(0, len(rows), size)]


def train_waypoints(
    frames: Frames, settings: WaypointTraining, progress: Progress = lambda done, of, text: None
) -> TrainedWaypoints:
    """Learn from frames; the network of the epoch with the least error on held-out runs."""
    if not len(frames):
        raise BadInput("no frames to learn from; collect more runs")
    torch.manual_seed(settings.seed)
    rng = np.random.default_rng(settings.seed)
    runs = np.unique(frames.run)
    held_out = np.isin(frames.run, runs[rng.random(len(runs)) < settings.held_out])
    learned, judged = np.flatnonzero(~held_out), np.flatnonzero(held_out)
    if not len(learned) or not len(judged):
        learned = judged = np.arange(len(frames))
    columns = {"picture": frames.picture, "motion": frames.motion, "waypoints": frames.waypoints}
    tensors = {name: torch.from_numpy(values) for name, values in columns.items()}
    network = WaypointNetwork()
    optimizer = torch.optim.AdamW(network.parameters(), lr=settings.rate, weight_decay=settings.weight_decay)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, settings.epochs, settings.rate / 20)
    curve: list[dict[str, float]] = []
    best, best_state = np.inf, network.state_dict()
    for epoch in range(settings.epochs):
        total = 0.0
        for rows in _batches(rng.permutation(learned), settings.batch):
            optimizer.zero_grad()
            loss = _loss(network, tensors, rows, settings)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            total += loss.item() * len(rows)
        schedule.step()
        with torch.no_grad():
            parts = _batches(judged, 512)
            checked = sum(_loss(network, tensors, rows, settings).item() * len(rows) for rows in parts)
        curve.append({"train": total / len(learned), "validate": checked / len(judged)})
        if curve[-1]["validate"] < best:
            best = curve[-1]["validate"]
            best_state = {name: value.clone() for name, value in network.state_dict().items()}
        progress(epoch + 1, settings.epochs, f"error {curve[-1]['train']:.4f}, held out {curve[-1]['validate']:.4f}")
    network.load_state_dict(best_state)
    return TrainedWaypoints(network, curve, len(learned))


def export_waypoints(trained: TrainedWaypoints, path: Path, settings: WaypointTraining, runs: int) -> None:
    """Write the network as ONNX, with the settings in its metadata."""
    examples = torch.zeros(1, CHANNELS, CELLS, CELLS, dtype=torch.int8), torch.zeros(1, 4)
    names, outputs = ["picture", "motion"], ["waypoints"]
    axes = {name: {0: "n"} for name in [*names, *outputs]}
    about = {**asdict(settings), "runs": runs, "frames": trained.frames}
    texts = {key: str(value) for key, value in about.items()}
    export_network(trained.network, examples, path, names, outputs, axes, texts)
