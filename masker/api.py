"""Masker: the face of it all. It loads models, makes the task, and has a method of editing do the work."""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

from masker.core.editor import Editor, edit_stream
from masker.core.edits import Rewrite
from masker.core.explanation import Explanation, explain
from masker.core.guarded import Guarded, refusal
from masker.core.protection import patterns, terms
from masker.core.runtime import Runtime
from masker.core.scoring import DomainScorer
from masker.core.task import Task
from masker.data.documents import KEEP, Document, DocumentRewrite
from masker.errors import MaskerError, check_name, check_number, check_whole, unknown
from masker.methods import METHODS, choose, gated, given, unit_of
from masker.model.critic import is_critic
from masker.model.folder import CRITIC, READER, STUDENT
from masker.model.reader import NO_READER, is_reader
from masker.options import EditOptions, TaskOptions
from masker.students.base import Student, is_student

if TYPE_CHECKING:  # ONNX Runtime does without torch
    import torch

    from masker.runtime import Model
    from masker.runtime.critic import Critic
    from masker.runtime.reader import Reader
    from masker.students.lasertagger.tagging import Tagging
    from masker.students.lm.student import LMStudent

LARGE = 8192  # pieces, from which on a head of fewer is worth while
NARROW = 0.75  # of them, that a task may need for that


