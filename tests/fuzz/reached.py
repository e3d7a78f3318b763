"""Which functions of the source run while a target reads its valid inputs."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

from tests.fuzz.driver import prepared_in
from tests.fuzz.scan import SOURCE


def reached_by(name: str, folder: Path) -> set[str]:
    """``file.py:function`` for each function that is called while target ``name`` is prepared and reads."""
    seen: set[Any] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            seen.add(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        prepared_in(name, folder)
    finally:
        sys.setprofile(before)
    return {
        f"{Path(code.co_filename).relative_to(SOURCE).as_posix()}:{code.co_qualname.replace('<locals>.', '')}"
        for code in seen
        if code.co_filename.startswith(f"{SOURCE}/")
    }
