"""A learned predictor from an ONNX file: the CVAE that ``sidestep predict train`` writes, or anybody's network that
keeps the same spec (docs/predictors.md). Needs the extra ``onnx``, not torch.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, ValidationError

from sidestep._util import exact
from sidestep._util.onnx import open_network, read_network
from sidestep.errors import BadInput
from sidestep.interfaces import MomentPredictor
from sidestep.prediction.ground import draw_ground
from sidestep.prediction.predictors.network_input import (
    SPAN_M,
    STEP_S,
    STEPS,
    FrameKind,
    GroundWindows,
    channels_of,
    frame_turn,
    history_input,
    parse_features,
    turned,
)
from sidestep.types.base import FloatArray, IntArray, Model, Positive
from sidestep.types.forecast import Ego, MixtureForecast, TrackHistory
from sidestep.types.interactions import GROUND
from sidestep.types.moments import Moments
from sidestep.types.scene import CompiledScene

SPEC_KEY = "sidestep_predictor"
"""Key of the spec in the file's metadata."""
AT_ONCE = 512
PRESENT_SD_M = 0.05
"""Standard deviation of the present position, from which forecasts before the first horizon grow."""
NEEDS_OF = {"map": {"map"}, "egodist": {"ego"}, "head&body": {"head", "body"}, "motion": set[str]()}


class NetworkSpec(Model):
    """Inputs and outputs of a network; its file has them as JSON in the metadata under ``sidestep_predictor``."""

    features: str
    """One of ``FEATURE_SETS``."""
    frame: FrameKind
    """Frame of input and output: ``world`` or ``heading``."""
    cells: Annotated[int, Field(ge=0, le=4096)] = 0
    """Number of cells along each side of the map window of 25.6 m; 0 without the feature ``map``."""
    latent: Annotated[int, Field(ge=0, le=4096)]
    """Numbers of a latent z."""
    horizons_s: tuple[Positive, ...]
    classes: tuple[str, ...] = GROUND
    """Classes of ground in the order of their numbers in the window."""


class CvaeSettings(Model):
    """Which network, and how many alternatives it gives."""

    file: str
    """Path of the ONNX file."""
    modes: int = 50
    """Latents that are drawn, each a mode of the mixture."""
    seed: int = 0
    """Seed of the latents; every forecast uses the same latents."""
    threads: int = 1


