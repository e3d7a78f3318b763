"""The pages of the board: an index, a page per suite and entry, the report of every pack, and ``board.json``."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from markupsafe import Markup

from sidestep._util.writing import whole_file, write_whole
from sidestep.errors import BadInput, SidestepError
from sidestep.interfaces import Metric
from sidestep.leaderboard.bundled import split_of
from sidestep.leaderboard.duplicates import Place
from sidestep.leaderboard.entries import BoardEntry, Settle, make_entries, with_contradictions, with_labels
from sidestep.leaderboard.groups import Group, entry_json, make_groups
from sidestep.leaderboard.held_out import HeldOut
from sidestep.leaderboard.unpack import Pack, unpacked
from sidestep.leaderboard.verify_pack import PackVerification, check_unpacked, run_disputed
from sidestep.metrics.score import load_metrics
from sidestep.render.top_view import palette
from sidestep.report.html import write_report
from sidestep.report.selection import policy_colours
from sidestep.report.summary import Summary, summarise_episodes
from sidestep.report.viewer.page import style, templates
from sidestep.runs.folder import safe_name
from sidestep.runs.sampling import new_nonce
from sidestep.types.outcome import Outcome
from sidestep.version import __version__

BOARD_FORMAT = 1
BOARD_FILE = "board.json"
RANK_BY = "success"
VERIFY = 5
"""Number of episodes of each policy that are run again: of few all, of many a sample."""


@dataclass(frozen=True)
class Settings:
    """Settings of a board. ``verify`` is the number of episodes of each policy to run again, drawn with ``nonce``; with
    ``trust``, policies that are not bundled are run too."""

    title: str = "Leaderboard"
    rank_by: str = RANK_BY
    verify: int = VERIFY
    workers: int = 1
    trust: bool = False
    reports: bool = True
    packs: bool = True
    """Whether packs are copied to the site, so that readers can check them."""
    nonce: str = field(default_factory=new_nonce)
    keys: Mapping[str, str] | None = None
    """Public key → name: only packs signed by one of these are ranked. None: all."""
    need_rerun: bool = True
    """Whether entries need an episode that was run again for a rank."""


@dataclass(frozen=True, eq=False)
class Board:
    """The contents of the pages."""

    settings: Settings
    entries: tuple[BoardEntry, ...]
    refused: tuple[tuple[str, str], ...]
    """File name and reason of packs that cannot be read."""
    held_out: tuple[HeldOut, ...]
    written: str
    groups: dict[str, list[Group]] = field(default_factory=dict)
    """Groups by suite."""

    @property
    def unranked(self) -> list[BoardEntry]:
        """Entries with a reason against them."""
        return [entry for entry in self.entries if entry.reasons]

    def as_json(self) -> dict[str, Any]:
        """The contents of ``board.json``."""
        return {
            "format": BOARD_FORMAT,
            "title": self.settings.title,
            "written": self.written,
            "sidestep": __version__,
            "rank_by": self.settings.rank_by,
            "verify": self.settings.verify,
            "nonce": self.settings.nonce,
            "keys": None if self.settings.keys is None else dict(self.settings.keys),
            "held_out": [each.as_json() for each in self.held_out],
            "suites": {suite: [group.as_json() for group in groups] for suite, groups in self.groups.items()},
            "unranked": [entry_json(entry) for entry in self.unranked],
            "refused": [{"pack": name, "reason": reason} for name, reason in self.refused],
        }


Progress = Callable[[int, int, str], None]


def write_board(
    packs: Sequence[Path],
    out: Path,
    settings: Settings | None = None,
    held_out: Sequence[HeldOut] = (),
    progress: Progress | None = None,
) -> Board:
    """Check every pack and write the site into the folder ``out``. A pack that cannot be read is listed as refused."""
    settings = settings or Settings()
    [metric] = load_metrics([settings.rank_by])
    if metric.direction == "none":
        raise BadInput(f"--rank-by {settings.rank_by}: the metric has no better direction; choose another one")
    written = datetime.now(UTC)
    entries: list[BoardEntry] = []
    refused: list[tuple[str, str]] = []
    places: dict[str, Path] = {}
    for number, path in enumerate(packs):
        if progress is not None:
            progress(number, len(packs), path.name)
        try:
            with unpacked(path) as pack:
                if pack.sha256 in places:
                    raise BadInput(f"{path}: this pack was given twice")
                places[pack.sha256] = path
                found = _check(pack, settings)
                new = make_entries(found, held_out, written.date().isoformat(), __version__, settings.need_rerun)
                _publish(found, new, out, settings)
        except SidestepError as error:
            refused.append((path.name, str(error).removeprefix(f"{path}: ").replace(str(path), path.name)))
            continue
        entries += new
    if not entries:
        reason = refused[0][1] if refused else "none was given"
        raise BadInput(f"no pack can be shown: {reason}")
    settle = _settling(places, settings.workers) if settings.verify else None
    labelled = with_labels(with_contradictions(entries, settle))
    groups = _groups_by_suite(labelled, settings.rank_by)
    moment = written.strftime("%Y-%m-%d %H:%M UTC")
    board = Board(settings, tuple(labelled), tuple(refused), tuple(held_out), moment, groups)
    _write_pages(board, metric, out)
    return board


def _groups_by_suite(entries: Sequence[BoardEntry], rank_by: str) -> dict[str, list[Group]]:
    suites = dict.fromkeys(entry.suite for entry in entries)
    return {suite: make_groups([each for each in entries if each.suite == suite], rank_by) for suite in suites}


def _settling(places: Mapping[str, Path], workers: int) -> Settle:
    """What runs disputed episodes of an entry again; ``places`` are the packs by their hash."""

    def settle(entry: BoardEntry, disputed: Sequence[Place]) -> bool | None:
        try:
            return run_disputed(places[entry.sha256], entry.policy, disputed, workers)
        except SidestepError:
            return None

    return settle


def _check(pack: Pack, settings: Settings) -> PackVerification:
    return check_unpacked(
        pack,
        settings.verify,
        settings.workers,
        trust=settings.trust,
        each=True,
        nonce=settings.nonce,
        keys=settings.keys,
    )


def _publish(found: PackVerification, entries: Sequence[BoardEntry], out: Path, settings: Settings) -> None:
    """Copy the pack to the site and, if it has no problems, write its report."""
    pack = found.pack
    if settings.packs:
        target = out / "packs" / pack_file(entries[0])
        target.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(target) as temporary:
            shutil.copyfile(pack.path, temporary)
    if settings.reports and found.ok and all(entry.track for entry in entries):
        write_report([found.audit.run], out / "reports" / f"{pack.sha256[:10]}.html")


def pack_file(entry: BoardEntry) -> str:
    """File name of a pack on the site."""
    return f"{entry.sha256[:10]}-{safe_name(entry.pack)}"


def suite_file(suite: str) -> str:
    """File name of a suite's page."""
    return f"{safe_name(suite)}.html"


