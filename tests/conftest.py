"""Tiny tokenizers and tiny random models of five families, made here: no network, no files to carry about."""

import csv
import os
import string
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from toy import CORPORA, READER, make_causal
from transformers import (
    AutoModelForMaskedLM,
    BertConfig,
    DistilBertConfig,
    ModernBertConfig,
    MPNetConfig,
    PreTrainedTokenizerFast,
    RobertaConfig,
)

from masker.api import Masker
from masker.core.scoring import DomainScorer
from masker.core.task import Task
from masker.core.vocabulary import Vocabulary
from masker.model.padded_mlm import PaddedMLM, Settings
from masker.runtime.torch import TorchRuntime
from masker.training.reader import fit_reader

# here and in the processes that tests start: the last bits of a sum depend on the number of threads
torch.set_num_threads(1)
os.environ["OMP_NUM_THREADS"] = "1"

FAMILIES = ("bert", "distilbert", "mpnet", "roberta", "modernbert")
DOMAINS = ("negative", "positive")
FIGURE_1 = "marie curie was born in poland . she died in the france ."
CORPUS = """\
the food was terrible . the food was great ! i can't believe how rude they were . it was n't good , but nice people
and staff . marie was born in poland and died in france . we don't like it ; they're so-so ( really ) . I do not know
Paris , London and New York . The service was Very Good . She and He were here . 2.5 stars , 10 % off for $ 5
"""
WORDS = [
    *sorted({word.lower() for word in CORPUS.split() if word.isalpha()}),
    "cu", "##rie", "##s", "##ly", "don", "num", "netherlands", "family", "french", "germany", "states", "raised",
    "our", "is", "so", "re", "can",
]  # fmt: skip


def wordpiece(specials: dict[str, str]) -> PreTrainedTokenizerFast:
    """Uncased, as BERT's; `specials` names the control tokens by role."""
    letters = string.ascii_lowercase + string.digits
    unused = [f"[unused{k}]" for k in range(3)]
    tokens = [*specials.values(), *unused, *letters, *(f"##{c}" for c in letters), *string.punctuation, *WORDS]
    vocabulary = {token: k for k, token in enumerate(dict.fromkeys(tokens))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token=specials["unk"]))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    return finished(tokenizer, specials)


