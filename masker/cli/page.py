"""masker page: the page without a server."""

from pathlib import Path
from typing import Annotated

import typer

from masker.cli import _options as o
from masker.cli import app
from masker.cli._output import err

Out = Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where the files go: any static host will do.")]


@app.command()
def page(out: Out, model: o.Model = None) -> None:
    """Write the page of masker serve as static files that need no server: the model runs in the browser.

    It rewrites by the fast student and by the paper's method. Nothing that is typed leaves the page. To try it:
    python -m http.server --directory FOLDER
    """
    from masker.web.site import write_site

    sizes = write_site(out, model)
    size = sum(sizes.values()) / 1e6
    told = f"wrote {len(sizes)} files, {size:.0f} MB; try it: python -m http.server --directory {out}"
    err.print(told, markup=False, soft_wrap=True)
