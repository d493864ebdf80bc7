"""What goes in and comes out, for OpenAPI. Answers are written by Masker itself, as on the command line."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from masker.web.service import Ask


def _whole(text: str) -> str:
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise ValueError("half of a surrogate pair")
    return text


Text = Annotated[str, AfterValidator(_whole)]
Name = Annotated[Text, Field(max_length=200)]
Terms = Annotated[list[Name], Field(max_length=200)]


class Question(BaseModel):
    """What is asked about a text; the options are those of `masker edit`."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True, allow_inf_nan=False)

    to: Name = Field(description="Domain to rewrite to: see /v1/models.")
    from_: Name | None = Field(None, alias="from", description="Domain that texts come from; else the counterpart.")
    min_score: float | None = Field(None, description="Make an edit only if it scores above this.")
    source_score: bool = Field(True, description="False: score by TargetScore alone, the paper's ablation.")
    protect: Literal["none", "names"] | None = Field(
        None, description="none: not even numbers, links and the like are protected; names: capitalised names too."
    )
    keep: Terms = Field([], description="Terms never to touch.")
    forbid: Terms = Field([], description="Words never to insert.")

    def ask(self, verb: Literal["edit", "explain"]) -> Ask:
        """Without what is as usual, so that it is the same whether it was said or not."""
        given = self.model_dump(exclude={"text", "texts", "to", "from_"}, exclude_defaults=True)
        options = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
        return Ask(verb, self.to, self.from_, tuple(sorted(options.items())))


class HowToEdit(Question):
    method: Name | None = Field(None, description="auto (the default), fast, search or paper.")
    strength: float | None = Field(None, description="Edit until both style classifiers are so sure of `to`: 0 to 1.")
    max_edits: int | None = Field(None, ge=1, le=20, description="Up to so many edits per sentence; by paper per text.")
    top: int = Field(0, ge=0, le=50, description="Also list so many of the best rewrites.")


class EditRequest(HowToEdit):
    text: Text = Field(description="The text to rewrite.")


class BatchRequest(HowToEdit):
    texts: list[Text] = Field(description="The texts to rewrite.")


class ExplainRequest(Question):
    text: Text = Field(description="The text to explain.")


class Open(BaseModel):
    """An answer may say more than what is listed here."""

    model_config = ConfigDict(extra="allow")


class EditAnswer(Open):
    start: int
    end: int
    old: str
    new: str
    score: float
    target_score: float | None = None
    source_score: float | None = None


class RewriteAnswer(Open):
    """A line of `masker edit --format jsonl`. Characters `start` to `end` of `source`, counted as Unicode code points,
    are `old`, and become `new`.
    """

    source: str
    text: str
    from_: str | None = Field(alias="from")
    to: str
    edits: list[EditAnswer]
    alternatives: list[dict[str, Any]] | None = None
    reason: str | None = None
    method: str | None = None
    error: str | None = None


class ExplanationAnswer(Open):
    """What `masker explain --format json` prints: every span with L1 to L4; `chosen` is the number of one of them."""

    source: str
    text: str
    from_: str | None = Field(alias="from")
    to: str
    chosen: int | None
    offsets: list[list[int]]
    spans: list[dict[str, Any]]


class ErrorAnswer(BaseModel):
    error: str
