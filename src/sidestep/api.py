"""What ``import sidestep`` offers: run a suite, read a run, look at a record, drive an episode step by step.

Everything here is also on the command line, and both share the code below: a run made here can be read there, and the
other way round.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sidestep import registry
from sidestep.errors import BadInput, SidestepError, UnknownName
from sidestep.interfaces import PolicyLike, Suite, describe_policy
from sidestep.leaderboard.unpack import opened_runs
from sidestep.metrics.score import HEADLINES, EpisodeScores, load_metrics
from sidestep.records import load_record as _load_record
from sidestep.runs.compare import compare_runs
from sidestep.runs.executors import refuse_in_import
from sidestep.runs.finished import FinishedRun
from sidestep.runs.folder import RESULTS_FILE, episode_path, new_folder, open_results
from sidestep.runs.plan import Plan, PolicyPlan, make_plan
from sidestep.runs.provenance import sensor_files
from sidestep.runs.runner import run_benchmark
from sidestep.runs.score import score_run, summary_document
from sidestep.simulation.session import DEFAULT_NEEDS, Session
from sidestep.suites.files import FileSuite, base_of, choose_options, load_suite
from sidestep.types.record import EpisodeRecord, Mode
from sidestep.types.scenario import Scenario

if TYPE_CHECKING:
    import pandas
    import pyarrow


def run(
    suite: str | Path | Suite | Scenario | Sequence[Scenario],
    policies: PolicyLike | Sequence[PolicyLike] | Mapping[str, PolicyLike],
    *,
    out: str | Path | None = None,
    workers: int = 1,
    scenario: str | None = None,
    limit: int | None = None,
    repeat: int = 1,
    seed: int = 0,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    options: Mapping[str, Any] | None = None,
    mode: Mode = "sync",
    latency_s: float | None = None,
    replace: Iterable[str] = (),
) -> Run:
    """Run ``suite`` with one or more policies and return the run.

    ``suite`` is a name, a YAML file or folder, a ``Suite``, or scenarios. ``policies`` are names, classes or objects;
    a mapping gives them labels. Policies given by name may use ``workers`` processes; classes and objects run in this
    process, one episode after another: a class is made anew for every episode, an object is used again after ``reset``.
    A script with worker processes calls ``run`` below ``if __name__ == "__main__":``. ``settings`` maps a policy's
    label to its settings, ``options`` are the suite's. An existing folder ``out`` is resumed or extended; without it a
    new one is made in ``runs/``.
    """
    from sidestep._util.progress import progress_bar
    from sidestep.simulation.prepare import prepare_kernels

    refuse_in_import()
    chosen = choose_options(_as_suite(suite), dict(options or {}))
    names, objects = _sort_policies(policies)
    folder = new_folder(chosen.name) if out is None else Path(out)
    common: dict[str, Any] = {
        "scenario_glob": scenario, "limit": limit, "seed": seed, "repeats": repeat,
        "mode": mode, "latency_s": latency_s,
    }  # fmt: skip
    plans: list[tuple[Plan, dict[str, Any]]] = []
    if names:
        plans.append((make_plan(chosen, names, settings=settings, **common), {"workers": workers}))
    if objects:
        planned = [_plan_of(label, policy) for label, policy in objects.items()]
        plans.append((make_plan(chosen, planned, **common), {"make_policy": _maker(objects)}))
    prepare_kernels()
    replaced = set(replace)
    for plan, how in plans:
        own = [policy.name for policy in plan.policies if policy.name in replaced]
        with progress_bar("episodes") as move:
            run_benchmark(plan, folder, progress=lambda k, n, task, _: move(k, n, task.label), replaced=own, **how)
    return Run(folder)


def load_run(folder: str | Path) -> Run:
    """The run in ``folder``, made here or by ``sidestep run``."""
    return Run(Path(folder))


def load_record(file: str | Path) -> EpisodeRecord:
    """The record of one episode."""
    return _load_record(Path(file))


class Run:
    """A finished or unfinished run in its folder. Nothing is simulated here.

    Files are read when they are first needed, and only once: after the folder has changed, call ``load_run`` again.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        self.finished = FinishedRun(self.folder)
        self.plan: Plan = self.finished.plan
        """Scenarios, policies and seeds, with the versions of the code that ran."""

    @property
    def suite(self) -> str:
        """Name of the suite."""
        return self.plan.suite

    @property
    def policies(self) -> tuple[str, ...]:
        """Labels of the policies."""
        return tuple(policy.name for policy in self.plan.policies)

    @property
    def episodes(self) -> tuple[EpisodeScores, ...]:
        """Scores of every episode, policy by policy."""
        return self.finished.episodes

    @property
    def results(self) -> pyarrow.Table:
        """The long table, one row per episode and metric, as an Arrow table. Columns: docs/records.md."""
        if not (self.folder / RESULTS_FILE).is_file():
            score_run(self.finished)
        with open_results(self.folder / RESULTS_FILE) as table:
            return table.read()

    def to_pandas(self) -> pandas.DataFrame:
        """:attr:`results` as a pandas DataFrame. Needs ``pip install pandas``, which no extra of Sidestep includes."""
        try:
            import pandas  # noqa: F401
        except ImportError:
            raise SidestepError(
                "Run.to_pandas() needs pandas: pip install pandas. Run.results is the same table in Arrow"
            ) from None
        return self.results.to_pandas()

    def summary(self, dialect: str | None = None) -> Document:
        """Outcomes and means with intervals per policy: the JSON document of ``sidestep score``, shown as its table.

        ``dialect``: the set of metric definitions; by default the one in which the run was scored.
        """
        scored = self.finished.table if dialect is None else self.finished.scores(dialect)
        from sidestep.report.terminal import print_summary

        return Document(summary_document(scored), print_summary)

    def compare(
        self, *others: Run | str | Path, metrics: Sequence[str] | None = None, baseline: str | None = None
    ) -> Document:
        """Paired differences between the policies of this run and of ``others``, with intervals and corrected p: the
        JSON document of ``sidestep compare``. ``metrics`` None: the headline metrics."""
        load_metrics(metrics or ())
        folders = [Path(other) for other in others if not isinstance(other, Run)]
        from sidestep.report.terminal import print_comparison

        with opened_runs(folders) as opened:
            found = iter(opened)
            runs = [other.finished if isinstance(other, Run) else next(found) for other in (self, *others)]
            return Document(compare_runs(runs, metrics or HEADLINES, baseline), print_comparison)

    def report(self, path: str | Path | None = None, *others: Run | str | Path) -> Path:
        """Write one self-contained HTML file about this run (and ``others``); default: report.html in its folder."""
        from sidestep.report import write_report

        file = self.folder / "report.html" if path is None else Path(path)
        write_report([other.finished if isinstance(other, Run) else Path(other) for other in (self, *others)], file)
        return file

    def record(self, policy: str | None = None, scenario: str | None = None, seed: int | None = None) -> EpisodeRecord:
        """The record of one episode; what is left out is the first in the plan."""
        for asked, known, what in (
            (policy, self.policies, "policy"),
            (scenario, tuple(each.name for each in self.plan.scenarios), "scenario"),
        ):
            if asked is not None and asked not in known:
                raise UnknownName(what, asked, known, str(self.folder))
        found = next(self.records(policy, scenario, seed), None)
        if found is None:
            raise BadInput(f"{self.folder}: no such episode has been run; `run.episodes` lists those that have")
        return found

    def records(
        self,
        policy: str | None = None,
        scenario: str | None = None,
        seed: int | None = None,
        outcome: str | None = None,
    ) -> Iterator[EpisodeRecord]:
        """The records that match, one after another."""
        for each in self.episodes:
            wanted = ((policy, each.policy), (scenario, each.scenario), (seed, each.seed), (outcome, each.outcome))
            if all(asked is None or asked == found for asked, found in wanted):
                yield self.finished.load(episode_path(self.folder, each.policy, each.scenario, each.seed))

    @property
    def failures(self) -> tuple[EpisodeScores, ...]:
        """Episodes that did not succeed; ``error`` and ``traceback`` say what a broken policy did."""
        return tuple(each for each in self.episodes if each.outcome != "success")

    def __len__(self) -> int:
        return len(self.episodes)

    def __repr__(self) -> str:
        plan = self.plan
        parts = ((len(plan.policies), "policy"), (len(plan.scenarios), "scenario"), (len(plan.seeds), "seed"))
        size = " × ".join(f"{n} {_plural(word, n)}" for n, word in parts)
        done = f"{len(self) - len(self.failures)} of {len(self)} episodes succeeded"
        return f"Run({self.suite}: {size}; {done}; {self.folder})"

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{self.summary()._repr_html_()}"


