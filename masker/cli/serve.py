"""masker serve: the page, and the service behind it."""

from pathlib import Path
from typing import Annotated

import typer

from masker.cli import _options as o
from masker.cli import app
from masker.cli._output import err
from masker.errors import missing

Host = Annotated[str, typer.Option("--host", help="Address to listen on; 0.0.0.0: all, so set a --token.")]
Port = Annotated[int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0: any free one.")]
To = Annotated[
    str | None, typer.Option("--to", help="Domain that LanguageTool's clients check for, and the page begins with.")
]
Token = Annotated[
    str | None,
    typer.Option("--token", envvar="MASKER_TOKEN", help="Answer only those who send this as their bearer token."),
]
Language = Annotated[str, typer.Option("--language", help="What LanguageTool's clients are told the texts are in.")]
Origin = Annotated[
    str | None, typer.Option("--allow-origin", metavar="ORIGIN", help="A site whose pages may ask [default: none].")
]


@app.command()
def serve(
    model: o.Model = None,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    to: To = None,
    token: Token = None,
    language: Language = "en",
    allow_origin: Origin = None,
    max_body: Annotated[int, typer.Option("--max-body", help="Refuse requests of more bytes.")] = 1_048_576,
    max_chars: Annotated[int, typer.Option("--max-chars", help="Refuse texts of more characters.")] = 10_000,
    max_queue: Annotated[int, typer.Option("--max-queue", help="Refuse more requests at a time.")] = 256,
    max_seconds: Annotated[float, typer.Option("--max-seconds", help="Give up on an answer after so long.")] = 30.0,
    device: o.Device = None,
) -> None:
    """Serve a page to try Masker on, and an HTTP API, on this machine.

    The page works offline. The API has the JSON of masker edit and masker explain (/v1/edit, /v1/explain, /v1/batch),
    and that of LanguageTool (/v2/check), whose editor plug-ins can use Masker as a style checker: see docs/serving.md.
    """
    try:
        from masker.web.app import create_app
        from masker.web.server import serve as run
    except ImportError as error:
        raise missing("serve", "masker serve") from error
    from masker.api import Masker
    from masker.web.limits import Limits

    limits = Limits(max_body, max_chars, max_queue, max_seconds)
    masker = Masker.from_pretrained(model, device=device, max_words=max_chars)
    name = "embedded" if model is None else Path(model).name
    service = create_app(masker, limits, to=to, token=token, language=language, allow_origin=allow_origin, name=name)
    run(service, host, port, lambda url: err.print(f"Masker is at {url} (Ctrl-C ends it)", markup=False))