def _write_pages(board: Board, metric: Metric, out: Path) -> None:
    from sidestep.report.summary import TITLES

    environment = templates("sidestep.leaderboard")
    sheet = Markup(f"{style(['report.css'])}\n{_static('board.css')}")
    shared = {
        "board": board,
        "style": sheet,
        "script": Markup(_static("board.js")),
        "version": __version__,
        "rank_title": TITLES.get(metric.name, metric.name.replace("_", " ").capitalize()),
        "suite_file": suite_file,
        "pack_file": pack_file,
        "split_of": split_of,
        "outcomes": outcome_parts,
    }
    _write(out / "index.html", environment.get_template("board_index.html.j2").render(**shared))
    for suite, groups in board.groups.items():
        unranked = [entry for entry in board.unranked if entry.suite == suite]
        colours = policy_colours(list(dict.fromkeys(each.label for each in board.entries if each.suite == suite)))
        page = environment.get_template("board_suite.html.j2").render(
            **shared, suite=suite, groups=groups, unranked=unranked, colours=colours
        )
        _write(out / "suites" / suite_file(suite), page)
        places = {entry.id: (group, group.ranks.get(entry.label)) for group in groups for entry in group.entries}
        for entry in (each for each in board.entries if each.suite == suite):
            group, place = places.get(entry.id, (None, None))
            page = environment.get_template("board_entry.html.j2").render(
                **shared,
                entry=entry,
                group=group,
                place=place,
                summary=group.summary if group is not None else _alone(entry),
                report=(out / "reports" / f"{entry.sha256[:10]}.html").is_file(),
                settings=json.dumps(entry.settings, sort_keys=True),
            )
            _write(out / "entries" / f"{entry.id}.html", page)
    document = json.dumps(board.as_json(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    write_whole(out / BOARD_FILE, document.encode())


def _alone(entry: BoardEntry) -> Summary:
    return summarise_episodes(entry.episodes)


def outcome_parts(entry: BoardEntry) -> list[dict[str, Any]]:
    """Title, colour and count of each outcome of an entry's episodes."""
    counts = {outcome: sum(each.outcome == outcome.value for each in entry.episodes) for outcome in Outcome}
    return [
        {
            "title": outcome.value.replace("_", " "),
            "colour": palette.hexadecimal(palette.OUTCOMES[outcome.value]),
            "count": count,
        }
        for outcome, count in counts.items()
        if count
    ]


def _static(name: str) -> str:
    return (files("sidestep.leaderboard") / "static" / name).read_text(encoding="utf-8")


def _write(path: Path, page: str) -> None:
    write_whole(path, page.encode())
