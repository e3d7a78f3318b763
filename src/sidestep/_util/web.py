"""What the web servers of Sidestep share: listening, checks of the host and of the origin of a request, and messages of
pages. Needs no extra; connected pages are in ``websockets``, which does.
"""

from __future__ import annotations

import json
import socket
from ipaddress import ip_address
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from sidestep.errors import BadInput

REPLACED, POLICY_VIOLATION, SERVER_ERROR, TRY_AGAIN = 4001, 1008, 1011, 1013
"""Codes with which a websocket is closed; 4001 tells a page that another one has taken its place."""
NO_TELEMETRY: Any = dict.fromkeys(("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False)
"""Argument ``telemetry`` of ``FastAPI``: newer versions report to an OpenTelemetry collector where one is set up."""
Count = Annotated[int, Field(ge=0, le=2**53)]


class Message(BaseModel):
    """A message of a page: exactly these fields, finite numbers, no conversion."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


def parse_message(kinds: TypeAdapter[Any], text: str | bytes | None, longest: int) -> Any:
    """Read one of the ``kinds`` of messages from a JSON text of at most ``longest`` bytes.

    Raises ``BadInput`` with the field that is wrong.
    """
    if not isinstance(text, str):
        raise BadInput("a message is a JSON text, not bytes")
    if len(text.encode("utf-8", "surrogatepass")) > longest:
        raise BadInput(f"a message has at most {longest} bytes")
    try:
        return kinds.validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise BadInput(f"{place or 'message'}: {first['msg']}"[:300]) from None


def error_text(message: str, *, final: bool = False) -> str:
    """An error message for the page; ``final``: the server ends."""
    return json.dumps({"type": "error", "message": message, "final": final})


def is_own_host(header: str, host: str) -> bool:
    """Whether the ``Host`` header of a request names this server, which listens on ``host``.

    A name that another site has pointed at this machine is refused. A server that listens on all addresses cannot know
    its names and accepts every one.
    """
    name = urlsplit(f"//{header}").hostname or ""
    if is_loopback(host):
        return is_loopback(name)
    return is_any_address(host) or name == host.lower().strip("[]")


def is_same_origin(origin: str, header: str) -> bool:
    """Whether the page that sends a request came from this server: ``Origin`` and ``Host`` header name the same."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(header) and parts.netloc.lower() == header.lower()


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach ``host``."""
    try:
        return host.lower() == "localhost" or ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def is_any_address(host: str) -> bool:
    """Whether ``host`` stands for all addresses of this machine, such as 0.0.0.0."""
    try:
        return ip_address(host.strip("[]")).is_unspecified
    except ValueError:
        return False


def local_address(host: str, listening: socket.socket) -> str:
    """Address of a server that listens on ``host``, for a browser on this machine: ``http://127.0.0.1:8000``."""
    name = "127.0.0.1" if is_any_address(host) else f"[{host}]" if ":" in host else host
    return f"http://{name}:{listening.getsockname()[1]}"


def bind(host: str = "127.0.0.1", port: int = 0) -> socket.socket:
    """A listening socket for a server; ``port`` 0 takes any free port. A client that connects early waits until the
    server is ready."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen()
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise BadInput(f"{host}:{port} cannot be used: {reason}; choose another --host or --port (0: any)") from error
    return listening
