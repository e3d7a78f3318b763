"""Small OpenDRIVE files for tests, and the crossroads of ``fixtures/crossroads.xodr``."""

from __future__ import annotations

from pathlib import Path

from sidestep.scenes.intersections.opendrive import read_opendrive
from sidestep.types.road import Lane
from sidestep.types.scene import SceneSpec

CROSSROADS = Path(__file__).parent / "fixtures" / "crossroads.xodr"
LINE = '<geometry s="0" x="0" y="0" hdg="0" length="20"><line/></geometry>'


def lane(number: int, kind: str = "driving", width: str = 'a="3"', inside: str = "") -> str:
    """A lane of one width record, or of several that are separated by bars."""
    records = [record if "sOffset" in record else f'sOffset="0" {record}' for record in width.split("|")]
    widths = "".join(f"<width {record}/>" for record in records)
    return f'<lane id="{number}" type="{kind}">{inside}{widths}</lane>'


def section(left: str = "", right: str = "", s: float = 0, centre: str = "") -> str:
    """A lane section."""
    return (
        f'<laneSection s="{s}"><left>{left}</left><center><lane id="0" type="none">{centre}</lane></center>'
        f"<right>{right}</right></laneSection>"
    )


def road(
    lanes: str, geometry: str = LINE, length: float = 20, number: str = "1", about: str = "", inside: str = ""
) -> str:
    """A road; ``about`` are further attributes."""
    plan = f"<planView>{geometry}</planView>"
    return f'<road id="{number}" length="{length}" {about}>{plan}{inside}<lanes>{lanes}</lanes></road>'


def file(*parts: str) -> str:
    """A whole file."""
    return f'<OpenDRIVE><header revMajor="1" revMinor="7" name="test"/>{"".join(parts)}</OpenDRIVE>'


def scene_of(text: str, folder: Path) -> SceneSpec:
    """The scene of a file with this text."""
    path = folder / "some.xodr"
    path.write_text(text, encoding="utf-8")
    return read_opendrive(path)


def lanes_of(scene: SceneSpec) -> dict[str, Lane]:
    """Lanes by name."""
    assert scene.roads is not None
    return {item.name: item for item in scene.roads.lanes}
