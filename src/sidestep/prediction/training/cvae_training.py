"""Training of the CVAE: batches with random turns, the evidence lower bound, checkpoints, and the choice of the best.

The same settings and data give the same weights on one machine, whether or not the training was interrupted: every
epoch draws from generators that are seeded by the run's seed and the epoch's number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from math import cos, log, pi
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sidestep._util.writing import atomic
from sidestep.errors import BadInput, MissingExtra
from sidestep.prediction.data.features import moments_of
from sidestep.prediction.data.samples import HORIZONS_S, Samples, make_samples
from sidestep.prediction.forecasts import forecast_samples
from sidestep.prediction.predictors.cvae import Cvae as CvaePredictor
from sidestep.prediction.predictors.network_input import (
    GroundWindows,
    frame_turn,
    history_input,
    parse_features,
    turned,
)
from sidestep.prediction.roc import in_roi_sensitivity
from sidestep.prediction.scores import score_forecast
from sidestep.prediction.training.cvae import Cvae, CvaeSizes, export_cvae, log_density, sizes_of
from sidestep.types.base import BoolArray, FloatArray, IntArray
from sidestep.types.interactions import Interactions

Progress = Callable[[int, int, str], None]
VALIDATION_SEED = 9


@dataclass(frozen=True)
class CvaeTraining:
    """Settings of a training run."""

    features: str
    sizes: CvaeSizes
    epochs: int
    batch: int
    samples: int
    """Number of samples per epoch, drawn separately for each; 0: all."""
    every: int
    """Number of frames between two samples of a track."""
    rate: float = 1e-3
    decays: bool = False
    """Whether the rate falls along a cosine to a twentieth."""
    turn_sd: float | None = None
    """Standard deviation of random turns of those who walk, rad; None: any turn is as likely. People who stand are
    turned by any angle."""
    warm_up: float = 0.2
    """Share of the epochs over which the weight of the KL term grows to 1."""
    free_bits: float = 0.02
    """KL divergence per dimension of z, nats, that costs nothing."""
    prior_weight: float = 0.0
    """Weight of the NLL under ``prior_modes`` latents of the prior, beside the evidence lower bound: the hybrid
    objective of Sohn, Lee and Yan (2015), which closes the gap between latents in training and in use. 0: the bound
    alone."""
    prior_modes: int = 10
    modes: int = 50
    """Latents per sample in the validation."""
    validation: int = 4000
    """Largest number of samples in the validation."""
    seed: int = 1

    def __post_init__(self) -> None:
        if min(self.epochs, self.batch, self.every, self.modes, self.validation) < 1 or self.rate <= 0.0:
            raise BadInput("training: epochs, batch, every, modes and validation are at least 1, rate above 0")


def training_of(features: str, size: str, **changes: Any) -> CvaeTraining:
    """Settings of a size: ``paper`` as published, ``small`` for minutes on two cores."""
    features, sizes = parse_features(features), sizes_of(size)
    has_map = "map" in features.split("+")
    if size == "paper":
        settings = CvaeTraining(features, sizes, 3000, 1024 if has_map else 2048, 0, 1)
    else:
        settings = CvaeTraining(
            features, sizes, epochs=30, batch=256, samples=16384, every=2, decays=True, turn_sd=0.2, prior_weight=1.0
        )
    return replace(settings, **changes)


@dataclass(frozen=True)
class CvaeTrained:
    """Result of a training run."""

    network: Cvae
    epoch: int
    """Epoch of the weights: the best in validation."""
    nll: tuple[float, ...]
    """Validation NLL at each horizon."""
    samples: int


class _Batches:
    """The samples of one split as tensors."""

    def __init__(self, samples: Samples, features: str, sizes: CvaeSizes) -> None:
        self.has_map = "map" in features.split("+")
        self.moments = moments_of(samples, self.has_map, with_crowd=False)
        self.features = features
        self.future = samples.future - samples.past[:, -1:]
        self.turn = frame_turn(self.moments.past, sizes.frame)
        self.walks: BoolArray = self.turn != 0.0 if sizes.frame == "heading" else np.zeros(len(samples), bool)
        self.windows = GroundWindows(self.moments.grounds, sizes.cells) if self.has_map else None

    def __len__(self) -> int:
        return len(self.future)

    def take(self, rows: IntArray, turn: FloatArray) -> tuple[Tensor, Tensor | None, Tensor]:
        """History, window and future in frames with ``turn``."""
        some = self.moments.choose(rows)
        history = torch.from_numpy(history_input(some, self.features, turn))
        future = torch.from_numpy(turned(self.future[rows], turn).astype(np.float32))
        if self.windows is None:
            return history, None, future
        return history, torch.from_numpy(self.windows.cut(some.ground, some.past[:, -1], turn)), future

    def epoch(self, settings: CvaeTraining, epoch: int) -> Iterator[tuple[Tensor, Tensor | None, Tensor]]:
        rng = np.random.default_rng([settings.seed, epoch])
        rows = rng.permutation(len(self))[: settings.samples or len(self)]
        anyhow = rng.uniform(-pi, pi, len(rows))
        near = self.turn[rows] + (settings.turn_sd or 0.0) * rng.standard_normal(len(rows))
        turn = anyhow if settings.turn_sd is None else np.where(self.walks[rows], near, anyhow)
        for first in range(0, len(rows), settings.batch):
            part = slice(first, first + settings.batch)
            yield self.take(rows[part], turn[part])


def train_cvae(
    data: Interactions, settings: CvaeTraining, folder: Path | None, progress: Progress, restart: bool = False
) -> CvaeTrained:
    """Learn from the split ``train`` and choose the epoch by the NLL of the split ``validation``.

    ``folder`` gets a checkpoint after every epoch and an event file for TensorBoard; a run that was killed resumes.
    """
    batches, checks = (
        _Batches(make_samples(long_tracks(data.of_split(split)), settings.every), settings.features, settings.sizes)
        for split in ("train", "validation")
    )
    if not len(batches) or not len(checks):
        raise BadInput("training needs tracks of at least 5 s in the splits `train` and `validation`")
    chosen = np.random.default_rng(VALIDATION_SEED).permutation(len(checks))[: settings.validation]
    torch.manual_seed(settings.seed)
    network = Cvae(settings.features, settings.sizes)
    optimizer = torch.optim.Adam(network.parameters(), lr=settings.rate)
    key = sha256(repr((asdict(settings), len(batches), float(batches.future[:, 0].sum()))).encode()).hexdigest()
    state = _State(network, optimizer, key)
    if folder is not None and not restart:
        state.load(folder / "last.pt")
    events = _open_event_file(folder) if folder is not None else None
    for epoch in range(state.epoch, settings.epochs):
        losses = _train_epoch(network, optimizer, batches, settings, epoch)
        nll = validate(network, checks, np.sort(chosen), settings.modes)
        state.note(epoch + 1, nll)
        if folder is not None and events is not None:
            named = {f"validation/nll_{t:g}s": value for t, value in zip(HORIZONS_S, nll, strict=True)}
            for name, value in {"train/loss": losses[0], "train/kl": losses[1], **named}.items():
                events.add_scalar(name, value, epoch + 1)
            events.flush()
            state.save(folder / "last.pt")
        shown = ", ".join(f"{value:.2f}" for value in nll)
        progress(epoch + 1, settings.epochs, f"loss {losses[0]:.2f}, KL {losses[1]:.2f}, validation NLL {shown}")
    if events is not None:
        events.close()
    network.load_state_dict(state.best)
    network.eval()
    return CvaeTrained(network, state.best_epoch, tuple(state.best_nll), len(batches))


def _open_event_file(folder: Path) -> Any:
    """TensorBoard's writer of ``folder/events.out.tfevents.…``, one file per start of the training."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise MissingExtra("the event file of a training", "learn") from error
    writer: Any = SummaryWriter
    return writer(folder)