class Document(dict[str, Any]):
    """The JSON document of a command, which shows itself as that command's table."""

    def __init__(self, document: dict[str, Any], print_table: Callable[[dict[str, Any], Any], None]) -> None:
        super().__init__(document)
        self._print_table = print_table

    def _text(self, width: int) -> Any:
        from rich.console import Console

        console = Console(file=StringIO(), width=width, record=True, highlight=False, force_jupyter=False)
        self._print_table(dict(self), console)
        return console

    def __repr__(self) -> str:
        text: str = self._text(80).export_text()
        return text.rstrip()

    def _repr_html_(self) -> str:
        style = "line-height: 1.2; overflow-x: auto"
        html: str = self._text(120).export_html(inline_styles=True, code_format=f'<pre style="{style}">{{code}}</pre>')
        return html


class DrivenEpisode(Session):
    """An episode that you drive: ``reset(seed)``, ``step(command)`` until it ends, ``render()``, ``record``."""

    _view: Any = None

    def reset(self, seed: int = 0) -> Any:
        """Begin a new episode in the world of ``seed`` and return the first observation."""
        self._view = None
        return super().reset(seed)

    def render(self, size: int = 640) -> Any:
        """The world from above as a Pillow image whose longer side has ``size`` pixels; notebooks show it."""
        from PIL import Image

        from sidestep.gym.environment import draw_environment, make_top_view

        if self._view is None or max(self._view.view.size) != size:
            self._view = make_top_view(self.world, size)
        return Image.fromarray(draw_environment(self._view, self.worlds, 0))

    def __repr__(self) -> str:
        state = f"{self.outcome} after {self.time:.1f} s" if self.done else f"under way at {self.time:.1f} s"
        return f"DrivenEpisode({self.scenario.suite}/{self.scenario.name}, seed {self.world.seed}: {state})"


