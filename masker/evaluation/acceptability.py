"""How many rewrites a reader would accept, by a model's critic: the metric that agrees best with people.

On the 3,200 ratings by people of Li et al. (2018), none of which it has seen, the correlation (Spearman's) with whether
a rewrite was a success is 0.38, that of style accuracy 0.17, of fluency 0.04, of the words shared with the source 0.01.
"""

from collections.abc import Sequence
from pathlib import Path

from masker.errors import MaskerError
from masker.evaluation.tally import Tally, mean
from masker.model.critic import is_critic
from masker.model.folder import CRITIC, local_folder
from masker.model.light import LightModel
from masker.runtime.critic import Critic, load_critic


def load(model: str | Path | None = None) -> Critic:
    """The critic of a model, of the embedded one without a name."""
    folder = local_folder(model)
    if folder is None or not is_critic(folder / CRITIC):
        raise MaskerError(f"the model '{model}' has no critic; teach it one (masker critic)")
    return load_critic(folder / CRITIC, folder, LightModel.read(folder).vocabulary)


def acceptability_tally(to: str, sources: Sequence[str], outputs: Sequence[str], critic: Critic) -> Tally:
    """The probabilities that outputs are accepted; a copy never is."""
    if not critic.knows(to):
        known = ", ".join(critic.card.domains)
        raise MaskerError(f"metric 'acceptability' needs a critic that knows '{to}'; this one knows {known}")
    found = critic.accepts(to, sources, outputs)
    return mean([0.0 if s.strip() == o.strip() else p for s, o, p in zip(sources, outputs, found, strict=True)])
