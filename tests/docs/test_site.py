"""The site is built strictly: a broken link, a missing anchor or a page outside the navigation is an error."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def build(config: Path, out: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(config), "-d", str(out)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT, timeout=300)


def test_the_site_builds(tmp_path: Path) -> None:
    done = build(ROOT / "mkdocs.yml", tmp_path / "site")
    assert done.returncode == 0, done.stdout + done.stderr
    pages = {path.relative_to(tmp_path / "site").as_posix() for path in (tmp_path / "site").rglob("*.html")}
    assert {"index.html", "cli.html", "metrics.html", "suites/socnav.html", "notebooks/first_steps.html"} <= pages


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/index.md").write_text("[nowhere](missing.md)")
    kept = (ROOT / "mkdocs.yml").read_text().partition("nav:\n  - Start")[0]
    for here, there in (("site_dir: out/site", "site_dir: site"), ("tools/notebooks.py", f"{ROOT}/tools/notebooks.py")):
        kept = kept.replace(here, there)
    (tmp_path / "mkdocs.yml").write_text(kept)
    done = build(tmp_path / "mkdocs.yml", tmp_path / "site")
    assert done.returncode != 0
    assert "missing.md" in done.stdout + done.stderr
