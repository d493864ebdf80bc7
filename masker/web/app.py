"""The service as an application: its addresses, and what they answer."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qsl

from fastapi import Body, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware

import masker as package
from masker.api import Masker
from masker.core.text import not_unicode
from masker.errors import MaskerError, unknown
from masker.web import languagetool, schemas
from masker.web.answers import Stream, answered
from masker.web.guard import Guard, extra_headers
from masker.web.limits import Limits, Refused, too_long
from masker.web.metrics import CONTENT_TYPE
from masker.web.service import Service

PAGE = Path(__file__).parent / "page"
PATIENCE = 5.0  # seconds that what is being worked on has to end in, once no connection waits for it


def create_app(
    masker: Masker,
    limits: Limits | None = None,
    *,
    to: str | None = None,
    token: str | None = None,
    language: str = "en",
    allow_origin: str | None = None,
    name: str = "embedded",
) -> FastAPI:
    """The service for a model. `to` is the domain that LanguageTool's clients check for, and the page begins with.

    With a `token` it answers only those who send it; `allow_origin` names a site whose pages may ask (CORS).
    """
    limits = limits or Limits()
    if token and (why := not_unicode(token)):  # nobody could send it
        raise MaskerError(f"`token` is {why}")
    service = Service(masker, limits, to=to, name=name)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service.start()
        yield
        service.close()
        service.join(PATIENCE)

    app = FastAPI(
        title="Masker", version=package.__version__, lifespan=lifespan, docs_url=None, redoc_url=None,
        description="Rewrites text from one style to another, with small edits that explain themselves.",
    )  # fmt: skip
    app.state.service = service
    _add_errors(app)
    _add_rest(app, service)
    _add_languagetool(app, service, language)
    _add_page(app)
    app.add_middleware(Guard, limits=limits, metrics=service.metrics, token=token)
    if allow_origin:
        app.add_middleware(
            CORSMiddleware, allow_origins=[allow_origin], allow_methods=["GET", "POST"], allow_headers=["*"]
        )
    return app


def _add_page(app: FastAPI) -> None:
    for file in sorted(PAGE.iterdir()):

        async def page(request: Request, file: Path = file) -> Response:
            return FileResponse(file)

        app.add_route("/" if file.name == "index.html" else f"/{file.name}", page, include_in_schema=False)


# -- refusals ----------------------------------------------------------------------------------------------------------

_REASONS = {
    401: "No token, or a wrong one",
    413: "The request is too large",
    422: "The question makes no sense, or the text is too long",
    429: "Too many requests at a time",
    503: "No answer in time, or the service is shutting down",
}
REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": schemas.ErrorAnswer, "description": reason} for status, reason in _REASONS.items()
}


def _add_errors(app: FastAPI) -> None:
    """Whatever goes wrong is told as {"error": reason}."""

    def answer(status: int, reason: str) -> JSONResponse:
        return JSONResponse({"error": reason}, status, extra_headers(status))

    @app.exception_handler(Refused)
    async def refused(request: Request, error: Refused) -> JSONResponse:
        return answer(error.status, error.reason)

    @app.exception_handler(MaskerError)
    async def mistaken(request: Request, error: MaskerError) -> JSONResponse:
        return answer(422, str(error))

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"][1:])
        return answer(422, f"{where}: {first['msg']}" if where else first["msg"])

    @app.exception_handler(HTTPException)
    async def other(request: Request, error: HTTPException) -> JSONResponse:
        told = {404: "there is nothing here; /openapi.json lists what there is"}
        status = 422 if error.status_code == 400 else error.status_code  # a body that is no JSON at all
        response = answer(status, told.get(status, error.detail))
        response.headers.update(error.headers or {})
        return response


# -- Masker's own ------------------------------------------------------------------------------------------------------


def _add_rest(app: FastAPI, service: Service) -> None:
    """What the command line does, in the same JSON."""
    limits = service.limits
    to = service.to or service.tasks[0]["to"]
    text = "Our waitress was slow and the soup was bland."

    def examples(**fields: Any) -> dict[str, Any]:
        return {"a": {"summary": "As usual", "value": {**fields, "to": to}}}

    Edit = Annotated[schemas.EditRequest, Body(openapi_examples=examples(text=text))]
    Explain = Annotated[schemas.ExplainRequest, Body(openapi_examples=examples(text=text))]
    Batch = Annotated[schemas.BatchRequest, Body(openapi_examples=examples(texts=[text, "The worst pizza ever."]))]

    @app.post("/v1/edit", response_model=schemas.RewriteAnswer, responses=REFUSALS)
    async def edit(body: Edit, request: Request) -> Response:
        """Rewrite a text."""
        _check(body.text, limits.max_chars)
        rewrite = await answered(request, service.submit(body.ask("edit"), body.text), limits.max_seconds)
        if rewrite.error:
            raise Refused(422, f"the text cannot be edited: {rewrite.error}")
        return JSONResponse(rewrite.to_dict())

    @app.post("/v1/explain", response_model=schemas.ExplanationAnswer, responses=REFUSALS)
    async def explain(body: Explain, request: Request) -> Response:
        """Every span of a text with its scores, by the paper's method."""
        _check(body.text, limits.explained_chars)
        explanation = await answered(request, service.submit(body.ask("explain"), body.text), limits.max_seconds)
        return JSONResponse(explanation.to_dict())

    lines: dict[str, Any] = {"content": {"application/x-ndjson": {"schema": {"type": "string"}}}}

    @app.post("/v1/batch", response_class=StreamingResponse, responses={**REFUSALS, 200: lines})
    async def batch(body: Batch) -> Response:
        """Rewrite many texts: a line of JSON for each, in order, as they come."""
        for number, one in enumerate(body.texts, 1):
            _check(one, limits.max_chars, f"text {number}")
        stream = Stream(service, body.ask("edit"), body.texts)
        return StreamingResponse(stream.lines(), media_type="application/x-ndjson")

    @app.get("/v1/models", responses={401: REFUSALS[401]})
    async def models() -> dict[str, Any]:
        """The model, its domains, and the methods that can be used between them."""
        return service.describe()

    @app.get("/healthz")
    async def health() -> dict[str, str]:
        """Whether the service is up."""
        return {"status": "ok"}

    @app.get("/metrics", response_class=Response, responses={401: REFUSALS[401]})
    async def metrics() -> Response:
        """Counts and times, for Prometheus."""
        return Response(service.metrics.text(), media_type=CONTENT_TYPE)


