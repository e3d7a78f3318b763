"""Limits of a policy in its own process, and the environment variables that it gets."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from sidestep import registry
from sidestep.errors import BadInput
from sidestep.types.base import Model, Positive

LEAST_MEMORY = 100_000_000
"""Smallest memory limit, bytes; Python and NumPy need as much."""
MOST_PROCESSES = 256
UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([a-zA-Z]*)")
NO_TELEMETRY = {"ORT_DISABLE_TELEMETRY": "1"}
"""Guests may import ONNX Runtime, which sends telemetry unless this is set before the import."""
PASSED_ON = "SIDESTEP_PASS_ENV"
"""Environment variable with the comma-separated names of variables that guests get although they look secret."""
SECRET_NAME = re.compile(
    r"TOKEN(?!IZER)|SECRET|PASSW|PASSPHRASE|CREDENTIAL|API_?KEY|(?:ACCESS|PRIVATE|ACCOUNT|ENCRYPTION|SIGNING|SSH|AUTH)_?KEY"
    r"|(?:^|_)AUTH(?:_|$)|_(?:PWD|PAT)$",
    re.IGNORECASE,
)
SECRET_VALUE = re.compile(r"://[^/@\s:]*:[^/@\s]+@|-----BEGIN [A-Z ]*PRIVATE KEY")
"""A password in an address, or a private key."""


class Isolation(Model):
    """Limits of one policy in its own process; None means no limit. Time and output count per episode, memory and
    processes at any moment, including everything that the policy has started."""

    all_policies: bool = False
    """Whether bundled policies run in their own processes too."""
    memory_bytes: Annotated[int, Field(ge=LEAST_MEMORY)] | None = None
    """Resident memory. A process that asks for twice as much at once gets a ``MemoryError``."""
    cpu_s: Positive | None = None
    """Processor time, s."""
    wall_s: Positive | None = None
    """Total time that the benchmark waits for the policy's answers, s."""
    sandbox: Literal["auto", "require", "off"] = "auto"
    """What a guest can reach. ``auto``: its own files only, as far as the system can enforce it; ``require``: refused
    where that is incomplete; ``off``: whatever its user can reach."""
    allow_read: tuple[str, ...] = ()
    """Files and folders that a guest may read besides its own."""
    output_bytes: Annotated[int, Field(ge=0)] | None = None
    """Length of its output; only a few kB are kept in any case."""
    processes: Annotated[int, Field(ge=1)] = MOST_PROCESSES

    def covers(self, reference: str) -> bool:
        """Whether these limits apply to a policy; a policy behind a socket has its own process already."""
        return registry.is_guest(reference) or (self.all_policies and not reference.startswith(registry.REMOTE))

    def check_supported(self) -> None:
        """Raise ``BadInput`` if the system cannot enforce a limit that is set."""
        if Path("/proc/self/statm").exists():
            return
        for option, value in (("memory", self.memory_bytes), ("cpu", self.cpu_s), ("output", self.output_bytes)):
            if value is not None:
                raise BadInput(f"--limit-{option} works on Linux only; leave it out or run in a container")


def parse_size(text: str, option: str) -> int:
    """Bytes in ``4GB``, ``500 MB``, ``2GiB`` or ``1000``; the error message begins with ``option``."""
    match = SIZE.fullmatch(text.strip())
    if match is None or match[2].upper() not in UNITS:
        raise BadInput(f"{option} {text!r:.40}: must be a size such as 500MB, 4GB or 2GiB")
    return round(float(match[1]) * UNITS[match[2].upper()])


def guest_environment(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment without what looks like a secret, unless ``SIDESTEP_PASS_ENV`` names it."""
    variables = os.environ if environment is None else environment
    wanted = {name.strip() for name in variables.get(PASSED_ON, "").split(",")}
    plain = {
        name: value
        for name, value in variables.items()
        if name in wanted or not (SECRET_NAME.search(name) or SECRET_VALUE.search(value))
    }
    return {**NO_TELEMETRY, **plain}
