import json
from pathlib import Path

import pytest
import torch
from conftest import DOMAINS, make_model

from masker.errors import MaskerError
from masker.model.padded_mlm import PaddedMLM, Settings


def batch(model: PaddedMLM, texts: tuple[str, ...] = ("the food was terrible .", "so")) -> tuple[torch.Tensor, ...]:
    """Rows of unequal length, each with two masks: ids, attention, slots."""
    v = model.vocabulary
    rows = [[*v.start, v.mask, *v.read(text).pieces, v.mask, *v.end] for text in texts]
    length = max(map(len, rows))
    ids = torch.tensor([row + [v.pad] * (length - len(row)) for row in rows])
    attention = torch.tensor([[1] * len(row) + [0] * (length - len(row)) for row in rows])
    return ids, attention, torch.tensor([[1, len(row) - 2] for row in rows])


@torch.no_grad()
def test_logits_at_the_masks_are_those_of_the_whole_model(family: str) -> None:
    model = make_model(family)
    ids, attention, slots = batch(model)
    for row, mask, at in zip(ids, attention, slots, strict=True):
        n = int(mask.sum())
        whole = model.mlm(input_ids=row[None, :n], attention_mask=mask[None, :n]).logits[0]
        logits = model(row[None, :n], mask[None, :n], at[None])[0]
        assert logits.shape == (2, len(model.vocabulary))
        torch.testing.assert_close(logits, whole[at][:, : len(model.vocabulary)], atol=1e-4, rtol=1e-4)


@torch.no_grad()
def test_padding_a_row_does_not_change_it(family: str) -> None:
    model = make_model(family)
    ids, attention, slots = batch(model)
    together = model(ids, attention, slots)
    for k in range(len(ids)):
        n = int(attention[k].sum())
        alone = model(ids[k : k + 1, :n], attention[k : k + 1, :n], slots[k : k + 1])
        torch.testing.assert_close(together[k], alone[0], atol=1e-4, rtol=1e-4)


@torch.no_grad()
def test_pad_as_content_takes_up_a_position(family: str) -> None:
    """RoBERTa and MPNet would number only the ids that are not [PAD]."""
    model = make_model(family)
    ids, attention, _ = batch(model, ("the food was terrible .",))
    ids[0, 3] = model.vocabulary.pad
    positions = torch.arange(ids.shape[1])[None] + (2 if family in ("roberta", "mpnet") else 0)
    expected = model.mlm.base_model(input_ids=ids, attention_mask=attention, position_ids=positions)[0]
    torch.testing.assert_close(model.encode(ids, attention), expected)
    if family in ("roberta", "mpnet"):
        derived = model.mlm.base_model(input_ids=ids, attention_mask=attention)[0]
        assert (derived[:, 3:] - expected[:, 3:]).abs().max() > 0.01


@torch.no_grad()
def test_the_longest_input_has_positions(family: str) -> None:
    model = make_model(family)
    assert model.max_length == 96
    ids = torch.full((1, model.max_length), model.vocabulary.mask)
    logits = model(ids, torch.ones_like(ids), torch.tensor([[0, model.max_length - 1]]))
    assert logits.isfinite().all()


def test_only_the_masks_are_projected_to_the_vocabulary(family: str) -> None:
    model = make_model(family)
    rows: list[int] = []
    model.mlm.get_output_embeddings().register_forward_hook(
        lambda _, inputs, __: rows.append(inputs[0][..., 0].numel())
    )
    ids, attention, slots = batch(model)
    model(ids, attention, slots)
    assert rows == [slots.numel()]


def test_gradients_reach_encoder_and_head(family: str) -> None:
    model = make_model(family)
    model(*batch(model)).logsumexp(-1).sum().backward()
    grown = {name for name, p in model.named_parameters() if p.grad is not None and p.grad.abs().sum() > 0}
    assert any("layer" in name for name in grown)
    assert any("embedding" in name for name in grown)
    assert len(list(model.parameters())) == len(list(model.mlm.parameters()))


def test_parameters_are_counted_once() -> None:
    model = make_model()
    assert set(model.state_dict()) == {f"mlm.{name}" for name in model.mlm.state_dict()}


# -- domains -----------------------------------------------------------------------------------------------------------


def test_two_domains_are_each_other_s_counterpart() -> None:
    model = make_model()
    assert (model.counterpart("positive"), model.counterpart("negative")) == ("negative", "positive")


def test_a_single_domain_has_no_counterpart() -> None:
    assert make_model(domains=("positive",)).counterpart("positive") is None


def test_of_three_domains_the_source_must_be_named() -> None:
    model = make_model(domains=("formal", "plain", "pirate"))
    with pytest.raises(MaskerError, match=r"`from_` \(formal, pirate\)"):
        model.counterpart("plain")


def test_an_unknown_domain_is_told_the_known_ones() -> None:
    with pytest.raises(MaskerError, match="'neutral'; known: negative, positive"):
        make_model().check_domain("neutral")