def open_episode(
    scenario: str | Path | Scenario, *, seed: int = 0, needs: Iterable[str] = DEFAULT_NEEDS, name: str = "session"
) -> DrivenEpisode:
    """An episode of ``scenario`` to be driven step by step.

    ``scenario`` is ``"SUITE/NAME"``, a scenario's name in a bundled suite (``"plaza"``), a YAML file with one scenario,
    or a ``Scenario``. ``needs`` names what observations hold: goal, pedestrians, lidar, rgb, map, route, …
    """
    found, base = _find_scenario(scenario)
    driven = DrivenEpisode(found, needs=needs, name=name, base=base)
    if seed:
        driven.reset(seed)
    return driven


def _find_scenario(reference: str | Path | Scenario) -> tuple[Scenario, Path | None]:
    if isinstance(reference, Scenario):
        return reference, None
    text = str(reference)
    if Path(text).exists():
        suite, wanted = load_suite(text), None
    elif "/" in text:
        suite_name, _, wanted = text.partition("/")
        suite = load_suite(suite_name)
    else:
        for name in registry.names("suites"):
            suite = load_suite(name)
            if text in (each.name for each in suite.scenarios()):
                return _pick(suite, text)
        core = [each.name for each in load_suite("core").scenarios()]
        raise UnknownName("scenario", text, core, "the bundled suites")
    return _pick(suite, wanted)


def _pick(suite: Suite, name: str | None) -> tuple[Scenario, Path | None]:
    found = {each.name: each for each in suite.scenarios()}
    if name is None and len(found) != 1:
        raise BadInput(f"suite {suite.name!r} has {len(found)} scenarios; choose one: {suite.name}/{next(iter(found))}")
    if name is not None and name not in found:
        raise UnknownName("scenario", name, found, f"suite {suite.name}")
    return found[name or next(iter(found))], base_of(suite)


def _as_suite(given: str | Path | Suite | Scenario | Sequence[Scenario]) -> Suite:
    if isinstance(given, str | Path):
        return load_suite(given)
    if isinstance(given, Suite):
        return given
    scenarios = (given,) if isinstance(given, Scenario) else tuple(given)
    if not scenarios or not all(isinstance(each, Scenario) for each in scenarios):
        raise BadInput("a suite is a name, a path, a Suite, a Scenario or a list of scenarios")
    return FileSuite(scenarios[0].suite, "scenarios given in Python", Path.cwd(), scenarios)


def _sort_policies(given: Any) -> tuple[list[str], dict[str, Any]]:
    """References as on the command line, ``LABEL=REFERENCE`` where labelled; and label → class or object."""
    if isinstance(given, Mapping):
        pairs = [(str(label), policy) for label, policy in given.items()]
    else:
        several = list(given) if isinstance(given, list | tuple | set | frozenset) else [given]
        pairs = [("", policy) for policy in several]
    names: list[str] = []
    objects: dict[str, Any] = {}
    for label, policy in pairs:
        if isinstance(policy, str):
            names.append(policy if label in ("", policy) else f"{label}={policy}")
            continue
        name = label or registry.name_of(policy)
        if name in registry.POLICIES:
            raise BadInput(f"{name!r} is the name of a bundled policy; give yours a label: {{'my_{name}': {name}}}")
        if name in objects:
            raise BadInput(f"two policies are called {name!r}; give them labels: {{'a': …, 'b': …}}")
        objects[name] = policy
    return names, objects


def _plan_of(label: str, policy: Any) -> PolicyPlan:
    made = registry.as_policy(policy)
    return PolicyPlan(
        name=label,
        settings=dict(made.settings),
        version=f"{made.version} {_source_hash(policy)}".strip(),
        files=sensor_files(made.needs),
        privileged=describe_policy(made).privileged,
    )


def _source_hash(policy: Any) -> str:
    """Changes when the class's code does; empty where Python cannot see the code."""
    try:
        source = inspect.getsource(policy if isinstance(policy, type) else type(policy))
        return "source " + hashlib.sha256(source.encode()).hexdigest()[:16]
    except (OSError, TypeError):
        return ""


def _maker(objects: dict[str, Any]) -> Any:
    def make_policy(task: Any) -> Any:
        return registry.as_policy(objects[task.policy.name]) if task.policy.name in objects else None

    return make_policy


def _plural(word: str, count: int) -> str:
    if count == 1:
        return word
    return word.removesuffix("y") + "ies" if word.endswith("y") else word + "s"