def byte_level(specials: dict[str, str]) -> PreTrainedTokenizerFast:
    """Cased byte-level BPE, as RoBERTa's and ModernBERT's."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=480,
        special_tokens=[*specials.values(), "[unused0]", "[unused1]"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator([CORPUS.replace("\n", " ")] * 3, trainer)
    return finished(tokenizer, specials)


def finished(tokenizer: Tokenizer, specials: dict[str, str]) -> PreTrainedTokenizerFast:
    cls, sep = specials["cls"], specials["sep"]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{cls} $A {sep}",
        pair=f"{cls} $A {sep} $B {sep}",
        special_tokens=[(token, tokenizer.token_to_id(token)) for token in (cls, sep)],
    )
    tokenizer.enable_truncation(16)  # as the files of sentence encoders have it: must not leak into reading
    tokenizer.enable_padding(pad_id=tokenizer.token_to_id(specials["pad"]), pad_token=specials["pad"], length=16)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, **{f"{role}_token": token for role, token in specials.items()}
    )


BERT = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
ROBERTA = {"cls": "<s>", "pad": "<pad>", "sep": "</s>", "unk": "<unk>", "mask": "<mask>"}
MPNET = {"cls": "<s>", "pad": "<pad>", "sep": "</s>", "unk": "[UNK]", "mask": "<mask>"}
SMALL = {"hidden_size": 16, "num_attention_heads": 2, "num_hidden_layers": 2, "intermediate_size": 24}
MAKE: dict[str, tuple[Callable[[], PreTrainedTokenizerFast], Callable[..., Any]]] = {
    "bert": (lambda: wordpiece(BERT), lambda **kw: BertConfig(max_position_embeddings=96, **SMALL, **kw)),
    "distilbert": (
        lambda: wordpiece(BERT),
        lambda **kw: DistilBertConfig(max_position_embeddings=96, dim=16, n_heads=2, n_layers=2, hidden_dim=24, **kw),
    ),
    "mpnet": (lambda: wordpiece(MPNET), lambda **kw: MPNetConfig(max_position_embeddings=98, **SMALL, **kw)),
    "roberta": (lambda: byte_level(ROBERTA), lambda **kw: RobertaConfig(max_position_embeddings=98, **SMALL, **kw)),
    "modernbert": (
        lambda: byte_level(BERT),
        lambda **kw: ModernBertConfig(max_position_embeddings=96, local_attention=16, **SMALL, **kw),
    ),
}


def make_vocabulary(family: str) -> Vocabulary:
    return Vocabulary(MAKE[family][0]())


def make_model(family: str = "bert", domains: tuple[str, ...] = DOMAINS, *, seed: int = 0, n_p: int = 4) -> PaddedMLM:
    """A random padded MLM, its weights wide enough that it has opinions. Its embeddings have rows to spare."""
    vocabulary = make_vocabulary(family)
    t = vocabulary.tokenizer
    config = MAKE[family][1](
        vocab_size=(len(t) // 64 + 1) * 64,
        pad_token_id=t.pad_token_id,
        bos_token_id=t.cls_token_id,
        eos_token_id=t.sep_token_id,
        cls_token_id=t.cls_token_id,
        sep_token_id=t.sep_token_id,
    )
    torch.manual_seed(seed)
    mlm = AutoModelForMaskedLM.from_config(config).eval()
    with torch.no_grad():
        for parameter in mlm.parameters():
            if parameter.dim() == 2:
                parameter.mul_(12)
        mlm.get_input_embeddings().weight.mul_(4)
    model = PaddedMLM(mlm, vocabulary, Settings(n_p=n_p, window=48))
    model.add_domains(domains)
    return model


def make_task(
    model: PaddedMLM,
    *,
    runtime: Any = None,
    source: DomainScorer | bool | None = True,
    domains: Any = DOMAINS,
    **options: Any,
) -> Task:
    """From the first of the domains to the last of them."""
    runtime = runtime or TorchRuntime(model, "cpu")
    v = model.vocabulary
    if isinstance(source, bool):
        source = DomainScorer(runtime, v.domain(domains[0])) if source else None
    values = {"window": model.settings.window, "from_": domains[0], **options}
    return Task(
        v, model.frame, to=domains[-1], target=DomainScorer(runtime, v.domain(domains[-1])), source=source, **values
    )


@pytest.fixture(scope="session", params=FAMILIES)
def family(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="session")
def vocabularies() -> dict[str, Vocabulary]:
    """One of each family, with the domains' tokens."""
    found = {family: make_vocabulary(family) for family in FAMILIES}
    for vocabulary in found.values():
        vocabulary.add_domains(DOMAINS)
    return found


@pytest.fixture(scope="session")
def vocabulary(vocabularies: dict[str, Vocabulary]) -> Vocabulary:
    """BERT's."""
    return vocabularies["bert"]


@pytest.fixture(scope="session")
def maskers() -> Callable[[str], Masker]:
    """A tiny random Masker of a family, made once."""
    made: dict[str, Masker] = {}

    def get(family: str) -> Masker:
        if family not in made:
            made[family] = Masker(make_model(family), device="cpu")
        return made[family]

    return get


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved tiny random BERT with the domains negative and positive."""
    folder = tmp_path_factory.mktemp("models") / "tiny"
    make_model("bert").save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def causal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved tiny causal LM that knows nothing yet."""
    return make_causal(tmp_path_factory.mktemp("causal") / "base")


@pytest.fixture(scope="session")
def reader_folder(tmp_path_factory: pytest.TempPathFactory, causal: Path) -> Path:
    """A reader of the toy corpora."""
    folder = tmp_path_factory.mktemp("readers") / "reader"
    fit_reader(CORPORA, causal, folder, settings=READER)
    return folder


@pytest.fixture(scope="session")
def figure_1() -> list[dict[str, Any]]:
    """The table of the paper's appendix: strings, and numbers as floats."""
    with (Path(__file__).parent / "golden" / "figure1.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    texts = ("masked_input", "replacement")
    counts = ("i", "words_deleted")
    return [
        {key: value if key in texts else int(value) if key in counts else float(value) for key, value in row.items()}
        for row in rows
    ]
