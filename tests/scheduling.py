"""Which test runs in which process: files whose tests share what takes long to make stay together."""

from __future__ import annotations

from xdist.scheduler import LoadScopeScheduling

IN_ONE_PROCESS = frozenset({
    "cli/test_contract.py", "cli/test_pack.py", "extras/test_environments.py", "gym/test_intersectnav.py",
    "gym/test_training.py", "leaderboard/test_pack.py", "leaderboard/test_pages.py",
    "learning/drive_page/test_browser.py", "learning/test_waypoints.py", "plugins/test_installed.py",
    "prediction/data/test_from_records.py", "prediction/data/test_generate.py", "prediction/test_cvae_training.py",
    "report/test_html.py", "report/test_montage.py", "report/test_sidewalk_outputs.py",
    "report/test_sidewalk_tables.py", "report/test_socnav_outputs.py", "report/test_socnav_tables.py",
    "report/test_viewer_browser.py", "report/test_viewer_cli.py", "runs/remote/test_isolation.py",
    "runs/remote/test_misbehaviour.py", "runs/remote/test_processes.py", "runs/remote/test_same_as_in_process.py",
    "runs/test_ray_executor.py", "studies/ratings/test_analysis.py", "studies/test_browser.py",
    "studies/test_postgres.py", "studies/test_walking.py",
})  # fmt: skip
"""Files whose tests share a server, a cluster or a run: one process makes it once."""


class SharedFixturesTogether(LoadScopeScheduling):
    """Hands out single tests, except those of `IN_ONE_PROCESS`, of which one process gets the whole file."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::", 1)[0].removeprefix("tests/")
        return file if file in IN_ONE_PROCESS else nodeid
