"""Training of SA-CADRL: the value network in torch, values of ORCA's walks first, then reinforcement learning with
self-play. (1) Learners driven by ORCA; the network learns the discounted rewards that followed (the paper's
initialisation). (2) Learners choose by one step of lookahead with the network, and at random with probability ε;
the network learns λ-returns: what followed while the choices were its own, then the value of the state reached.
Source: Chen, Everett, Liu, How (IROS 2017). Ours: λ-returns over many worlds at once in place of refined episodes,
and people who do not give way. The same settings give the same weights on one machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from math import cos, pi
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sidestep.errors import BadInput
from sidestep.kernels import layout
from sidestep.learning.cadrl_worlds import GOES_ON, LATE, LEARNERS, PEOPLE, REACHED, STEP_S, TOUCHED, TrainingWorlds
from sidestep.policies.cadrl.lookahead import (
    ARRIVED,
    FEATURES,
    GAMMA,
    LOG_GAMMA,
    OTHER,
    OWN,
    SLOTS,
    Fan,
    Look,
    look_ahead_all,
)
from sidestep.policies.cadrl.network import INPUT_SCALE, SHAPES
from sidestep.policies.cadrl.policy import candidates
from sidestep.types.base import FloatArray, IntArray


class ValueNetwork(nn.Module):
    """V of states (n, FEATURES). Parameters have the names and shapes of the weights file."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        inputs = {"own_to_code": OWN + OTHER, "other_to_code": OWN + OTHER}
        for name, shape in SHAPES.items():
            if name.endswith("bias"):
                start = torch.zeros(shape)
            else:
                scale = (2.0 / inputs.get(name, shape[-1])) ** 0.5
                start = torch.randn(shape, generator=generator) * (0.1 * scale if name == "fourth_to_loss" else scale)
            self.register_parameter(name, nn.Parameter(start))
        self.register_buffer("scale", torch.from_numpy(INPUT_SCALE.copy()), persistent=False)

    def forward(self, states: Tensor) -> Tensor:
        """(n,) values."""
        p = dict(self.named_parameters())
        scale = self.get_buffer("scale")
        own = states[:, :OWN] * scale[:OWN]
        others = (states[:, OWN:] * scale[OWN:]).reshape(-1, SLOTS, OTHER)
        taken = (others[..., -1:] > 0).to(states.dtype)
        shared = torch.addmm(p["code_bias"], own, p["own_to_code"].T)
        code = torch.relu(shared[:, None] + others @ p["other_to_code"].T)
        code = torch.relu(code @ p["code_to_code"].T + p["code_to_code_bias"]) * taken
        pooled = code.amax(dim=1)
        third = torch.relu(torch.addmm(p["third_bias"], own, p["own_to_third"].T) + pooled @ p["code_to_third"].T)
        fourth = torch.relu(torch.addmm(p["fourth_bias"], third, p["third_to_fourth"].T))
        loss = fourth @ p["fourth_to_loss"] + p["loss_bias"]
        matters = taken.amax(dim=(1, 2)) * (states[:, 0] >= float(ARRIVED))
        return torch.exp(float(LOG_GAMMA) * states[:, 0]) * (1.0 - loss * matters)

    def arrays(self) -> dict[str, FloatArray]:
        """The parameters as NumPy arrays, by their names."""
        return {name: value.detach().numpy().astype(np.float32) for name, value in self.named_parameters()}


Progress = Callable[[int, int, str], None]
Keep = Callable[["Trained"], None]

_CHUNK = 2048  # states evaluated at once: what fits into a core's cache


@dataclass(frozen=True)
class CadrlTraining:
    """Settings of a training run."""

    steps: int = 240
    """Rounds of reinforcement learning; each collects ``decisions`` of every learner and learns from them."""
    seed: int = 0
    worlds: int = 256
    decisions: int = 24
    walks: int = 80
    """Decisions of the ORCA learners in the initialisation."""
    norm: float = 0.025
    """Reward taken for half a second of breaking the right-hand rule."""
    horizon: float = 0.5
    """Length of a look ahead, s."""
    speeds: int = 3
    headings: int = 16
    trace: float = 0.85
    """λ: how much of a return comes from what followed rather than from the network."""
    explore_first: float = 0.2
    explore_last: float = 0.03
    rate_first: float = 1e-3
    rate_last: float = 5e-5
    batch: int = 1024
    batches: int = 48
    """Gradient steps per round."""
    memory: int = 80_000
    report_every: int = 10

    def __post_init__(self) -> None:
        for name in ("steps", "worlds", "decisions", "walks", "batch", "batches", "memory", "speeds", "headings"):
            if getattr(self, name) < 1:
                raise BadInput(f"training: {name} must be at least 1, not {getattr(self, name)}")
        if not 0 <= self.seed < 2**63:
            raise BadInput(f"training: the seed must be 0 … 2^63 - 1, not {self.seed}")


