"""The published schema is that of the code."""

from __future__ import annotations

import json
from pathlib import Path

from tools.scenario_schema import main, schema_text

PUBLISHED = Path(__file__).parents[2] / "docs" / "scenario.schema.json"


def test_the_published_schema_is_up_to_date() -> None:
    assert PUBLISHED.read_text(encoding="utf-8") == schema_text(), "run: python -m tools.scenario_schema"


def test_the_schema_knows_the_keys_and_refuses_others(tmp_path: Path) -> None:
    main([str(tmp_path / "s.json")])
    schema = json.loads((tmp_path / "s.json").read_text(encoding="utf-8"))
    assert schema["required"] == ["name", "robots"]
    assert schema["additionalProperties"] is False
    assert {"scene", "crowd", "rules"} <= set(schema["properties"])
