"""From threads to connections: waiting for an answer, or for many in a row."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import Future
from typing import Any

from fastapi import Request

from masker.core.edits import Rewrite
from masker.scale.job import render
from masker.web.limits import Refused, too_slow
from masker.web.service import Ask, Service, failed


async def answered(request: Request, future: "Future[Any]", seconds: float) -> Any:
    """The answer. Nobody waits for it longer than so many seconds, nor when whoever asked has gone away."""
    answer = asyncio.wrap_future(future)
    gone = asyncio.ensure_future(request.receive())  # nothing comes any more, but that the connection has ended
    try:
        await asyncio.wait({answer, gone}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if answer.done():
            return answer.result()
        raise Refused(499, "nobody waits for the answer any more") if gone.done() else too_slow(seconds)
    finally:
        gone.cancel()
        answer.cancel()


class Stream:
    """The rewrites of many texts as lines of JSON. Some of the texts wait in the queue, the others here."""

    def __init__(self, service: Service, ask: Ask, texts: Sequence[str]) -> None:
        self._service, self._ask, self._left = service, ask, deque(texts)
        self._going = deque[tuple[str, Future[Any]]]()
        self._refused: Refused | None = None
        service.check(ask)
        self._fill()
        if self._refused and not self._going:
            raise self._refused

    async def lines(self) -> AsyncIterator[str]:
        try:
            while self._going or self._left:
                if not self._going and not await self._room():
                    why = str(self._refused)
                    yield "".join(self._line(failed(self._ask, text, why)) for text in self._left)
                    return
                ready = [self._line(await self._first())]
                while self._going and self._going[0][1].done():
                    ready.append(self._line(await self._first()))
                self._fill()
                yield "".join(ready)
        finally:
            for _, future in self._going:
                future.cancel()

    def _fill(self) -> None:
        """Let texts wait in the queue, but leave room in it for others."""
        self._refused = None
        while self._left and len(self._going) < self._service.ahead(self._ask):
            try:
                self._going.append((self._left[0], self._service.submit(self._ask, self._left[0])))
            except Refused as refused:
                self._refused = refused
                return
            self._left.popleft()

    async def _room(self) -> bool:
        """Wait until a text is in the queue again; False if there is no hope of that."""
        until = time.monotonic() + self._service.limits.max_seconds
        while time.monotonic() < until:
            self._fill()
            if self._going:
                return True
            if self._refused and self._refused.status != 429:
                return False
            await asyncio.sleep(0.02)
        return False

    async def _first(self) -> Rewrite:
        text, future = self._going.popleft()
        seconds = self._service.limits.max_seconds
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), seconds)  # type: ignore[no-any-return]
        except TimeoutError:
            return failed(self._ask, text, too_slow(seconds).reason)
        except Refused as refused:
            return failed(self._ask, text, refused.reason)

    def _line(self, rewrite: Rewrite) -> str:
        return render(rewrite, "\n", "jsonl")
