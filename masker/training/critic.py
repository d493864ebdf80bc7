"""Teaching a critic: what readers said of rewrites, and how probably they would accept others."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from masker.core.batching import padded
from masker.core.vocabulary import Vocabulary
from masker.data.corpora import hold_out
from masker.data.formats import read_lines
from masker.data.formats.text import json_object
from masker.errors import MaskerError
from masker.model.critic import ASPECTS, CriticCard, rows_of
from masker.model.critic_network import CriticNetwork
from masker.model.folder import GRAPHS, one_line, staged
from masker.model.padded_mlm import PaddedMLM
from masker.runtime.critic import Critic
from masker.runtime.memory import InParts
from masker.training.device import autocast, choose_device
from masker.training.loop import set_dropout, teach
from masker.training.progress import Report, Score
from masker.training.settings import LoopSettings
from masker.training.task import RowsTask

MEASURED = 256  # held-out rewrites at a time
ACCEPTED = 4  # what a rewrite needs at least, of 5, for its style, content and fluency


@dataclass(frozen=True)
class Rating:
    """What a reader said of a rewrite: 1 to 5 for its style, content and fluency."""

    to: str
    source: str
    text: str
    style: int
    content: int
    fluency: int

    @property
    def aspects(self) -> tuple[bool, ...]:
        """Whether it was good enough: in all, and for each of the three."""
        each = tuple(value >= ACCEPTED for value in (self.style, self.content, self.fluency))
        return all(each), *each


@dataclass(frozen=True, kw_only=True)
class CriticSettings(LoopSettings):
    """How to teach a critic. `rank` is that of the changes to the encoder's weights.

    The ratings of the `held_out` share of the texts are kept apart: on them it is measured when to stop, and how sure
    the critic may be.
    """

    epochs: float = 9.0
    lr: float = 1.5e-3
    rank: int = 16
    dropout: float = 0.1
    held_out: float = 0.15
    device: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require("rank", above=0, most=4096)
        self._require("dropout", "held_out", at_least=0, below=1)


@dataclass(frozen=True)
class Rows:
    ids: Tensor  # [N, L]
    attention: Tensor  # [N, L]
    good: Tensor  # [N, ASPECTS]
    lengths: np.ndarray  # [N]

    @classmethod
    def of(cls, vocabulary: Vocabulary, ratings: Sequence[Rating], device: torch.device) -> "Rows":
        rows = [rows_of(vocabulary, each.to, [each.source], [each.text])[0] for each in ratings]
        ids, attention = (torch.from_numpy(array).to(device) for array in padded(rows, vocabulary.pad))
        good = torch.tensor([rating.aspects for rating in ratings], dtype=torch.float32, device=device)
        return cls(ids, attention, good.view(-1, len(ASPECTS)), np.fromiter(map(len, rows), np.int64, len(rows)))

    def loss(self, network: CriticNetwork, rows: Tensor, longest: int) -> Tensor:
        scores = network(self.ids[rows, :longest], self.attention[rows, :longest])
        return binary_cross_entropy_with_logits(scores.float(), self.good[rows])

    @torch.inference_mode()
    def scores(self, network: CriticNetwork) -> np.ndarray:
        """[N] how good rewrites are."""
        network.eval()
        found, in_parts = list[Tensor](), InParts()
        for part in zip(self.ids.split(MEASURED), self.attention.split(MEASURED), strict=True):
            with autocast(self.ids.device):
                found += in_parts(lambda *part: (network(*part)[:, 0].float(),), *part)
        return torch.cat(found).double().cpu().numpy()


def fit_critic(
    ratings: Sequence[Rating],
    base: str | Path | None,
    out: Path,
    *,
    settings: CriticSettings | None = None,
    command: str | None = None,
    report: Report = lambda _: None,
) -> CriticCard:
    """Teach a critic of the model `base` by ratings, and save it in the folder `out`."""
    settings = settings or CriticSettings()
    network, train, held, device = prepare(ratings, base, settings)
    task = RowsTask(
        network, train.lengths, lambda rows, longest: train.loss(network, rows, longest),
        lambda: measure(network, held), device,
    )  # fmt: skip
    state = teach(task, settings, report=report)
    scores, good = held.scores(network), held.good[:, 0].double().cpu().numpy()
    scale, shift = calibrated(scores, good)
    made = {
        "base": "embedded" if base is None else str(base), "command": command, "settings": asdict(settings),
        "ratings": len(train.lengths), "held_out": len(held.lengths), "accepted": round(float(good.mean()), 3),
        "steps": state.step, "best_step": state.best_step, "seconds": round(state.seconds),
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
        "date": time.strftime("%Y-%m-%d"), "scores": state.best.details if state.best else {},
    }  # fmt: skip
    card = CriticCard(tuple(sorted({rating.to for rating in ratings})), round(scale, 4), round(shift, 4), made)
    with one_line(f"cannot save the critic in {out}"), staged(out) as stage:
        network.save(stage)
        card.write(stage)
    (out / GRAPHS).unlink(missing_ok=True)  # of an earlier critic in this folder
    return card


def calibrate(critic: Critic, ratings: Sequence[Rating]) -> CriticCard:
    """The card of a critic with the scale and shift that suit rewrites as they come out: the best of many drafts."""
    found = np.zeros(len(ratings))
    for to in {rating.to for rating in ratings}:
        mine = [k for k, rating in enumerate(ratings) if rating.to == to]
        found[mine] = critic.accepts(to, [ratings[k].source for k in mine], [ratings[k].text for k in mine])
    logits, card = np.log(found / (1 - found)), critic.card
    scale, shift = calibrated(logits, np.array([rating.aspects[0] for rating in ratings]))
    made = {**card.made, "calibrated_on": len(ratings)}
    scale, shift = scale * card.scale, scale * card.shift + shift
    return CriticCard(card.domains, round(scale, 4), round(shift, 4), made)


def prepare(
    ratings: Sequence[Rating], base: str | Path | None, settings: CriticSettings
) -> tuple[CriticNetwork, Rows, Rows, torch.device]:
    """The network before it has learnt anything, what it learns from, and what is held out: other texts."""
    model, device = PaddedMLM.from_pretrained(base), choose_device(settings.device)
    for name in sorted({rating.to for rating in ratings}):
        model.check_domain(name)
    _, held = hold_out([rating.source for rating in ratings], share=settings.held_out, at_least=2, seed=settings.seed)
    apart = set(held)
    parts = [[r for r in ratings if (r.source.strip() in apart) == held] for held in (False, True)]
    if any(len({rating.aspects[0] for rating in part}) < 2 for part in parts):
        raise MaskerError(f"{len(ratings)} ratings are too few to learn from: rate more rewrites, good and bad ones")
    torch.manual_seed(settings.seed)
    network = CriticNetwork(model)
    network.learn(settings.rank)
    set_dropout(network, settings.dropout)
    network.to(device)
    train, held_out = (Rows.of(model.vocabulary, part, device) for part in parts)
    return network, train, held_out, device


def measure(network: CriticNetwork, held: Rows) -> Score:
    """How often a rewrite that was accepted is scored above one that was not; the loss of calibrated scores."""
    scores, good = held.scores(network), held.good[:, 0].double().cpu().numpy() > 0
    order = np.argsort(np.argsort(scores)) + 1.0
    above = (order[good].sum() - good.sum() * (good.sum() + 1) / 2) / max(1, good.sum() * (~good).sum())
    scale, shift = calibrated(scores, good)
    loss = float(np.logaddexp(0, np.where(good, -1, 1) * (scale * scores + shift)).mean())
    return Score(100 * float(above), loss, {"told_apart": round(100 * float(above), 2), "loss": round(loss, 4)})


def calibrated(scores: np.ndarray, good: np.ndarray) -> tuple[float, float]:
    """The scale and shift that make scores the likeliest logits: Platt's scaling."""
    from sklearn.linear_model import LogisticRegression

    if len(set(good.tolist())) < 2:
        return 1.0, 0.0
    found = LogisticRegression(C=100.0).fit(scores[:, None], good > 0)
    return max(float(found.coef_[0, 0]), 1e-3), float(found.intercept_[0])


def read_ratings(path: Path) -> list[Rating]:
    """Ratings from JSON objects, one a line, with `to`, `source`, `text`, `style`, `content` and `fluency`."""
    ratings = []
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        try:
            found = json_object(line)
            texts = [found[name] for name in ("to", "source", "text")]
            values = [found[name] for name in ("style", "content", "fluency")]
        except KeyError as error:
            raise MaskerError(f"{path}, line {number}: there is no {error.args[0]} of the rewrite") from error
        except ValueError as error:
            raise MaskerError(f"{path}, line {number}: {error}") from error
        if not all(isinstance(text, str) for text in texts) or not all(value in range(1, 6) for value in values):
            raise MaskerError(f"{path}, line {number}: texts have to be strings, and ratings from 1 to 5")
        ratings.append(Rating(*texts, *map(int, values)))
    return ratings