def test_more_domains_than_embeddings_make_the_model_grow(family: str) -> None:
    model = make_model(family)
    names = [f"d{k}" for k in range(model.mlm.config.vocab_size - len(model.vocabulary) + 3)]
    before = model(*batch(model)).detach()
    model.add_domains(names)
    after = model(*batch(model)).detach()
    assert after.shape[-1] == len(model.vocabulary) == before.shape[-1] + len(names)
    torch.testing.assert_close(after[..., : before.shape[-1]], before, atol=1e-4, rtol=1e-4)
    assert model.vocabulary.domain(names[-1]) == len(model.vocabulary) - 1


@pytest.mark.parametrize(("n_p", "window"), [(0, 64), (4, 15)])
def test_settings_are_checked(n_p: int, window: int) -> None:
    with pytest.raises(MaskerError, match=f"`n_p` is {n_p} and `window` {window}"):
        Settings(n_p=n_p, window=window)


# -- files -------------------------------------------------------------------------------------------------------------


@torch.no_grad()
@pytest.mark.parametrize("packed", [False, True])
def test_a_saved_model_comes_back(family: str, tmp_path: Path, packed: bool) -> None:
    model = make_model(family, n_p=3)
    model.save_pretrained(tmp_path / "model", packed=packed)
    again = PaddedMLM.from_pretrained(tmp_path / "model")
    assert again.settings == model.settings
    source = "Marie [MASK] <mask> [domain:positive] wasn't here ."
    assert again.vocabulary.read(source) == model.vocabulary.read(source)
    assert again.frame == model.frame
    assert [again.vocabulary.domain(d) for d in again.domains] == [model.vocabulary.domain(d) for d in model.domains]
    a, b = model(*batch(model)), again.eval()(*batch(again))
    if packed:
        assert torch.corrcoef(torch.stack([a.flatten(), b.flatten()]))[0, 1] > 0.99
    else:
        torch.testing.assert_close(a, b)


def test_a_model_folder_is_in_the_hugging_face_layout(model_folder: Path) -> None:
    names = {path.name for path in model_folder.iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json", "masker.json", "README.md"} <= names
    assert not [name for name in names if name.startswith(".writing")]
    settings = json.loads((model_folder / "masker.json").read_text())
    assert settings["n_p"] == 4
    assert settings["domains"] == {"negative": "positive", "positive": "negative"}


def test_a_pickle_is_refused(tmp_path: Path) -> None:
    make_model().save_pretrained(tmp_path)
    (tmp_path / "model.safetensors").rename(tmp_path / "pytorch_model.bin")
    with pytest.raises(MaskerError, match=r"pickle \(pytorch_model.bin\)"):
        PaddedMLM.from_pretrained(tmp_path)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    make_model().save_pretrained(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(MaskerError, match=f"lacks {name}"):
        PaddedMLM.from_pretrained(tmp_path)


@pytest.mark.parametrize(
    ("name", "content"),
    [("config.json", "{"), ("masker.json", "{"), ("masker.json", '{"format": 2}'), ("masker.json", "[]")],
)
def test_a_damaged_file_is_one_clear_line(tmp_path: Path, name: str, content: str) -> None:
    make_model().save_pretrained(tmp_path)
    (tmp_path / name).write_text(content)
    with pytest.raises(MaskerError) as error:
        PaddedMLM.from_pretrained(tmp_path)
    assert "\n" not in str(error.value)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(MaskerError, match="no model folder"):
        PaddedMLM.from_pretrained(tmp_path / "nowhere")


def test_a_domain_as_an_embedding_is_added_to_every_piece(family: str, tmp_path: Path) -> None:
    model = make_model(family)
    model.settings.domain_as = "embedding"
    v, n = model.vocabulary, len(model.frame.start)
    ids = torch.tensor([[*v.start, v.domain(name), *[v.mask] * 4, *v.end] for name in DOMAINS])
    embed = model.mlm.get_input_embeddings()
    with torch.inference_mode():
        found = model._embedded(ids)
        difference = embed(ids[0, n]) - embed(ids[1, n])
        assert torch.allclose(found[0] - found[1], difference.expand_as(found[0]), atol=1e-4)
        plain = ids[0].clone()
        plain[n] = v.pad
        assert torch.allclose(found[0], embed(plain) + embed(ids[0, n]), atol=1e-5)
        slots = torch.arange(n + 1, n + 5).expand(2, -1)
        logits = model(ids, torch.ones_like(ids), slots)
        assert not torch.allclose(logits[0], logits[1], atol=1e-3)
        model.save_pretrained(tmp_path)
        again = PaddedMLM.from_pretrained(tmp_path)
        assert again.settings.domain_as == "embedding"
        assert torch.allclose(again.eval()(ids, torch.ones_like(ids), slots), logits, atol=1e-3)
    with pytest.raises(MaskerError, match="unknown way to tell the domain 'prefix'; known: token, embedding"):
        Settings(domain_as="prefix")
