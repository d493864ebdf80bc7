"""What every request passes through: who may ask, how much at a time, and which headers go with the answer."""

import asyncio
import hmac
import json
import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from masker.web.limits import Limits, Refused, closing, too_busy
from masker.web.metrics import Metrics

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_GUARDED = ("/v1/", "/v2/", "/metrics", "/openapi.json")
_log = logging.getLogger(__name__)


class Guard:
    """ASGI: refuses whom it must before anything is read, reads bodies up to the limit, and counts.

    No more than `max_queue` requests with a body are held at a time, so memory is bounded whoever sends what.
    """

    def __init__(self, app: Any, limits: Limits, metrics: Metrics, token: str | None = None) -> None:
        self.app, self.limits, self.metrics = app, limits, metrics
        self._token = f"Bearer {token}".encode() if token else None
        self._held = 0

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        answer = _Answer(scope, send)
        begun = time.perf_counter()
        try:
            await self._admit(scope, receive, answer)
        except Refused as refused:
            await answer.refuse(refused)
        except asyncio.CancelledError:  # the server ends, and has waited for long enough
            if answer.started:
                raise
            await answer.refuse(closing())
        except Exception:
            _log.exception("%s %s", scope["method"], scope["path"])
            await answer.refuse(Refused(500, "this should not have happened; the server's log says more"))
        finally:
            path = getattr(scope.get("route"), "path", "other")
            self.metrics.requests.labels(path, str(answer.status)).inc()
            self.metrics.seconds.labels(path).observe(time.perf_counter() - begun)

    async def _admit(self, scope: Message, receive: Receive, answer: "_Answer") -> None:
        headers = dict(scope["headers"])
        if self._token and scope["path"].startswith(_GUARDED) and scope["method"] != "OPTIONS":
            given = headers.get(b"authorization", b"")
            if not hmac.compare_digest(given, self._token):
                raise Refused(401, "this service wants a token: Authorization: Bearer ...")
        if scope["method"] != "POST":
            await self.app(scope, receive, answer)
            return
        if self._held >= self.limits.max_queue:
            raise too_busy()
        self._held += 1
        try:
            body = await self._body(headers, receive)
            await self.app(scope, _again(body, receive), answer)
        finally:
            self._held -= 1

    async def _body(self, headers: dict[bytes, bytes], receive: Receive) -> bytes:
        said = headers.get(b"content-length", b"")
        if said.isdigit() and int(said) > self.limits.max_body:
            raise self._too_large()
        parts, size, more = [], 0, True
        try:
            async with asyncio.timeout(self.limits.max_seconds):
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Refused(408, "the request has ended before its body")
                    parts.append(message.get("body", b""))
                    size, more = size + len(parts[-1]), message.get("more_body", False)
                    if size > self.limits.max_body:
                        raise self._too_large()
        except TimeoutError:
            raise Refused(408, f"no whole request within {self.limits.max_seconds:g} seconds") from None
        return b"".join(parts)

    def _too_large(self) -> Refused:
        limit = f"{self.limits.max_body:,} bytes"
        return Refused(413, f"the request is larger than the limit of {limit}; send less at a time")


def _again(body: bytes, receive: Receive) -> Receive:
    """Receive a body that was read already, and then what else comes."""
    left = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return left.pop() if left else await receive()

    return replay


class _Answer:
    """Sends an answer with the headers that all of them have, and remembers its status."""

    def __init__(self, scope: Message, send: Send) -> None:
        api = scope["path"].startswith(_GUARDED)
        extra = {**HEADERS, "cache-control": "no-store" if api else "no-cache"}
        self._headers = [(name.encode(), value.encode()) for name, value in extra.items()]
        self._send, self.status, self.started = send, 500, False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started, self.status = True, message["status"]
            message = {**message, "headers": [*message.get("headers", []), *self._headers]}
        await self._send(message)

    async def refuse(self, refused: Refused) -> None:
        if self.started:  # too late to say so
            raise refused
        body = json.dumps({"error": refused.reason}, ensure_ascii=False).encode()
        headers = {"content-type": "application/json", "content-length": str(len(body))}
        headers |= extra_headers(refused.status)
        if refused.status in (408, 413):
            headers["connection"] = "close"  # the rest of the body is not read
        encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
        await self({"type": "http.response.start", "status": refused.status, "headers": encoded})
        await self({"type": "http.response.body", "body": body})


def extra_headers(status: int) -> dict[str, str]:
    """What HTTP wants to be said with a refusal."""
    if status == 401:
        return {"www-authenticate": "Bearer"}
    return {"retry-after": "1"} if status in (429, 503) else {}
