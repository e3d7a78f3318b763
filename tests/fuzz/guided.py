"""Coverage-guided fuzzing of one target with Atheris (``pip install 'sidestep[security]'``).

::

    python -m tests.fuzz.guided study -max_total_time=600

Options after the target are libFuzzer's. Inputs begin with those of ``seeds``; what reaches new code is kept in
``out/fuzz/corpus/TARGET``.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
from pathlib import Path


def main() -> None:
    """The command line."""
    try:
        import atheris  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        raise SystemExit("Atheris is not installed: pip install 'sidestep[security]'") from None
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        raise SystemExit("usage: python -m tests.fuzz.guided TARGET [options of libFuzzer]")
    name = sys.argv[1]
    with atheris.instrument_imports(include=["sidestep"]):
        from tests.fuzz.driver import prepared_in
        from tests.fuzz.target import check
        from tests.fuzz.targets import TARGETS

        if name not in TARGETS:
            raise SystemExit(f"no target {name!r}; one of: {', '.join(sorted(TARGETS))}")
        prepared = prepared_in(name, Path(tempfile.mkdtemp(prefix="sidestep-fuzz-")))
    corpus = Path("out/fuzz/corpus") / name
    corpus.mkdir(parents=True, exist_ok=True)
    for content in prepared.seeds:
        (corpus / hashlib.sha256(content).hexdigest()[:16]).write_bytes(content)

    def one_input(content: bytes) -> None:
        check(TARGETS[name], prepared, content)

    atheris.Setup([sys.argv[0], *sys.argv[2:], str(corpus)], one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
