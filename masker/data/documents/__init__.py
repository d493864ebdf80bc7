"""Whole documents: Markdown, HTML and plain text, of which only the prose is edited.

A document is a list of blocks of prose, each with a text for the editor and with the places in the source that it was
read from (`blocks`). What is found in a source is the business of one module per kind: `markdown`, `html`, `plain`.
"""

from masker.data.documents.document import KEEP, KINDS, BlockRewrite, Document, DocumentRewrite, kind_of
from masker.data.documents.findings import Finding, decided

__all__ = ["KEEP", "KINDS", "BlockRewrite", "Document", "DocumentRewrite", "Finding", "decided", "kind_of"]
