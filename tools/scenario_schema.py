"""The published JSON Schema of a scenario: ``python -m tools.scenario_schema`` writes
``docs/scenario.schema.json``.

Editors check and complete scenario files with it; a test keeps the file up to date.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from sidestep._util.writing import atomic
from sidestep.types.scenario import Scenario

DEFAULT = Path("docs/scenario.schema.json")


def schema_text() -> str:
    """The schema as the file holds it."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema"} | Scenario.model_json_schema()
    return json.dumps(schema, indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def main(arguments: list[str]) -> None:
    """Write the schema to the first argument, or to its place in the documentation."""
    path = Path(arguments[0]) if arguments else DEFAULT
    with atomic(path) as temporary:
        temporary.write_text(schema_text(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