def long_tracks(data: Interactions) -> Interactions:
    """The tracks that are long enough for the history and the longest horizon, as the paper trains with."""
    least = round((1.0 + float(HORIZONS_S[-1])) / data.step_s) + 1
    return data.choose(data.stop - data.start >= least)


def _train_epoch(
    network: Cvae, optimizer: torch.optim.Optimizer, batches: _Batches, settings: CvaeTraining, epoch: int
) -> tuple[float, float]:
    """Mean loss and KL divergence per sample."""
    torch.manual_seed(settings.seed * 100_003 + epoch)
    network.train()
    share = epoch / settings.epochs
    weight = min(1.0, (epoch + 1) / max(1.0, settings.warm_up * settings.epochs))
    for group in optimizer.param_groups:
        group["lr"] = settings.rate * (0.05 + 0.95 * (1.0 + cos(pi * share)) / 2 if settings.decays else 1.0)
    total, divergence, count = 0.0, 0.0, 0
    for history, window, future in batches.epoch(settings, epoch):
        optimizer.zero_grad()
        known = network.encode(history, window)
        mean, spread = network.infer(known, history, future)
        z = mean + torch.exp(0.5 * spread) * torch.randn_like(mean)
        density = log_density(*network.predict(known, history, z[:, None]), future).sum(dim=2).mean()
        each = 0.5 * (mean.square() + spread.exp() - 1.0 - spread).mean(dim=0)
        loss = -density + weight * each.clamp(min=settings.free_bits).sum()
        if settings.prior_weight:
            drawn = torch.randn(len(future), settings.prior_modes, network.sizes.latent)
            marginal = mixture_density(log_density(*network.predict(known, history, drawn), future))
            loss = loss - settings.prior_weight * marginal.sum(dim=1).mean()
        if not bool(torch.isfinite(loss)):
            raise BadInput(f"training: the loss is not finite in epoch {epoch + 1}; lower the rate")
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(network.parameters(), 10.0)
        optimizer.step()
        total, divergence = total + loss.item() * len(future), divergence + each.sum().item() * len(future)
        count += len(future)
    return total / count, divergence / count


