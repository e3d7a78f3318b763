"""The board: who is ranked with whom, and that cheating does not pay."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from sidestep.errors import BadInput, UnknownName
from sidestep.leaderboard.bundled import coverage, split_of
from sidestep.leaderboard.held_out import draw_seeds, read_commitment, read_secret
from sidestep.leaderboard.pack import write_pack
from sidestep.leaderboard.signatures import make_key
from sidestep.leaderboard.site import Board
from sidestep.records import load_record, save_record
from sidestep.runs.plan import Plan
from sidestep.runs.score import score_run
from sidestep.suites.files import load_suite
from sidestep.types import Outcome
from tests.leaderboard.conftest import Build
from tests.leaderboard.packing import changed_record, changed_results, make_pack, make_run, members_of, tampered
from tests.records.example import example_scenario
from tests.runs.ledgers import write_ledger


def folder(tmp_path: Path, name: str) -> Path:
    (tmp_path / name).mkdir()
    return tmp_path / name


def ranks(board: Board) -> list[list[tuple[str, int]]]:
    return [
        [(entry.label, group.ranks[entry.label].rank) for entry in group.entries if entry.label in group.ranks]
        for group in board.groups["test"]
    ]


def test_better_policies_come_first(tmp_path: Path, build: Build) -> None:
    """Eight scenarios all won against all lost: p 2/2^8."""
    board = build(make_pack(tmp_path, "Raises", "Steady", scenarios=8, seeds=(0,)))
    assert ranks(board) == [[("steady", 1), ("raises", 2)]]
    assert board.unranked == []
    document = json.loads((tmp_path / "site" / "board.json").read_text())
    [group] = document["suites"]["test"]
    assert (group["track"], group["people"], group["rank_by"]) == ("open", "generated", "success")
    assert [(each["policy"], each["rank"], each["rank_last"]) for each in group["entries"]] == [
        ("steady", 1, 1), ("raises", 2, 2),
    ]  # fmt: skip
    success = group["entries"][0]["metrics"]["success"]
    assert (success["mean"], success["n"]) == (1.0, 8)
    assert group["entries"][0]["verified"]["level"] == "scored again"


def test_policies_that_cannot_be_told_apart_share_a_rank(tmp_path: Path, build: Build) -> None:
    board = build(make_pack(tmp_path, "Raises", "Steady", scenarios=3, seeds=(0, 1)))
    assert {rank for _, rank in ranks(board)[0]} == {1}


@pytest.mark.parametrize(
    "other", [{"scenarios": 4}, {"seeds": (0,)}, {"act_limit_s": 5.0}, {"simulator": "sidestep 9"}, {"mode": "async"}]
)
def test_what_is_not_comparable_is_not_ranked_together(tmp_path: Path, build: Build, other: dict[str, object]) -> None:
    first = make_pack(folder(tmp_path, "a"))
    second = make_pack(folder(tmp_path, "b"), **other)  # type: ignore[arg-type]
    assert ranks(build(first, second)) == [[("steady", 1)], [("steady", 1)]]


def test_other_scenarios_of_the_same_names_are_other_scenarios(tmp_path: Path, build: Build) -> None:
    first = make_pack(folder(tmp_path, "a"))
    run = json.loads(members_of(first)["run.json"])
    run["plan"]["scenarios"][0]["summary"] = "another one"
    second = tampered(first, {"run.json": json.dumps(run).encode()})
    assert len(build(first, second).groups["test"]) == 2


def test_another_dialect_is_another_table(tmp_path: Path, build: Build) -> None:
    from sidestep.runs.folder import load_results, save_results

    first = make_pack(folder(tmp_path, "a"))
    run = tmp_path / "a" / "run"
    scored = score_run(run, "socnavbench-code")
    save_results(scored.episodes, run / "results.parquet", "socnavbench-code")
    assert load_results(run / "results.parquet")[1] == "socnavbench-code"
    write_pack(run, tmp_path / "b.pack")
    assert len(build(first, tmp_path / "b.pack").groups["test"]) == 2


def test_two_packs_with_the_same_policy_are_told_apart(tmp_path: Path, build: Build) -> None:
    first = make_pack(folder(tmp_path, "a"), name="one.pack")
    second = make_pack(folder(tmp_path, "b"), "Steady", "Raises", name="two.pack")
    assert [label for label, _ in ranks(build(first, second))[0]] == [
        "steady (one.pack)", "steady (two.pack)", "raises",
    ]  # fmt: skip


def not_ranked(board: Board) -> str:
    [entry] = board.unranked
    assert not any(board.groups.values())
    return entry.reasons[0]


def test_edited_results_do_not_pay(tmp_path: Path, build: Build) -> None:
    pack = make_pack(tmp_path, "Raises")
    board = build(tampered(pack, {"results.parquet": changed_results(pack, success=1.0)}))
    assert "results differ" in not_ranked(board)


def test_dropped_failures_do_not_pay(tmp_path: Path, build: Build) -> None:
    pack = make_pack(tmp_path, "Raises")
    first = "episodes/raises/s0__seed0.parquet"
    dropped = tampered(pack, {first: None, "results.parquet": changed_results(pack, drop=1)})
    assert "missing (1)" in not_ranked(build(dropped))


def test_chosen_seeds_do_not_pay(tmp_path: Path, build: Build) -> None:
    assert "seeds: 3, 8" in not_ranked(build(make_pack(tmp_path, seeds=(3, 8))))


def test_repeated_episodes_do_not_pay(tmp_path: Path, build: Build) -> None:
    pack = make_pack(tmp_path, "Raises")
    board = build(tampered(pack, {"results.parquet": changed_results(pack, twice=True)}))
    assert "more than once" in not_ranked(board)


def test_an_edited_record_does_not_pay(tmp_path: Path, build: Build) -> None:
    pack = make_pack(tmp_path, "Raises")
    name = "episodes/raises/s0__seed0.parquet"
    data = changed_record(pack, name, lambda record: replace(record, outcome=Outcome.TIMEOUT))
    assert "results differ" in not_ranked(build(tampered(pack, {name: data})))


def test_a_changed_pack_is_refused(tmp_path: Path, build: Build) -> None:
    good = make_pack(tmp_path)
    bad = tampered(good, {"run.json": b"{}"}, resummed=False)
    board = build(good, bad, good)
    assert [(name, "does not match its hash" in reason) for name, reason in board.refused] == [
        ("tampered.pack", True), ("mine.pack", False),
    ]  # fmt: skip
    assert "given twice" in board.refused[1][1]
    with pytest.raises(BadInput, match="no pack can be shown"):
        build(bad)


def test_an_honest_policy_in_a_pack_with_another_that_cheats(tmp_path: Path, build: Build) -> None:
    """Its own records are in order, and it keeps its rank."""
    pack = make_pack(tmp_path, "Raises", "Steady")
    dropped = tampered(pack, {"episodes/raises/s0__seed0.parquet": None})
    board = build(dropped)
    assert ranks(board) == [[("steady", 1)]]
    assert [entry.policy for entry in board.unranked] == ["raises"]


def test_held_out_seeds(tmp_path: Path, build: Build) -> None:
    secret = read_secret(tmp_path / "secret", make=True)
    assert secret == read_secret(tmp_path / "secret", make=True), "a secret is made once"
    drawn = draw_seeds(secret, "test", 2)
    (tmp_path / "commitment.json").write_text(json.dumps(drawn.as_json(revealed=False)))
    assert str(drawn.seeds[0]) not in (tmp_path / "commitment.json").read_text()
    sealed = read_commitment(tmp_path / "commitment.json")
    assert sealed.seeds == ()
    assert read_commitment(tmp_path / "commitment.json", b"another secret of 16 bytes") == sealed
    revealed = read_commitment(tmp_path / "commitment.json", secret)
    assert revealed == drawn
    opened = make_pack(folder(tmp_path, "a"))
    held = make_pack(folder(tmp_path, "b"), seeds=drawn.seeds)
    board = build(opened, held, held_out=[sealed])
    assert [group.track for group in board.groups["test"]] == ["open"]
    assert "chosen seeds" in board.unranked[0].reasons[0]
    assert "sealed" in (tmp_path / "site" / "index.html").read_text()
    board = build(opened, held, held_out=[revealed])
    assert [group.track for group in board.groups["test"]] == ["open", "held-out"]
    assert drawn.secret in (tmp_path / "site" / "index.html").read_text()


def test_seeds_depend_on_secret_suite_and_count() -> None:
    first = draw_seeds(b"sixteen bytes ok", "core", 3)
    assert first.seeds == (first.seeds[0], first.seeds[0] + 1, first.seeds[0] + 2)
    others = [draw_seeds(b"sixteen bytes ok", "core", 4), draw_seeds(b"sixteen bytes ok", "socnav", 3)]
    others.append(draw_seeds(b"sixteen bytes no", "core", 3))
    assert len({each.commitment for each in (first, *others)}) == 4
    assert len({each.seeds[0] for each in (first, *others)}) == 4
    for secret, count in ((b"short", 1), (b"sixteen bytes ok", 0), (b"\xff" * 16, 1)):
        with pytest.raises(BadInput):
            draw_seeds(secret, "core", count)


def test_signatures_are_shown(tmp_path: Path, build: Build) -> None:
    key = make_key(tmp_path / "key")
    write_pack(make_run(tmp_path), tmp_path / "p.pack", key=tmp_path / "key")
    board = build(tmp_path / "p.pack")
    assert board.entries[0].signature == key.fingerprint
    assert key.fingerprint in (tmp_path / "site" / "suites" / "test.html").read_text()


def test_every_link_leads_somewhere_and_nothing_is_asked_of_the_network(tmp_path: Path, build: Build) -> None:
    build(make_pack(tmp_path, "Raises", "Steady"), make_pack(folder(tmp_path, "b"), seeds=(4,), name="b.pack"))
    site = tmp_path / "site"
    pages = sorted(site.rglob("*.html"))
    assert len(pages) == 1 + 1 + 3
    for page in pages:
        text = page.read_text()
        assert "http://" not in text
        assert "https://" not in text
        for link in re.findall(r'href="([^"#]+)"', text):
            assert (page.parent / link).resolve().is_file(), (page, link)


EVIL = "</script><img src=x onerror=alert(1)> \"'&{{ 7 * 7 }} <!--"


def test_names_cannot_break_out(tmp_path: Path, build: Build) -> None:
    pack = make_pack(tmp_path)
    run = json.loads(members_of(pack)["run.json"])
    run["plan"]["policies"][0]["settings"] = {"note": EVIL}
    run["machine"]["cpu"], run["commit"], run["package_version"] = EVIL, EVIL, EVIL
    source = {"sources/steady/mine.py": EVIL.encode(), "run.json": json.dumps(run).encode()}
    build(tampered(pack, source), title=EVIL)
    for page in (tmp_path / "site").rglob("*.html"):
        assert "<img" not in page.read_text()


def test_the_metric_of_the_ranks(tmp_path: Path, build: Build) -> None:
    pack = make_pack(tmp_path)
    with pytest.raises(UnknownName):
        build(pack, rank_by="sucess")
    with pytest.raises(BadInput, match="no better direction"):
        build(pack, rank_by="stalled_time")


def test_how_much_of_a_suite_it_is() -> None:
    scenarios = tuple(load_suite("core").scenarios())
    plan = Plan(suite="core", scenarios=scenarios, policies=(), seeds=(0,))
    assert coverage(plan) == "10 of 10 scenarios of the bundled suite"
    assert coverage(plan.model_copy(update={"scenarios": scenarios[:3]})).startswith("3 of 10")
    easy = scenarios[0].model_copy(update={"crowd": ()})
    assert "differ from those" in coverage(plan.model_copy(update={"scenarios": (easy,)}))
    assert "not of a bundled suite" in coverage(plan.model_copy(update={"suite": "/etc/passwd"}))


def test_splits() -> None:
    def plan(*scenarios: object) -> Plan:
        return Plan(suite="s", scenarios=scenarios, policies=(), seeds=(0,))  # type: ignore[arg-type]

    dev = example_scenario("a", tags=("dev",))
    test = example_scenario("b", notes={"options": {"split": "test"}})
    assert split_of(plan(dev)) == "dev"
    assert split_of(plan(dev, test)) == "dev + test"
    assert split_of(plan(example_scenario())) == ""


def test_who_has_exact_states_is_not_ranked_with_who_has_sensors_only(tmp_path: Path, build: Build) -> None:
    """The packs ran the same; one policy was told where everybody is, the other has a scanner and loses everything."""

    def observing(name: str, policy: str, *needs: str) -> Path:
        run = make_run(folder(tmp_path, name), policy, scenarios=8, seeds=(0,))
        for path in sorted((run / "episodes").rglob("*.parquet")):
            record = load_record(path)
            changed = replace(record, policy=replace(record.policy, needs=needs))
            save_record(changed, path)
        write_ledger(run)
        score_run(run)
        write_pack(run, tmp_path / f"{name}.pack")
        return tmp_path / f"{name}.pack"

    board = build(observing("a", "Steady", "pedestrians"), observing("b", "Raises", "lidar"))
    assert ranks(board) == [[("steady", 1)], [("raises", 1)]]
    exact, sensors = board.groups["test"]
    assert (exact.facts["Race"], sensors.facts["Race"]) == ("exact states or the map", "sensors only")
    assert exact.id != sensors.id
    [first, second] = json.loads((tmp_path / "site" / "board.json").read_text())["suites"]["test"]
    assert [first["entries"][0]["observes"], second["entries"][0]["observes"]] == [["pedestrians"], ["lidar"]]
