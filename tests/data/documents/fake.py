"""An editor that needs no model: it knows a few words."""

import re

from masker.core.edits import Edit, Rewrite, apply_edits
from masker.data.documents import Document, DocumentRewrite

WORDS = {"very bad": "great", "terrible": "really good", "very rudest": "nicest", "bad": "good"}


def rewrite(text: str, words: dict[str, str] | None = None) -> Rewrite:
    words = words or WORDS
    found = re.finditer(rf"(?<![\w./])(?:{'|'.join(map(re.escape, words))})(?!\w)", text, re.IGNORECASE)
    made = [(m, words[m[0].lower()]) for m in found]
    edits = tuple(Edit(*m.span(), m[0], new.capitalize() if m[0][0].isupper() else new, 1.0) for m, new in made)
    return Rewrite(text, apply_edits(text, edits), "negative", "positive", edits)


def edit(source: str, kind: str, words: dict[str, str] | None = None) -> DocumentRewrite:
    document = Document.read(source, kind)
    return document.rewrite(rewrite(text, words) for text in document.texts)