class Cvae(MomentPredictor):
    """A mixture of equally likely Gaussians, one for each of K latents z_k ~ N(0, I) that are drawn once:

        p(x | past, map) = 1/K Σ_k N(x; μ(past, map, z_k), Σ(past, map, z_k)).

    The network knows certain horizons (1, 2, 3 and 4 s); at others, means and Cholesky factors are interpolated
    linearly, from the present position on, and go on beyond the last one. The conditional variational autoencoder is
    that of Sohn, Lee and Yan (NeurIPS 2015).
    """

    name = "cvae"
    summary = "a trained conditional variational autoencoder, or another network, from an ONNX file"
    citation = (
        "Sohn, Lee, Yan, Learning Structured Output Representation using Deep Conditional Generative Models (2015)"
    )
    extras: ClassVar[tuple[str, ...]] = ("onnx",)
    needs: ClassVar[frozenset[str]] = frozenset({"map", "ego", "head", "body"})
    """The most that a network may need; an object needs what its file's features need."""
    history_s: ClassVar[float] = 1.0
    looks_at_others: ClassVar[bool] = False

    def __init__(self, **settings: Any) -> None:
        """Settings: the fields of :class:`CvaeSettings`."""
        s = self._settings = CvaeSettings.parse(settings, "predictor cvae")
        self.settings: dict[str, Any] = s.model_dump()
        self._network, self.spec = load_forecast_network(s.file, s.threads)
        parts = self.spec.features.split("+")
        self.needs = frozenset().union(*(NEEDS_OF[part] for part in parts))  # type: ignore[misc]  # of this object
        self._z = exact.normal(np.random.default_rng(s.seed), size=(s.modes, self.spec.latent)).astype(np.float32)
        self._drawn: tuple[CompiledScene, GroundWindows] | None = None

    def predict(
        self, history: TrackHistory, horizons_s: FloatArray, scene: CompiledScene | None = None, ego: Ego | None = None
    ) -> MixtureForecast:
        """The mixture of everybody; people who were not seen for a whole second seem to have stood before."""
        moments = _moments(history, np.asarray(horizons_s, np.float64), ego)
        windows, ground = None, np.full(len(history), -1)
        if self.spec.cells and scene is not None and scene.spec.regions:
            windows, ground = self._windows_of(scene), np.zeros(len(history), np.int64)
        return self._forecast(moments, windows, ground)

    def predict_moments(self, moments: Moments) -> MixtureForecast:
        """The mixtures of all moments."""
        windows = GroundWindows(moments.grounds, self.spec.cells) if self.spec.cells else None
        return self._forecast(moments, windows, moments.ground)

    def _windows_of(self, scene: CompiledScene) -> GroundWindows:
        if self._drawn is None or self._drawn[0] is not scene:
            cell_m = max(0.1, SPAN_M / self.spec.cells / 2.0)
            self._drawn = scene, GroundWindows((draw_ground(scene.spec, cell_m),), self.spec.cells)
        return self._drawn[1]

    def _forecast(self, moments: Moments, windows: GroundWindows | None, ground: IntArray) -> MixtureForecast:
        spec = self.spec
        count, modes = len(moments), len(self._z)
        means: FloatArray = np.zeros((count, modes, len(spec.horizons_s), 2))
        factors: FloatArray = np.zeros((*means.shape, 2))
        turn = frame_turn(moments.past, spec.frame)
        history = history_input(moments, spec.features, turn)
        now = moments.past[:, -1]
        for first in range(0, count, AT_ONCE):
            rows = slice(first, first + AT_ONCE)
            inputs = {"history": history[rows], "z": np.repeat(self._z[None], len(history[rows]), axis=0)}
            if spec.cells:
                inputs["window"] = (
                    np.zeros((len(history[rows]), spec.cells, spec.cells), np.uint8)
                    if windows is None
                    else windows.cut(ground[rows], now[rows], turn[rows])
                )
            mean, factor = self._network.run(["mean", "cholesky"], inputs)
            means[rows] = now[rows, None, None] + turned(mean.astype(np.float64), -turn[rows])
            factors[rows] = np.swapaxes(turned(np.swapaxes(factor.astype(np.float64), -1, -2), -turn[rows]), -1, -2)
        means, factors = self._at(moments.horizons_s, now, means, factors)
        a, b, c, d = (factors[..., row, column] for row in (0, 1) for column in (0, 1))
        across = a * c + b * d
        covariances = np.stack([a * a + b * b, across, across, c * c + d * d], axis=-1).reshape(factors.shape)
        return MixtureForecast(moments.horizons_s, means, covariances, np.full((count, modes), 1.0 / modes))

    def _at(
        self, horizons_s: FloatArray, now: FloatArray, means: FloatArray, factors: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Means and factors at other horizons than the network's."""
        known = np.array(self.spec.horizons_s)
        if len(known) == len(horizons_s) and np.allclose(known, horizons_s):
            return means, factors
        times = np.concatenate([[0.0], known])
        here = np.broadcast_to(now[:, None, None], (*means.shape[:2], 1, 2))
        sure = np.broadcast_to(PRESENT_SD_M * np.eye(2), (*means.shape[:2], 1, 2, 2))
        path, spread = np.concatenate([here, means], axis=2), np.concatenate([sure, factors], axis=2)
        k = np.clip(np.searchsorted(times, horizons_s) - 1, 0, len(times) - 2)
        share = (horizons_s - times[k]) / (times[k + 1] - times[k])
        along = share[None, None, :, None]
        wide = np.minimum(along, 1.0)[..., None]
        return (
            path[:, :, k] * (1.0 - along) + path[:, :, k + 1] * along,
            spread[:, :, k] * (1.0 - wide) + spread[:, :, k + 1] * wide,
        )


def _moments(history: TrackHistory, horizons_s: FloatArray, ego: Ego | None) -> Moments:
    """The people of a history as moments of one second in steps of 0.1 s."""
    people, steps = len(history), STEPS + 1
    times = -STEP_S * np.arange(steps)[::-1]
    own = -history.step_s * np.arange(len(history.position))[::-1]
    past = np.zeros((people, steps, 2))
    angles = {name: np.full((people, steps), np.nan) for name in ("body", "head")}
    nearest = np.clip(np.rint(times / history.step_s).astype(int) + len(own) - 1, 0, len(own) - 1)
    for name, values in (("body", history.body), ("head", history.head)):
        if values is not None:
            angles[name] = values[nearest].T
    for person in range(people):
        seen = np.isfinite(history.position[:, person]).all(axis=1)
        for axis in (0, 1):
            past[person, :, axis] = exact.interp(times, own[seen], history.position[seen, person, axis])
    return Moments(
        step_s=STEP_S,
        horizons_s=horizons_s,
        past=past,
        ego=np.repeat(_ego_past(ego, times, history.step_s)[None], people, axis=0),
        ego_speed=np.full(people, 0.0 if ego is None else ego.state.speed),
        ego_size=np.zeros((people, 2)),
        body=angles["body"],
        head=angles["head"],
        ground=np.full(people, -1),
    )


def _ego_past(ego: Ego | None, times: FloatArray, step_s: float) -> FloatArray:
    """(T, 3) the middle of the vehicle at ``times``; NaN where it is unknown."""
    if ego is None:
        return np.full((len(times), 3), np.nan)
    state = ego.state
    if ego.past is None:
        poses = np.stack(
            [state.x + times * state.vx, state.y + times * state.vy, np.full(len(times), state.heading)], 1
        )
    else:
        rows = np.clip(np.rint(times / step_s).astype(int) + len(ego.past) - 1, 0, len(ego.past) - 1)
        poses = ego.past[rows].astype(np.float64)
    ahead = 0.0 if ego.body is None else ego.body[2]
    sine, cosine = exact.sincos(poses[:, 2])
    poses[:, 0] += ahead * cosine
    poses[:, 1] += ahead * sine
    return poses


def load_forecast_network(file: str, threads: int = 1) -> tuple[Any, NetworkSpec]:
    """A session of onnxruntime and the spec of its file; ``BadInput`` unless they fit."""
    data, path = read_network(file, "write one with `sidestep predict train`")
    session = open_network(data, path, threads)
    try:
        text = session.get_modelmeta().custom_metadata_map.get(SPEC_KEY)
    except UnicodeDecodeError:
        raise BadInput(f"{path}: its metadata is not text; export the network again") from None
    if text is None:
        raise BadInput(f"{path}: its metadata has no {SPEC_KEY!r}; docs/predictors.md says what a network must have")
    try:
        spec = NetworkSpec.model_validate_json(text)
    except ValidationError as error:
        raise BadInput(f"{path}: {SPEC_KEY}: {error.errors()[0]['msg']}") from None
    _check_spec(path, session, spec)
    return session, spec


def _check_spec(where: str, session: Any, spec: NetworkSpec) -> None:
    features = parse_features(spec.features)
    has_map = "map" in features.split("+")
    if features != spec.features or has_map != (spec.cells > 0) or spec.classes != GROUND:
        raise BadInput(
            f"{where}: features {spec.features!r:.60}, {spec.cells} cells and classes {spec.classes!s:.120} do not fit"
        )
    expected: dict[str, list[int]] = {"history": [STEPS, channels_of(features)], "z": [spec.latent]}
    if has_map:
        expected["window"] = [spec.cells, spec.cells]
    found = {each.name: list(each.shape)[2 if each.name == "z" else 1 :] for each in session.get_inputs()}
    if found != expected:
        raise BadInput(f"{where}: has the inputs {found!s:.300}; expected {expected} behind the free dimensions")
    outputs = [each.name for each in session.get_outputs()]
    if outputs != ["mean", "cholesky"]:
        raise BadInput(f"{where}: has the outputs {outputs!s:.200}; expected ['mean', 'cholesky']")