@torch.no_grad()
def validate(network: Cvae, batches: _Batches, rows: IntArray, modes: int) -> list[float]:
    """Mean NLL at each horizon of the mixture of ``modes`` latents, over the samples whose future is known."""
    network.eval()
    z = torch.randn(modes, network.sizes.latent, generator=torch.Generator().manual_seed(VALIDATION_SEED))
    total, count = torch.zeros(len(HORIZONS_S)), torch.zeros(len(HORIZONS_S))
    for first in range(0, len(rows), 512):
        part = rows[first : first + 512]
        history, window, future = batches.take(part, batches.turn[part])
        known = network.encode(history, window)
        density = log_density(*network.predict(known, history, z.expand(len(part), -1, -1)), future)
        there = torch.isfinite(future[..., 0])
        total += torch.where(there, mixture_density(density), 0.0).sum(dim=0)
        count += there.sum(dim=0)
    return [float(value) for value in -total / count.clamp(min=1)]


def mixture_density(density: Tensor) -> Tensor:
    """(n, H) log density of the equal mixture of (n, k, H)."""
    return torch.logsumexp(density, dim=1) - log(density.shape[1])


class _State:
    """The state of a training run, and its best weights."""

    def __init__(self, network: Cvae, optimizer: torch.optim.Optimizer, key: str) -> None:
        self.network, self.optimizer, self.key = network, optimizer, key
        self.epoch, self.best_epoch = 0, 0
        self.best_nll = [float("inf")] * len(HORIZONS_S)
        self.best = network.state_dict()

    def note(self, epoch: int, nll: list[float]) -> None:
        self.epoch = epoch
        if sum(nll) < sum(self.best_nll):
            self.best_epoch, self.best_nll = epoch, nll
            self.best = {name: value.clone() for name, value in self.network.state_dict().items()}

    def save(self, path: Path) -> None:
        content = {
            "key": self.key, "epoch": self.epoch, "network": self.network.state_dict(), "best": self.best,
            "optimizer": self.optimizer.state_dict(), "best_epoch": self.best_epoch, "best_nll": self.best_nll,
        }  # fmt: skip
        with atomic(path) as whole:
            torch.save(content, whole)

    def load(self, path: Path) -> None:
        """Go on from a checkpoint, if there is one; ``BadInput`` if it is of another run."""
        if not path.is_file():
            return
        try:
            content = torch.load(path, weights_only=True)
        except Exception as error:  # damaged files raise a dozen kinds
            raise BadInput(f"{path}: not a checkpoint ({error}); remove it, or restart the training") from None
        if not isinstance(content, dict) or content.get("key") != self.key:
            raise BadInput(f"{path}: a checkpoint of other settings or data; restart the training or change --out")
        self.network.load_state_dict(content["network"])
        self.optimizer.load_state_dict(content["optimizer"])
        self.epoch, self.best_epoch = int(content["epoch"]), int(content["best_epoch"])
        self.best_nll, self.best = list(content["best_nll"]), content["best"]


