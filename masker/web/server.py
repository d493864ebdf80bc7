"""The application on a port of this machine, until somebody ends it."""

import asyncio
import gc
import socket
from collections.abc import Callable
from types import FrameType
from typing import Any

import uvicorn

from masker.web.service import Service

PATIENCE = 10  # seconds that open connections have to end in


class _Server(uvicorn.Server):
    """Says when it is ready, and refuses what waits as soon as it is to end."""

    def __init__(self, config: uvicorn.Config, service: Service, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._service, self._on_ready = service, on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets=sockets)
        gc.freeze()  # or else the collector looks through all of the libraries again and again
        if self.started:
            self._on_ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._loop.call_soon_threadsafe(self._service.close)
        super().handle_exit(sig, frame)


def serve(app: Any, host: str, port: int, on_ready: Callable[[str], None] = lambda url: None) -> None:
    """Answer requests. Port 0 is one that is free; `on_ready` is told the address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family, backlog=512) as listening:
        name, number = listening.getsockname()[:2]
        url = f"http://[{name}]:{number}" if ":" in name else f"http://{name}:{number}"
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=PATIENCE
        )
        _Server(config, app.state.service, lambda: on_ready(url)).run(sockets=[listening])