@dataclass(frozen=True, eq=False)
class Trained:
    """Result of a training run."""

    network: ValueNetwork
    settings: CadrlTraining
    curve: list[dict[str, float]]
    """Per report: round, loss, and how the learners' episodes ended since the last."""

    @property
    def about(self) -> dict[str, float]:
        """The numbers that go into the weights file."""
        s = asdict(self.settings)
        return {key: float(s[key]) for key in ("seed", "steps", "decisions", "norm", "horizon")}


class Chooser:
    """Values and choices of many learners at once."""

    def __init__(self, network: ValueNetwork, settings: CadrlTraining) -> None:
        self._network = network
        self._settings = settings
        self.table = candidates(settings.speeds, settings.headings)

    def look(self, arena: TrainingWorlds, which: IntArray) -> tuple[FloatArray, IntArray, FloatArray]:
        """Present states (K, FEATURES), best candidates (K,) and velocities of all candidates (K, A, 2)."""
        k, a = len(which), len(self.table)
        now = np.empty((k, FEATURES), np.float32)
        states = np.empty((k, FEATURES, a), np.float32)
        gain, factor = np.empty((k, a), np.float32), np.empty((k, a), np.float32)
        s = self._settings
        fan = Fan(self.table, np.float32(s.horizon), np.float32(s.norm))
        look_ahead_all(arena.learners(which), fan, arena.around, now, Look(states, gain, factor))
        value = self.values(np.ascontiguousarray(states.transpose(0, 2, 1)))
        return now, (gain + factor * value).argmax(axis=1), self._velocities(arena, which)

    def values(self, states: FloatArray) -> FloatArray:
        """V of states (…, FEATURES)."""
        flat = torch.from_numpy(states.reshape(-1, FEATURES))
        with torch.no_grad():
            parts = [self._network(part).numpy() for part in torch.split(flat, _CHUNK)]
        return np.concatenate(parts).reshape(states.shape[:-1])

    def _velocities(self, arena: TrainingWorlds, which: IntArray) -> FloatArray:
        b, r = which.T
        own = arena.agents[b, :, PEOPLE + r]
        ahead = arena.goals[b, r] - own[:, [layout.PX, layout.PY]]
        distance = np.hypot(*ahead.T)[:, None]
        ux, uy = (np.where(distance > 1e-4, ahead / np.maximum(distance, 1e-4), [1.0, 0.0])).T
        speed = self.table[:, 0] * own[:, layout.MAX_SPEED, None]
        vx = speed * (self.table[:, 1] * ux[:, None] - self.table[:, 2] * uy[:, None])
        vy = speed * (self.table[:, 1] * uy[:, None] + self.table[:, 2] * ux[:, None])
        return np.stack([vx, vy], axis=-1)


class Memory:
    """The last states and what they turned out to be worth."""

    def __init__(self, size: int) -> None:
        self.states = np.empty((size, FEATURES), np.float32)
        self.worth = np.empty(size, np.float32)
        self._next = self.filled = 0

    def add(self, states: FloatArray, worth: FloatArray) -> None:
        """Keep these, in place of the oldest."""
        states, worth = states[-len(self.worth) :], worth[-len(self.worth) :]
        places = (self._next + np.arange(len(worth))) % len(self.worth)
        self.states[places], self.worth[places] = states, worth
        self._next = (self._next + len(worth)) % len(self.worth)
        self.filled = min(self.filled + len(worth), len(self.worth))