class Masker:
    """Rewrites text from one domain to another: `Masker.from_pretrained().edit("Bland soup.", to="positive")`."""

    def __init__(
        self,
        model: "Model",
        source_model: "Model | None" = None,
        *,
        device: "str | torch.device | None" = None,
        exact: bool = False,
        batch_tokens: int | None = None,
        max_words: int = 2000,
        prune: bool | None = None,
    ) -> None:
        check_whole(1, max_words=max_words, **({} if batch_tokens is None else {"batch_tokens": batch_tokens}))
        if not model.domains:
            raise MaskerError("the model has no domains yet; fit it on two or more corpora first (masker fit)")
        if source_model is not None:
            _check_same_vocabulary(model, source_model)
        model.check_words()
        model.vocabulary.gaps = model.settings.gaps
        model.vocabulary.names = {name.lower(): name for name in model.settings.names}
        self.model, self._device, self._exact = model, device, exact
        self.source_model = source_model
        self.max_words = max_words
        self._runtime = _runtime(model, device, exact=exact)
        self._source_runtime = _runtime(source_model, device, exact=exact) if source_model else self._runtime
        self._readers: dict[Path, Reader] = {}
        self._writers: dict[Path, LMStudent] = {}
        self._narrow: dict[frozenset[str], Runtime] = {}
        self.batch_tokens = batch_tokens or self._runtime.batch_tokens
        # spans that cannot win any more are left out, one after the other, which a GPU has no time for
        self.prune = not self._runtime.prefetch if prune is None else prune

    @classmethod
    def from_pretrained(
        cls, model: str | Path | None = None, source_model: str | Path | None = None, **options: Any
    ) -> "Masker":
        """The embedded model, a folder or a hub id; and a second one for the source domain, if fitted apart.

        On the CPU ONNX Runtime computes with what has graphs for it; in float32 alone if `exact`.
        """
        from masker.runtime import load, load_network

        if source_model is None:
            return cls(load(model, options.get("device")), **options)
        return cls(load_network(model), load_network(source_model), **options)

    @property
    def domains(self) -> list[str]:
        return self.model.domains

    @cached_property
    def student(self) -> "Tagging | None":
        """The student in the model's folder, if there is one."""
        from masker.students.lasertagger.tagging import Tagging

        folder = self.model.folder and self.model.folder / STUDENT
        if folder is None or self.source_model is not None or not is_student(folder):
            return None
        student = Student.from_pretrained(folder, device=self._device, exact=self._exact)
        if not isinstance(student, Tagging) or not student.targets:
            raise MaskerError(f"the student in {folder} does not say which domains it writes; teach it again")
        return student

    def reader(self, name: str | Path | None = None) -> "Reader | None":
        """The reader in a folder, or without one that of the model, if it has one; none for "none"."""
        if name is not None:
            check_name(reader=name)
        folder = Path(name).expanduser() if name is not None else self.model.folder and self.model.folder / READER
        if name == NO_READER or folder is None or (name is None and not is_reader(folder)):
            return None
        if folder not in self._readers:
            from masker.runtime.reader import load_reader

            self._readers[folder] = load_reader(folder, self._device, exact=self._exact)
        return self._readers[folder]

    def writer(self, folder: str | Path) -> "LMStudent":
        """The causal LM in a folder, a student (`masker distill --student lm`)."""
        check_name(writer=folder)
        if (path := Path(folder).expanduser()) not in self._writers:
            from masker.students.lm.student import LMStudent

            student = Student.from_pretrained(path, device=self._device)
            if not isinstance(student, LMStudent):
                raise MaskerError(
                    f"{folder} is a {student.kind}; a writer is a causal LM (masker distill --student lm)"
                )
            self._writers[path] = student
        return self._writers[path]

    @cached_property
    def critic(self) -> "Critic | None":
        """The critic in the model's folder, if there is one."""
        base = self.model.folder
        if base is None or self.source_model is not None or not is_critic(base / CRITIC):
            return None
        from masker.runtime.critic import load_critic

        return load_critic(base / CRITIC, base, self.model.vocabulary, self._device, exact=self._exact)

    def critic_of(self, to: str) -> "Critic | None":
        """The critic, if it knows the domain."""
        return self.critic if self.critic and self.critic.knows(to) else None

    @overload
    def edit(  # type: ignore[overload-overlap]
        self, text: str, to: str, from_: str | None = None, **options: Unpack[EditOptions]
    ) -> Rewrite: ...
    @overload
    def edit(
        self, text: Iterable[str], to: str, from_: str | None = None, **options: Unpack[EditOptions]
    ) -> list[Rewrite]: ...
    def edit(
        self, text: str | Iterable[str], to: str, from_: str | None = None, **options: Unpack[EditOptions]
    ) -> Rewrite | list[Rewrite]:
        """Rewrite a text, or several, so that they read like the domain `to`. Options as in `EditOptions`."""
        one = isinstance(text, str | bytes | bytearray) or not isinstance(text, Iterable)  # bytes are refused as one
        rewrites = list(self.edit_stream([text] if one else text, to, from_, **options))  # type: ignore[list-item]
        return rewrites[0] if one else rewrites

    def edit_stream(
        self, texts: Iterable[str], to: str, from_: str | None = None, **options: Unpack[EditOptions]
    ) -> Iterator[Rewrite]:
        """Rewrite texts as they come, in order, some of them at a time. Options as in `EditOptions`."""
        if isinstance(texts, str | bytes | bytearray) or not isinstance(texts, Iterable):
            raise MaskerError(f"`texts` is {texts!r:.60}; give an iterable of texts, or use `edit`")
        chunk, keep_going = options.pop("chunk", None), options.pop("keep_going", False)
        if chunk is not None:
            check_whole(1, chunk=chunk)
        editor = self._confident(to, from_, options)
        if keep_going:
            guarded = Guarded(editor, to, self._source_domain(to, from_), lambda text: refusal(text, self.max_words))
            yield from edit_stream(guarded, texts, chunk)
        else:
            checked = (self._checked(text, number) for number, text in enumerate(texts, 1))
            yield from edit_stream(editor, checked, chunk)

    def edit_document(
        self, text: str, to: str, from_: str | None = None, *, kind: str = "plain", **options: Unpack[EditOptions]
    ) -> DocumentRewrite:
        """Rewrite the prose of a "markdown", "html" or "plain" document alone. Options as in `EditOptions`."""
        document, keep = Document.read(text, kind), options.pop("keep", ())
        options["keep"] = [*terms("keep", keep), *KEEP]
        return document.rewrite(self.edit_stream(document.texts, to, from_, **options))

    def editor(self, to: str, from_: str | None = None, **options: Unpack[EditOptions]) -> Editor:
        """The method of editing for a task, as the options name it."""
        known = EditOptions.__required_keys__ | EditOptions.__optional_keys__
        for name in options:
            if name not in known:
                raise unknown("option", name, sorted(known))
        fixed = {name: options.pop(name) for name in TaskOptions.__optional_keys__ if name in options}  # type: ignore[misc]
        method, below = options.pop("method", None), options.pop("below", None)
        others = ("chunk", "keep_going", "confidence", "min_confidence")
        knobs = {name: value for name, value in options.items() if name not in others}
        name = choose(self, self.task(to, from_, **fixed), method, knobs)  # type: ignore[arg-type]
        task = self.task(to, from_, **fixed, standard=METHODS[name].protects)  # type: ignore[arg-type]
        editor = METHODS[name].make(self, task, given(knobs))
        return editor if below is None else gated(self, task, editor, below)

    def _confident(self, to: str, from_: str | None, options: EditOptions) -> Editor:
        """The editor that the options name, and who says how good its rewrites are."""
        wanted, least = options.pop("confidence", True), options.pop("min_confidence", None)
        editor, critic = self.editor(to, from_, **options), self.critic_of(to)
        if critic is None and least is not None:
            what = f"the model has no critic for {to}"
            raise MaskerError(f"{what}; teach it one (masker critic), or leave out `min_confidence`")
        if critic is None or not (wanted or least is not None):
            return editor
        from masker.search.confidence import Confident

        task = self.task(to, from_)
        return Confident(editor, critic, task, unit_of(self, task), 0.0 if least is None else least)

    def explain(self, text: str, to: str, from_: str | None = None, **options: Unpack[EditOptions]) -> Explanation:
        """Why `edit` with these options makes of a text what it makes, and every span with the paper's scores."""
        self._checked(text, None)
        options.pop("below", None)  # what it would have made is explained
        whole = self._confident(to, from_, options.copy())
        editor = getattr(whole, "editor", whole)
        method = METHODS[editor.name]
        fixed = {name: options[name] for name in TaskOptions.__optional_keys__ if name in options}  # type: ignore[literal-required]
        task = self.task(to, from_, **fixed, standard=method.protects)
        least = (options.get("min_score") or 0.0) if method.account is None else 0.0
        check_number(min_score=least)
        table = explain(self.exact(task) or task, text, min_score=least)
        made, account = table.rewrite, None
        if method.account is not None:
            made, account = method.account(editor, text)
        elif options.get("max_edits") or options.get("top"):  # what the table alone does not tell
            made = editor.begin([text])()[0]
        made = replace(made, method=made.method or editor.name)
        (made,) = getattr(whole, "told", list)([made])
        return replace(table, method=editor.name, made=made, account=account)

    def task(
        self,
        to: str,
        from_: str | None = None,
        *,
        source_score: bool = True,
        protect: str | re.Pattern[str] | None = None,
        keep: Collection[str] = (),
        forbid: Collection[str] = (),
        standard: bool = False,
    ) -> Task:
        """From which domain to which, by what runtime, and what may not be touched or inserted.

        `standard` is whether numbers, links and their like are protected, too.
        """
        model, other = self.model, self.source_model or self.model
        from_ = self._source_domain(model.check_target(to), from_)
        source = None
        if from_ is not None:
            source = DomainScorer(self._source_runtime, other.vocabulary.domain(other.check_domain(from_)))
        return Task(
            vocabulary=model.vocabulary,
            frame=model.frame,
            window=min(model.settings.window, other.settings.window),
            to=to,
            from_=from_,
            target=DomainScorer(self._runtime, model.vocabulary.domain(to)),
            source=source if source_score else None,
            protect=patterns(protect, terms("keep", keep), standard=standard),
            forbid=frozenset([*terms("forbid", forbid), *model.settings.forbid.get(to, [])]),
            batch_tokens=self.batch_tokens,
        )

    def exact(self, task: Task) -> Task | None:
        """The same task in float32, where the runtime is in int8."""
        exact = task.target.runtime.exact
        return None if exact is None else _by(exact, task)

    def narrowed(self, task: Task) -> Task:
        """The same task with the pieces that its two domains have, where these are known, and few."""
        names = frozenset([task.to, *([task.from_] if task.from_ else [])])
        if names not in self._narrow:
            pieces = self.model.known_pieces(names)
            every = len(self.model.vocabulary)
            few = every >= LARGE and len(pieces) <= NARROW * every
            self._narrow[names] = self._runtime.narrowed(pieces) if few else self._runtime
        return _by(self._narrow[names], task)

    def _source_domain(self, to: str, from_: str | None) -> str | None:
        """Where texts are taken to come from."""
        if from_ is not None:
            if from_ == to and self.source_model is None:
                raise MaskerError(f"the text is to go from '{from_}' to '{to}': name two different domains")
            return from_
        if self.source_model is None:
            return self.model.counterpart(to)
        domains = self.source_model.domains
        if len(domains) > 1:
            raise MaskerError(f"the source model has the domains {', '.join(domains)}; choose one with `from_`")
        return domains[0]

    def _checked(self, text: str, number: int | None) -> str:
        """The text, if it is one and not too long."""
        if why := refusal(text, self.max_words):
            raise MaskerError(f"{'the text' if number is None else f'text {number}'}: {why}")
        return text


def _by(runtime: Runtime, task: Task) -> Task:
    """A task of one model by another of its runtimes."""
    source = task.source and replace(task.source, runtime=runtime)
    return replace(task, target=replace(task.target, runtime=runtime), source=source)


def _runtime(model: "Model", device: "str | torch.device | None", *, exact: bool) -> Runtime:
    from masker.runtime import runtime_for

    return runtime_for(model, device, exact=exact)


def _check_same_vocabulary(a: "Model", b: "Model") -> None:
    """Two models can only be compared piece by piece; their domain tokens may differ."""
    if a.settings.n_p != b.settings.n_p:
        raise MaskerError(f"the models have n_p {a.settings.n_p} and {b.settings.n_p}; fit both with the same")

    def plain(model: "Model") -> dict[str, int]:
        vocabulary = model.vocabulary.tokenizer.get_vocab()
        return {token: i for token, i in vocabulary.items() if not token.startswith("[domain:")}

    if plain(a) != plain(b):
        raise MaskerError("the two models have different vocabularies; fit both from the same base model")