def _check(text: str, limit: int, what: str = "the text") -> None:
    if len(text) > limit:
        raise too_long(len(text), limit, what)


# -- LanguageTool's ----------------------------------------------------------------------------------------------------

_FORM = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "description": "The text to check."},
        "data": {"type": "string", "description": "Or annotated text, in JSON."},
        "language": {"type": "string", "description": "A code of /v2/languages, or auto, the default."},
        "level": {"type": "string", "description": "picky: search for more suggestions, which takes longer."},
        **{
            name: {"type": "string"}
            for name in ("enabledRules", "disabledRules", "enabledCategories", "disabledCategories", "enabledOnly")
        },
    },
}


def _add_languagetool(app: FastAPI, service: Service, language: str) -> None:
    known = languagetool.languages(language)
    codes = ["auto", *dict.fromkeys([language, *(one["longCode"] for one in known)])]
    example = {"language": codes[1], "text": "Our waitress was slow and the soup was bland."}
    content = {"application/x-www-form-urlencoded": {"schema": _FORM, "example": example}}

    @app.get("/v2/languages", responses={401: REFUSALS[401]})
    async def languages() -> list[dict[str, str]]:
        """As LanguageTool's HTTP API."""
        return known

    extra = {"requestBody": {"required": True, "content": content}}

    @app.post("/v2/check", responses=REFUSALS, openapi_extra=extra)
    async def check(request: Request) -> dict[str, Any]:
        """As LanguageTool's HTTP API: words that do not read like the domain of `masker serve --to`."""
        if service.to is None:
            raise MaskerError("there is no domain to check for; start the service with masker serve --to")
        try:
            form = dict(parse_qsl((await request.body()).decode("utf-8", "replace"), keep_blank_values=True))
        except ValueError as error:
            raise MaskerError(f"the form cannot be read: {error}") from error
        asked = form.get("language", "auto")
        if asked not in codes:
            raise unknown("language", asked, codes)
        document = languagetool.Document.from_form(form)
        _check(document.text, service.limits.max_chars)
        ask = service.quickest(service.to, careful=form.get("level") == "picky")
        rewrite = await answered(request, service.submit(ask, document.text), service.limits.max_seconds)
        chosen = next((one for one in known if one["longCode"] == asked), known[0])
        return languagetool.answer(document, rewrite, chosen, form)