class Segment:
    """Some decisions of all learners, (T, B, LEARNERS, …), and their λ-returns."""

    def __init__(self, length: int, worlds: int) -> None:
        shape = (length, worlds, LEARNERS)
        self.states = np.zeros((*shape, FEATURES), np.float32)
        self.reward = np.zeros(shape, np.float32)
        self.here, self.own, self.ended = (np.zeros(shape, bool) for _ in range(3))

    def note(self, t: int, which: IntArray, states: FloatArray, reward: FloatArray, ending: IntArray, own: Any) -> None:
        """Decision ``t`` of the learners ``which``; ``own``: the choice was the network's and was carried through."""
        b, r = which.T
        self.states[t, b, r], self.reward[t, b, r] = states, reward
        self.here[t, b, r], self.own[t, b, r] = True, own & (ending != LATE)
        self.ended[t, b, r] = (ending == REACHED) | (ending == TOUCHED)

    def returns(self, value: FloatArray, trace: float) -> FloatArray:
        """G_t = r_t + γ^(Δt v) ((1 - λ) V_{t+1} + λ G_{t+1}), λ = 0 where the next choice is not the network's. The
        last decision has no return of its own: its value closes the others."""
        later = GAMMA ** (STEP_S * self.states[..., 1])
        worth = np.zeros_like(value)
        ahead = value[-1]
        for t in range(len(value) - 2, -1, -1):
            worth[t] = self.reward[t] + np.where(self.ended[t], 0.0, later[t] * ahead)
            kept = np.where(self.own[t], trace, 0.0)
            ahead = (1.0 - kept) * value[t] + kept * worth[t]
        return worth


def train_cadrl(
    settings: CadrlTraining, progress: Progress = lambda done, total, label: None, keep: Keep = lambda trained: None
) -> Trained:
    """Train from scratch. ``progress`` is called with rounds done, rounds in all, and how it goes; ``keep`` with the
    state of affairs at every report."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # sums in one order, and one core
    try:
        return _Run(settings, progress).whole(keep)
    finally:
        torch.set_num_threads(before)


class _Run:
    def __init__(self, settings: CadrlTraining, progress: Progress) -> None:
        self._s = settings
        self._progress = progress
        streams = np.random.SeedSequence(settings.seed).spawn(2)
        self._rng = np.random.default_rng(streams[1])
        self._arena = TrainingWorlds(settings.worlds, np.random.default_rng(streams[0]), settings.norm)
        self._network = ValueNetwork(settings.seed % 2**31)
        self._chooser = Chooser(self._network, settings)
        self._memory = Memory(settings.memory)
        self._optimiser = torch.optim.Adam(self._network.parameters(), lr=settings.rate_first)
        self._ended = np.zeros(4, np.int64)

    def whole(self, keep: Keep) -> Trained:
        """Initialisation, then all rounds."""
        curve = [self._initialise()]
        self._progress(0, self._s.steps, _label(curve[-1]))
        losses = []
        for step in range(self._s.steps):
            done = step / self._s.steps
            for group in self._optimiser.param_groups:
                group["lr"] = self._s.rate_last + (self._s.rate_first - self._s.rate_last) * (1 + cos(pi * done)) / 2
            explore = max(self._s.explore_last, self._s.explore_first * (1.0 - 2.0 * done))
            self._collect(explore)
            losses.append(self._learn(self._s.batches))
            if (step + 1) % self._s.report_every == 0 or step + 1 == self._s.steps:
                curve.append(self._report(step + 1, float(np.mean(losses))))
                losses.clear()
                keep(Trained(self._network, self._s, curve))
            self._progress(step + 1, self._s.steps, _label(curve[-1]))
        return Trained(self._network, self._s, curve)

    def _initialise(self) -> dict[str, float]:
        """Learn what ORCA's walks were worth."""
        segment = Segment(self._s.walks, self._s.worlds)
        for t in range(self._s.walks):
            which = self._arena.active()
            now = self._states(which)
            reward, ending = self._arena.step(which, self._arena.orca_velocities(which))
            segment.note(t, which, now, reward, ending, np.ones(len(which), bool))
            self._count(ending)
        whole = _followed_to_the_end(segment)
        worth = segment.returns(np.zeros_like(segment.reward), 1.0)
        self._memory.add(segment.states[whole], worth[whole])
        return self._report(0, self._learn(10 * self._s.batches))

    def _states(self, which: IntArray) -> FloatArray:
        now = np.empty((len(which), FEATURES), np.float32)
        none = np.zeros((0, 3), np.float32)
        states, row = np.empty((len(which), FEATURES, 0), np.float32), np.empty((len(which), 0), np.float32)
        fan = Fan(none, np.float32(self._s.horizon), np.float32(self._s.norm))
        look_ahead_all(self._arena.learners(which), fan, self._arena.around, now, Look(states, row, row))
        return now

    def _collect(self, explore: float) -> None:
        """Some decisions of every learner into the memory."""
        segment = Segment(self._s.decisions + 1, self._s.worlds)
        for t in range(self._s.decisions):
            which = self._arena.active()
            now, best, velocities = self._chooser.look(self._arena, which)
            random = self._rng.random(len(which)) < explore
            chosen = np.where(random, self._rng.integers(0, velocities.shape[1], len(which)), best)
            reward, ending = self._arena.step(which, velocities[np.arange(len(which)), chosen])
            segment.note(t, which, now, reward, ending, ~random)
            self._count(ending)
        which = self._arena.active()
        nothing = np.zeros(len(which), np.int64)
        segment.note(-1, which, self._states(which), nothing.astype(np.float32), nothing, nothing > 0)
        value = self._chooser.values(segment.states)
        use = segment.here & segment.own
        self._memory.add(segment.states[use], segment.returns(value, self._s.trace)[use])

    def _learn(self, batches: int) -> float:
        """Mean loss over so many gradient steps."""
        total = 0.0
        for _ in range(batches):
            chosen = self._rng.integers(0, self._memory.filled, self._s.batch)
            states = torch.from_numpy(self._memory.states[chosen])
            loss = torch.nn.functional.mse_loss(self._network(states), torch.from_numpy(self._memory.worth[chosen]))
            self._optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            self._optimiser.step()
            total += loss.item()
        return total / batches

    def _count(self, ending: IntArray) -> None:
        self._ended += np.bincount(ending, minlength=4)

    def _report(self, step: int, loss: float) -> dict[str, float]:
        finished = max(int(self._ended[[REACHED, TOUCHED, LATE]].sum()), 1)
        share = {
            name: self._ended[k] / finished for name, k in (("success", REACHED), ("contact", TOUCHED), ("late", LATE))
        }
        self._ended[:] = 0
        return {"round": step, "loss": loss, **{name: float(value) for name, value in share.items()}}


