"""The server of studies: the application with all pages, checks of every request, and the program that serves it."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import OperationalError, SQLAlchemyError
from starlette.exceptions import HTTPException
from uvicorn.protocols.websockets.auto import AutoWebSocketsProtocol

from sidestep._util.web import NO_TELEMETRY
from sidestep.errors import BadInput, SidestepError
from sidestep.studies.access import RateLimit, Refused
from sidestep.studies.database import checkpoint, close_database
from sidestep.studies.experimenter_pages import make_experimenter_routes
from sidestep.studies.participant_pages import make_participant_routes
from sidestep.studies.site import Site, log
from sidestep.studies.walking import Walks, make_walk_routes, rehearsals

MOST_BYTES_AT_ONCE, MOST_BYTES_PER_S = 32_000, 16_000.0
"""Limits for the page of a walk, which sends 3 kB a second."""
TIDY_S = 20.0
"""Seconds between two times at which the log of the database is emptied."""


def make_app(site: Site, processes: int = 0) -> FastAPI:
    """The application. ``processes``: workers for walks; 0: a thread of the server."""
    walks = Walks(site, processes)

    @asynccontextmanager
    async def while_serving(app: FastAPI) -> AsyncIterator[None]:
        studies = [each for each in site.store.studies() if each.study.mode == "walk" and each.closed is None]
        await walks.workers.start([order for each in studies for order in rehearsals(each.study, 1)])
        tidying = asyncio.create_task(_tidy(site))
        try:
            yield
        finally:
            tidying.cancel()
            walks.workers.close()
            close_database(site.store.engine)

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, lifespan=while_serving, telemetry=NO_TELEMETRY)
    app.state.site, app.state.walks = site, walks

    @app.middleware("http")
    async def guard(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
        response = await _guarded(site, request, call_next)
        for name, value in site.headers.items():
            response.headers.setdefault(name, value)
        return response

    @app.exception_handler(SidestepError)
    async def refused(request: Request, error: SidestepError) -> Response:
        status = error.status if isinstance(error, Refused) else 400 if isinstance(error, BadInput) else 500
        if status == 404 and not site.strangers.allows(site.client(request)):
            status, error = 429, Refused(429, "too many requests; wait a minute and try again")
        return site.refusal(request, status, error)

    @app.exception_handler(HTTPException)
    async def unknown(request: Request, error: HTTPException) -> Response:
        return site.refusal(request, error.status_code, Refused(404, "there is nothing here"))

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        return site.refusal(request, 400, Refused(400, "a part of the address or of the form is not valid"))

    @app.exception_handler(OperationalError)
    async def unavailable(request: Request, error: OperationalError) -> Response:
        log.error("database: %s", str(error).splitlines()[0][:300])
        return site.refusal(request, 503, Refused(503, "the database cannot be reached; please try again"))

    @app.get("/static/{name}")
    async def static(name: str) -> Response:
        if name not in site.static:
            raise Refused(404, "there is nothing here")
        data, kind = site.static[name]
        return Response(data, media_type=kind)

    app.include_router(make_participant_routes(site))
    app.include_router(make_walk_routes(site, walks))
    app.include_router(make_experimenter_routes(site))
    return app


async def _guarded(site: Site, request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
    if not site.knows_host(request):
        return site.refusal(request, 403, Refused(403, "this server does not have this name; see --url and --proxy"))
    if request.method not in ("GET", "HEAD") and not site.is_own_page(request):
        return site.refusal(request, 403, Refused(403, "this form does not come from this server"))
    return await call_next(request)


async def _tidy(site: Site) -> None:
    """Move answers from SQLite's log into its file again and again: a copy of the file alone is never old."""
    while True:
        await asyncio.sleep(TIDY_S)
        with suppress(SQLAlchemyError):
            await asyncio.to_thread(checkpoint, site.store.engine)


def bounded_websocket(*arguments: Any, **settings: Any) -> asyncio.Protocol:
    """uvicorn's websocket, cut off if the page sends too many bytes. ``walking`` counts messages, but while it closes a
    connection uvicorn reads on for 10 s, and it answers pings on its own: one page could keep the server busy."""
    assert AutoWebSocketsProtocol is not None
    protocol, limit = AutoWebSocketsProtocol(*arguments, **settings), RateLimit(MOST_BYTES_AT_ONCE, MOST_BYTES_PER_S)
    receive = protocol.data_received

    def data_received(data: bytes) -> None:
        if limit.allows("", len(data)):
            receive(data)
        else:
            protocol.transport.abort()  # type: ignore[attr-defined]

    protocol.data_received = data_received  # type: ignore[method-assign]
    return protocol


def serve(site: Site, listening: socket.socket, processes: int, announce: Callable[[], None] = lambda: None) -> None:
    """Serve until Ctrl-C on a bound socket. ``announce`` is called before the server starts."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.WARNING)
    server = uvicorn.Server(
        uvicorn.Config(
            make_app(site, processes), log_level="warning", access_log=False, server_header=False, lifespan="on",
            ws_max_size=4096, ws_ping_interval=5.0, ws_ping_timeout=20.0, timeout_graceful_shutdown=2,
            ws_per_message_deflate=False, proxy_headers=False, ws=bounded_websocket,  # type: ignore[arg-type]
        )
    )  # fmt: skip
    announce()
    try:
        server.run(sockets=[listening])
    finally:
        listening.close()
