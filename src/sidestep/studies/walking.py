"""Walking in the simulation: a page drives a person at 20 Hz while a policy drives the robot.

The page draws; the server steps and paces. Worker processes hold the episodes, so that many participants walk at once
and no answers are lost if a policy crashes. A page that is closed, frozen or hidden stops the clock of its walk. A walk
resumes where it stopped, unless the server or its worker has restarted: then it begins again, and only complete walks
are stored. A key goes from ``static/walk.js`` to ``take``, with the next ``_step`` to ``walk_worker``, and there to
``LiveEpisode.step``.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from math import ceil
from time import monotonic, perf_counter
from typing import Annotated, Any, Literal

from fastapi import APIRouter, WebSocket, WebSocketDisconnect
from pydantic import Field, TypeAdapter

from sidestep._util.web import POLICY_VIOLATION, REPLACED, TRY_AGAIN, Count, Message, error_text, parse_message
from sidestep._util.websockets import PageConnection, TooManyMessages
from sidestep.errors import BadInput, SidestepError
from sidestep.studies import walk_worker
from sidestep.studies.access import RateLimit, Refused
from sidestep.studies.definition import Study
from sidestep.studies.site import Site, log, log_text
from sidestep.studies.store import Stage
from sidestep.studies.texts import Say, error_in, say_in
from sidestep.studies.walk_pool import Workers
from sidestep.studies.walk_worker import WalkOrder

LONGEST = 400
"""Maximum length of a message of the page in bytes."""
FRAMES_AHEAD = 3
"""Maximum number of frames that the page has not drawn yet."""
TOO_MANY = "the page has sent too many messages; wait a minute and reload it"
MOST_AT_ONCE, MOST_PER_S = 120, 60.0
"""Limits of messages of a page, which sends 20 a second and one for every key."""
REFUSED_S = 1.0
"""Seconds that an address has to wait if it opens walks again and again."""
MOST_WALKS = 300
IDLE_S = 900.0
"""Seconds after which a walk without a page is dropped."""


class WalkControls(Message):
    """What the participant does now. The page sends it after every frame that it has drawn, and on every change."""

    type: Literal["controls"]
    number: Count
    seen: Count
    """Number of the last frame that was drawn."""
    forward: Annotated[float, Field(ge=-2, le=2)]
    sideways: Annotated[float, Field(ge=-2, le=2)]
    turn: Annotated[float, Field(ge=-4, le=4)]
    wave: bool
    view: Literal["first", "top"] = "first"
    input: Literal["keys", "touch", "gamepad"] = "keys"
    """The input device that was used last."""


class ClockRequest(Message):
    """``go`` starts or resumes the clock; ``pause`` stops it."""

    type: Literal["go", "pause"]


_PAGE_MESSAGE: TypeAdapter[WalkControls | ClockRequest] = TypeAdapter(
    Annotated[WalkControls | ClockRequest, Field(discriminator="type")]
)
STANDING = WalkControls(type="controls", number=0, seen=0, forward=0.0, sideways=0.0, turn=0.0, wave=False)


def read_message(text: str | None) -> WalkControls | ClockRequest:
    """Read a message of the page. Raises ``BadInput`` with the field that is wrong."""
    message: WalkControls | ClockRequest = parse_message(_PAGE_MESSAGE, text, LONGEST)
    return message


class Pace:
    """Number of steps in the slowest second of a walk, without the time in which the page was paused or frozen."""

    def __init__(self) -> None:
        self.slowest_hz: float | None = None
        """None during the first second of the walk."""
        self._begun, self._times = 0.0, deque[float]()

    def rest(self, at: float) -> None:
        """Note that the walk waits for its page."""
        self._begun = at
        self._times.clear()

    def note(self, at: float) -> None:
        """Note that a step was made."""
        self._begun = self._begun or at
        while self._times and self._times[0] <= at - 1.0:
            self._times.popleft()
        if at - self._begun >= 1.0:
            rate = float(len(self._times))
            self.slowest_hz = rate if self.slowest_hz is None else min(self.slowest_hz, rate)
        self._times.append(at)


class Manner:
    """How the participant walked: seconds of the walk per view and per input device, and pauses."""

    def __init__(self) -> None:
        self._views, self._inputs = Counter[str](), Counter[str]()
        self._pauses, self._paused_s, self._since = 0, 0.0, 0.0

    def note(self, controls: WalkControls, step_s: float) -> None:
        """Note that a step was made."""
        self._views[controls.view] += step_s  # type: ignore[assignment]
        if controls.forward or controls.sideways or controls.turn or controls.wave:
            self._inputs[controls.input] += step_s  # type: ignore[assignment]

    def pause(self, at: float) -> None:
        """Note that the clock has stopped, by the participant or because the page has gone."""
        if self._views and not self._since:
            self._pauses, self._since = self._pauses + 1, at

    def resume(self, at: float) -> None:
        """Note that the clock runs again."""
        if self._since:
            self._paused_s, self._since = self._paused_s + at - self._since, 0.0

    def document(self) -> dict[str, Any]:
        """Plain data, as ``export.MANNER_COLUMNS``: the view and the input that were used most, and times in s."""
        return {
            "view": _most(self._views),
            "input": _most(self._inputs),
            **{f"{name}_view_s": round(self._views[name], 2) for name in ("first", "top")},
            **{f"{name}_s": round(self._inputs[name], 2) for name in ("keys", "touch", "gamepad")},
            "pauses": self._pauses,
            "paused_s": round(self._paused_s, 2),
        }


def _most(seconds: Counter[str]) -> str | None:
    return max(seconds, key=seconds.__getitem__) if seconds else None


@dataclass
class Walk:
    """A walk that has begun. ``key`` names it to its worker."""

    key: str
    token: str
    position: int
    worker: int
    scene: str = ""
    state: str = ""
    step_s: float = 0.05
    done: bool = False
    frame: int = 0
    pace: Pace = field(default_factory=lambda: Pace())
    manner: Manner = field(default_factory=lambda: Manner())
    connection: _WalkConnection | None = None
    left: float = field(default_factory=monotonic)


class Walks:
    """All walks of the server."""

    def __init__(self, site: Site, processes: int = 0) -> None:
        self._site, self.workers = site, Workers(processes)
        self._walks: dict[str, Walk] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._messages = RateLimit(MOST_AT_ONCE, MOST_PER_S)
        self._connections = RateLimit(20, 0.5)
        """Limit per participant, because opening the page again must not allow more messages."""

    async def visit(self, page: WebSocket, token: str) -> None:
        """Let a page walk until it leaves, the walk is over, or another page takes its place."""
        language = await asyncio.to_thread(self._site.language, page)
        connection = _WalkConnection(page, say_in(language), lambda: self._messages.allows(token))
        try:
            self._connections.check(token, "requests")
            stage = await asyncio.to_thread(self._site.store.stage, token)
            if not self._is_to_walk(stage):
                await connection.send('{"type":"kept"}')
                return
            async with self._locks.setdefault(token, asyncio.Lock()):
                walk = await self._walk_of(stage, token)
                if walk.connection is not None:
                    walk.connection.replaced.set()
                    await walk.connection.gone.wait()
                walk.connection = connection
            await self._attend(walk, connection)
        except SidestepError as error:
            log.warning("walk: %s", log_text(error))
            is_stranger = isinstance(error, Refused) and error.status == 404
            if not is_stranger or self._site.strangers.allows(self._site.client(page)):
                with suppress(WebSocketDisconnect):
                    await connection.send(error_text(error_in(language, error)))
            await connection.close(TRY_AGAIN)

    @staticmethod
    def _is_to_walk(stage: Stage) -> bool:
        if stage.info.study.mode != "walk" or not stage.consented:
            raise Refused(409, "there is no walk to start now; reload the page")
        return stage.trial is not None and stage.trial.experienced is None

    async def _walk_of(self, stage: Stage, token: str) -> Walk:
        assert stage.trial is not None
        walk = self._walks.get(token)
        if walk is not None and walk.position == stage.trial.position:
            return walk
        await self._forget(token)
        await self._forget_idle()
        if len(self._walks) >= MOST_WALKS:
            raise Refused(503, "too many participants are walking at the moment; please try again in a minute")
        order = order_of(stage)
        walk = Walk(f"{token}/{stage.trial.position}", token, stage.trial.position, self.workers.place())
        self._walks[token] = walk
        try:
            walk.scene, walk.state, walk.step_s = await self.workers.begin(walk.worker, walk.key, order)
        except BaseException:
            await self._forget(token)
            raise
        return walk

    async def _attend(self, walk: Walk, connection: _WalkConnection) -> None:
        work = self._step(walk, connection), connection.listen(), connection.replaced.wait()
        tasks = [asyncio.create_task(each) for each in work]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if connection.replaced.is_set():
                await connection.close(REPLACED)
            for task in done:
                error = task.exception()
                if isinstance(error, Refused):
                    await self._forget(walk.token)
                if error is not None and not isinstance(error, WebSocketDisconnect):
                    raise error
        finally:
            for task in tasks:
                task.cancel()
            walk.left = monotonic()
            if not walk.done:
                walk.manner.pause(perf_counter())
            if walk.connection is connection:
                walk.connection = None
            connection.gone.set()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _step(self, walk: Walk, connection: _WalkConnection) -> None:
        """Pace the walk: one step every ``step_s``, never far ahead of what the page has drawn."""
        await connection.send(f'{{"type":"scene","scene":{walk.scene}}}')
        walk.frame += 1
        first = walk.frame
        await connection.send(_state_text(walk, 0))
        due = ceil(perf_counter() / walk.step_s) * walk.step_s  # walks step together, which costs less
        while not walk.done:
            if not connection.going or walk.frame - max(connection.controls.seen, first - 1) > FRAMES_AHEAD:
                if not connection.going:
                    walk.manner.pause(perf_counter())
                await connection.news.wait()
                connection.news.clear()
                walk.pace.rest(perf_counter())
                continue
            walk.manner.resume(perf_counter())
            at = perf_counter()
            due = max(due + walk.step_s, at - walk.step_s)  # a late step is made up for
            if due > at:
                await asyncio.sleep(due - at)
            given = connection.controls
            person = {
                "forward_mps": given.forward, "sideways_mps": given.sideways, "turn_rad_s": given.turn,
                "wave": given.wave,
            }  # fmt: skip
            walk.state, walk.done = await self.workers.step(walk.worker, walk.key, person)
            walk.frame += 1
            walk.pace.note(perf_counter())
            walk.manner.note(given, walk.step_s)
            await connection.send(_state_text(walk, given.number))
        await asyncio.shield(self._keep(walk))
        await connection.send('{"type":"kept"}')

    async def _keep(self, walk: Walk) -> None:
        outcome, digest, record, flag = await self.workers.call(walk.worker, walk_worker.finish, walk.key)
        keep, slowest, manner = self._site.store.keep_walk, walk.pace.slowest_hz, walk.manner.document()
        await asyncio.to_thread(
            keep, walk.token, walk.position, outcome, digest, record, slowest, manner=manner, flag=flag
        )
        await self._forget(walk.token)

    async def _forget(self, token: str) -> None:
        walk = self._walks.pop(token, None)
        if walk is not None:
            self.workers.leave(walk.worker)
            with suppress(SidestepError):
                await self.workers.call(walk.worker, walk_worker.drop, walk.key)

    async def _forget_idle(self) -> None:
        before = monotonic() - IDLE_S
        for walk in [each for each in self._walks.values() if each.connection is None and each.left < before]:
            await self._forget(walk.token)
            self._locks.pop(walk.token, None)


def order_of(stage: Stage) -> WalkOrder:
    """The episode of the present trial."""
    study, trial = stage.info.study, stage.trial
    assert trial is not None
    policy = next(each for each in study.policies if each.name == trial.policy)
    return WalkOrder(
        suite=study.suite,
        options=json.dumps(study.options, sort_keys=True),
        scenario=trial.scenario,
        policy=policy.reference,
        settings=json.dumps(policy.settings, sort_keys=True),
        seed=trial.seed,
    )


def rehearsals(study: Study, scenarios: int | None = None) -> list[WalkOrder]:
    """One walk of every policy in every scenario, or in the first few."""
    return [
        WalkOrder(
            study.suite, json.dumps(study.options, sort_keys=True), scenario.name, policy.reference,
            json.dumps(policy.settings, sort_keys=True), 0,
        )
        for policy in study.policies
        for scenario in study.scenarios[:scenarios]
    ]  # fmt: skip


def _state_text(walk: Walk, follows: int) -> str:
    return f'{{"type":"state","frame":{walk.frame},"follows":{follows},"state":{walk.state}}}'


class _WalkConnection(PageConnection):
    """The page of a walk: its newest controls, and whether it has started the clock."""

    def __init__(self, page: WebSocket, say: Say, may_send: Callable[[], bool]) -> None:
        """``may_send`` is called for every message: whether the page has not sent too many."""
        super().__init__(page)
        self._say, self._may_send = say, may_send
        self.controls, self.going = STANDING, False

    def take(self, text: str | None) -> None:
        """Keep controls; start or stop the clock."""
        if not self._may_send():
            log.warning("closed a walk whose page has sent too many messages")
            raise TooManyMessages(self._say(TOO_MANY))
        try:
            message = read_message(text)
        except BadInput as error:
            log.warning("refused a message of a walk: %s", error)
            raise
        if isinstance(message, WalkControls):
            self.controls = message
        else:
            self.going = message.type == "go"


def make_walk_routes(site: Site, walks: Walks) -> APIRouter:
    """The websocket of walks."""
    router = APIRouter()

    @router.websocket("/p/{token}/walk")
    async def walk(page: WebSocket, token: str) -> None:
        if not (site.knows_host(page) and site.is_own_page(page)):
            await page.close(POLICY_VIOLATION)
            return
        if not site.sockets.allows(site.client(page)):
            await asyncio.sleep(REFUSED_S)
            await page.close(POLICY_VIOLATION)
            return
        await page.accept()
        with suppress(asyncio.CancelledError, WebSocketDisconnect):  # the server ends; the page has gone
            await walks.visit(page, token)

    return router