def _followed_to_the_end(segment: Segment) -> Any:
    """Decisions whose episode ended within the segment by the goal or a contact."""
    whole = np.zeros_like(segment.here)
    known = np.zeros(segment.here.shape[1:], bool)
    for t in range(len(whole) - 1, -1, -1):
        known = np.where(segment.ended[t], True, known & segment.own[t])
        whole[t] = known & segment.here[t]
    return whole


def _label(row: dict[str, float]) -> str:
    return f"loss {row['loss']:.4f}, goal {row['success']:.1%}, contact {row['contact']:.1%}"


def measure_cadrl(network: ValueNetwork | None, settings: CadrlTraining, seed: int, worlds: int) -> dict[str, float]:
    """Shares of endings, and the mean reward, of the learners in ``worlds`` fixed encounters; None: ORCA's."""
    arena = TrainingWorlds(worlds, np.random.default_rng(seed), settings.norm, refill=False)
    chooser = Chooser(network, settings) if network is not None else None
    ended, earned = np.zeros(4, np.int64), 0.0
    extra: list[float] = []
    while len(which := arena.active()):
        if chooser is None:
            velocity = arena.orca_velocities(which)
        else:
            _, best, velocities = chooser.look(arena, which)
            velocity = velocities[np.arange(len(which)), best]
        reward, ending = arena.step(which, velocity)
        ended += np.bincount(ending, minlength=4) * (np.arange(4) != GOES_ON)
        earned += float(reward.sum())
        b, r = which[ending == REACHED].T
        extra += (arena.steps[b, r] * STEP_S / arena.free_time[b, r]).tolist()
    total = int(ended.sum())
    return {
        "learners": total, "success": float(ended[REACHED] / total), "contact": float(ended[TOUCHED] / total),
        "late": float(ended[LATE] / total), "reward": earned / total,
        "time_ratio": float(np.mean(extra)) if extra else float("nan"),
    }  # fmt: skip
