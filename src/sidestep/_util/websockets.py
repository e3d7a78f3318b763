"""A page that is connected by a websocket: its newest messages, and a connection that either side can end.

Importing this needs the extra ``web``; importers say which of their features does.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from contextlib import suppress

from fastapi import WebSocket, WebSocketDisconnect

from sidestep._util.web import POLICY_VIOLATION, error_text
from sidestep.errors import BadInput

MOST_ERRORS = 20
"""Wrong messages after which a connection is closed."""


class TooManyMessages(BadInput):
    """The page sends faster than it may; its connection is closed."""


class PageConnection(ABC):
    """A connected page and its newest messages.

    ``news`` is set when a message has arrived, ``replaced`` when another page has taken the place of this one, ``gone``
    when the server is done with the page.
    """

    def __init__(self, page: WebSocket) -> None:
        self.page = page
        self.news, self.replaced, self.gone = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @abstractmethod
    def take(self, text: str | None) -> None:
        """Keep a message. Raises ``BadInput`` for a wrong one, ``TooManyMessages`` to close the connection."""

    async def listen(self) -> None:
        """Take messages until the page leaves; close the connection of a page that sends wrong ones or too many."""
        errors = 0
        while errors < MOST_ERRORS:
            received = await self.page.receive()
            if received["type"] == "websocket.disconnect":
                raise WebSocketDisconnect(received.get("code", 1000))
            try:
                self.take(received.get("text"))
            except TooManyMessages as error:
                await self.send(error_text(str(error)))
                break
            except BadInput as error:
                errors += 1
                await self.send(error_text(str(error)))
                continue
            self.news.set()
        await self.close(POLICY_VIOLATION, "wrong messages, or too many")

    async def send(self, message: str | bytes) -> None:
        """Send a text or bytes; raises ``WebSocketDisconnect`` if the page has gone."""
        try:
            if isinstance(message, str):
                await self.page.send_text(message)
            else:
                await self.page.send_bytes(message)
        except RuntimeError as error:  # closed by us
            raise WebSocketDisconnect(1000) from error

    async def close(self, code: int, reason: str | None = None) -> None:
        """Close the connection, unless the page has gone."""
        with suppress(RuntimeError, WebSocketDisconnect):
            await self.page.close(code, reason)