def about_of(trained: CvaeTrained, settings: CvaeTraining) -> dict[str, Any]:
    """Description of the training for the file of a network."""
    return {"training": asdict(settings), "samples": trained.samples, "epoch": trained.epoch, "nll": trained.nll}


VALIDATION_EVERY = 5
"""Frames between two samples of a track of the validation split."""


@dataclass(frozen=True)
class Candidate:
    """One network of a search."""

    file: Path
    settings: CvaeTraining
    trained: CvaeTrained
    irs: tuple[float, ...]
    """Validation IRS at each horizon; NaN: there is none."""

    @property
    def mean_irs(self) -> float:
        """Mean over the horizons that have one; NaN: none has."""
        known = [value for value in self.irs if np.isfinite(value)]
        return float(np.mean(known)) if known else float("nan")


def search_cvae(
    data: Interactions,
    settings: CvaeTraining,
    grid: list[CvaeSizes],
    seeds: list[int],
    folder: Path,
    progress: Progress,
    restart: bool = False,
) -> list[Candidate]:
    """Train every size of ``grid`` with every seed, best first: by mean validation IRS, then by NLL."""
    if not grid or not seeds:
        raise BadInput("search: give at least one size and one seed")
    samples = make_samples(long_tracks(data.of_split("validation")), VALIDATION_EVERY)
    found = []
    runs = [(sizes, seed) for sizes in grid for seed in seeds]
    for number, (sizes, seed) in enumerate(runs):
        own = replace(settings, sizes=sizes, seed=seed)
        place = folder / f"lstm{sizes.state}-mlp{sizes.width}-seed{seed}"

        def move(done: int, total: int, label: str, number: int = number) -> None:
            progress(number * total + done, len(runs) * total, label)

        trained = train_cvae(data, own, place, move, restart)
        file = place / "network.onnx"
        export_cvae(trained.network, file, about_of(trained, own))
        found.append(Candidate(file, own, trained, irs_of(file, samples)))

    def order(each: Candidate) -> tuple[float, float]:
        return (-each.mean_irs if np.isfinite(each.mean_irs) else 1.0, sum(each.trained.nll))

    return sorted(found, key=order)


def irs_of(file: Path, samples: Samples) -> tuple[float, ...]:
    """IRS of the network in ``file`` at each horizon."""
    forecast = forecast_samples(CvaePredictor(file=str(file)), samples)
    return tuple(each.value for each in in_roi_sensitivity(score_forecast(samples, forecast, name=file.stem)))
