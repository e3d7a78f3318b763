"""The page for a browser on this machine: nothing else is served, and nobody else can reach it."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from sidestep.errors import BadInput

HOST = "127.0.0.1"


class OnePage(ThreadingHTTPServer):
    """Answers GET / with one page."""

    daemon_threads = True

    def __init__(self, page: str, port: int) -> None:
        self.page = page.encode()
        super().__init__((HOST, port), _Answer)

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://{HOST}:{self.server_port}/"


class _Answer(BaseHTTPRequestHandler):
    server: OnePage

    def do_GET(self) -> None:
        """The page; 404 for any other path, 403 for a name that is not this machine's (a rebound foreign site)."""
        name = self.headers.get("Host", "").rpartition(":")[0] or self.headers.get("Host", "")
        if name not in {HOST, "localhost"}:
            self.send_error(403)
        elif self.path.partition("?")[0] != "/":
            self.send_error(404)
        else:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(self.server.page)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(self.server.page)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the terminal belongs to the person."""


def make_server(page: str, port: int = 0) -> OnePage:
    """A server bound to 127.0.0.1, at any free port if ``port`` is 0; call ``serve_forever``."""
    try:
        return OnePage(page, port)
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise BadInput(f"port {port} cannot be used: {reason}; choose another, or 0 for any free one") from error
