"""The whole model: from documents to potentials and back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import spacy
import torch
from spacy.tokens import Doc
from spacy.vocab import Vocab
from thinc.api import Config, Model
from torch import nn

from spacy_psa.inference import Potentials
from spacy_psa.layers import BiLSTM, SequenceMask
from spacy_psa.models.decoders import build_crf, build_pairwise_crf, build_softmax
from spacy_psa.models.encoders import build_bilstm, build_psa_encoder
from spacy_psa.models.labeler import build_sequence_labeler, sentence_lengths
from spacy_psa.private_names import network_of

from ..pipeline.conftest import NAME, initialized_nlp, make_docs, make_nlp, tagger_of, tiny_model

WIDTH = 3


def forward_random(model: Model, docs: list[Doc], is_train: bool):
    """Vectors that depend only on the length of the document."""
    outputs = [
        np.random.default_rng(len(doc)).normal(size=(len(doc), WIDTH)).astype("f") for doc in docs
    ]

    def backprop(gradients):
        model.attrs["gradients"] = gradients
        return []

    return outputs, backprop


def make_tok2vec(**dims: int) -> Model:
    return Model("random", forward_random, dims={"nO": None, **dims})


def make_model(decoder=build_crf, **dims: int) -> Model:
    lstm = build_bilstm(4, 1, 0.0, 0.0)
    model = build_sequence_labeler(make_tok2vec(**dims), lstm, decoder(), 20, 6)
    model.set_dim("nO", 5)
    return model


def make_doc(length: int) -> Doc:
    return Doc(Vocab(), words=["w"] * length)


@pytest.mark.parametrize("dims", [{"nO": WIDTH}, {}])
def test_the_width_of_the_tok2vec_is_known_or_found_out(dims: dict[str, int]) -> None:
    model = make_model(**dims).initialize(X=[make_doc(2)])
    assert model.get_ref("network").get_dim("nI") == WIDTH
    assert model.get_ref("network").get_dim("nO") == 5


def test_a_width_that_cannot_be_found_out_is_an_error() -> None:
    with pytest.raises(ValueError, match="P209"):
        make_model().initialize()


@pytest.mark.parametrize(("overlap", "length"), [(-1, 5), (5, 5), (6, 5), (0, 0)])
def test_windows_that_do_not_advance_are_an_error(overlap: int, length: int) -> None:
    lstm = build_bilstm(4, 1, 0.0, 0.0)
    with pytest.raises(ValueError, match="P208"):
        build_sequence_labeler(make_tok2vec(), lstm, build_crf(), length, overlap)


def test_the_output_is_potentials_of_all_tokens() -> None:
    model = make_model().initialize(X=[make_doc(2)])
    potentials = model.predict([make_doc(3), make_doc(0), make_doc(50)])
    assert potentials.lengths == (3, 50)
    assert potentials.emissions.shape == (53, 5)
    assert potentials.emissions.dtype == torch.float32
    assert not potentials.emissions.requires_grad


@pytest.mark.parametrize("n_docs", [0, 1, 2])
def test_without_tokens_there_are_no_chains(n_docs: int) -> None:
    nlp = initialized_nlp()
    model, docs = tagger_of(nlp).model, [nlp.make_doc("")] * n_docs
    potentials = model.predict(docs)
    assert potentials.lengths == ()
    assert potentials.emissions.shape == (0, model.get_dim("nO"))
    potentials, backprop = model.begin_update(docs)
    assert backprop(potentials) == []


def test_without_tokens_the_tok2vec_gets_its_gradient() -> None:
    model = make_model().initialize(X=[make_doc(2)])
    potentials, backprop = model.begin_update([make_doc(0)] * 2)
    backprop(potentials)
    shapes = [gradient.shape for gradient in model.layers[0].attrs["gradients"]]
    assert shapes == [(0, WIDTH)] * 2


@pytest.mark.parametrize("length", [3, 50])
def test_the_gradient_of_the_input_is_that_of_the_output(length: int) -> None:
    model = make_model().initialize(X=[make_doc(2)])
    tok2vec = model.layers[0]
    docs = [make_doc(length), make_doc(0), make_doc(1)]
    potentials, backprop = model.begin_update(docs)
    weight = torch.randn(potentials.emissions.shape, generator=torch.manual_seed(0))
    zeros = {name: torch.zeros_like(t) for name, t in potentials.tensors().items()}
    backprop(Potentials(lengths=potentials.lengths, **{**zeros, "emissions": weight}))
    found = tok2vec.attrs["gradients"]
    assert [gradient.shape for gradient in found] == [(len(doc), WIDTH) for doc in docs]
    inputs, _ = forward_random(tok2vec, docs, False)
    network = model.get_ref("network")

    def total(moved: list[np.ndarray]) -> float:
        tok2vec._func = lambda model, docs, is_train: (moved, lambda d: [])
        return float((model.predict(docs).emissions.double() * weight).sum())

    for place in ((0, 0), (length - 1, 2), (length // 2, 1)):
        sums = []
        for step in (1e-2, -1e-2):
            moved = [array.copy() for array in inputs]
            moved[0][place] += step
            sums.append(total(moved))
        assert found[0][place] == pytest.approx((sums[0] - sums[1]) / 2e-2, abs=2e-3)
    assert network.shims[0].network.encoder.width == 4


def test_without_an_encoder_the_decoder_scores_the_vectors() -> None:
    model = build_sequence_labeler(make_tok2vec(nO=WIDTH), None, build_crf(), 20, 6)
    model.set_dim("nO", 5)
    model.initialize(X=[make_doc(2)])
    docs = [make_doc(3), make_doc(0), make_doc(50)]
    found = model.predict(docs).emissions
    emission = model.get_ref("network").shims[0].network.decoder.emission
    vectors = np.vstack(forward_random(model.layers[0], docs, False)[0])
    expected = emission(torch.from_numpy(vectors))
    torch.testing.assert_close(found, expected.detach(), atol=1e-6, rtol=0.0)


def test_gradients_of_all_potentials_reach_the_parameters() -> None:
    model = make_model().initialize(X=[make_doc(2)])
    potentials, backprop = model.begin_update([make_doc(3)])
    ones = {name: torch.ones_like(t) for name, t in potentials.tensors().items()}
    backprop(Potentials(lengths=potentials.lengths, **ones))
    network = model.get_ref("network").shims[0].network
    for name in ("transitions", "start", "end"):
        assert torch.equal(getattr(network.decoder, name).grad, ones[name])
    assert float(network.decoder.emission.bias.grad.sum()) == 15.0


class Deaf(nn.Module):
    """An encoder that passes no gradient on."""

    def __init__(self, input_width: int, n_labels: int) -> None:
        super().__init__()
        self.width = input_width
        self.layer = nn.Linear(input_width, input_width)

    def forward(self, x: torch.Tensor, mask: SequenceMask) -> torch.Tensor:
        return self.layer(x.detach())


def test_an_encoder_may_pass_no_gradient_on() -> None:
    model = build_sequence_labeler(make_tok2vec(), Deaf, build_crf(), 20, 6)
    model.set_dim("nO", 5)
    model.initialize(X=[make_doc(2)])
    potentials, backprop = model.begin_update([make_doc(3)])
    ones = {name: torch.ones_like(t) for name, t in potentials.tensors().items()}
    backprop(Potentials(lengths=potentials.lengths, **ones))
    (gradient,) = model.layers[0].attrs["gradients"]
    assert gradient.shape == (3, WIDTH) and not gradient.any()
    assert network_of(model.get_ref("network").shims[0]).decoder.emission.bias.grad.any()


def test_sentence_lengths() -> None:
    doc = make_doc(5)
    assert sentence_lengths(doc) == [5]
    for token in doc:
        token.is_sent_start = token.i in (0, 2, 3)
    assert sentence_lengths(doc) == [2, 1, 2]
    assert sentence_lengths(make_doc(0)) == []


def test_a_missing_fusion_leaves_the_other_parts() -> None:
    lstm = build_bilstm(4, 1, 0.0, 0.0)
    encoder = build_psa_encoder(None, lstm, None)(WIDTH, 5)
    assert [type(part) for part in encoder.encoders] == [BiLSTM]


def test_no_parameter_is_called_like_those_of_thincs_layers() -> None:
    nlp = initialized_nlp()
    for node in tagger_of(nlp).model.walk():
        for shim in node.shims:
            names = {name for name, _ in shim.network.named_parameters()}
            assert all("." in name for name in names)


def test_no_parameter_is_a_scalar_or_of_double_precision() -> None:
    nlp = initialized_nlp()
    for node in tagger_of(nlp).model.walk():
        for shim in node.shims:
            for parameter in shim.network.parameters():
                assert parameter.dim() > 0
                assert parameter.dtype == torch.float32


def test_embeddings_have_dense_gradients() -> None:
    nlp = initialized_nlp()
    model = tagger_of(nlp).model
    potentials, backprop = model.begin_update(make_docs(nlp))
    ones = {name: torch.ones_like(t) for name, t in potentials.tensors().items()}
    backprop(Potentials(lengths=potentials.lengths, **ones))
    weight = model.get_ref("tok2vec").shims[0].network.words.weight
    assert weight.grad.shape == weight.shape
    assert not weight.grad.is_sparse


@pytest.mark.parametrize("edits_file", [True, False])
def test_the_windows_are_those_of_the_config(tmp_path: Path, edits_file: bool) -> None:
    initialized_nlp().to_disk(tmp_path / "saved")
    settings = {"components": {NAME: {"model": {"max_length": 4, "overlap": 1}}}}
    if edits_file:
        path = tmp_path / "saved" / "config.cfg"
        Config().from_disk(path, interpolate=False).merge(settings).to_disk(path)
    loaded = spacy.load(tmp_path / "saved", config={} if edits_file else settings)
    loaded.to_disk(tmp_path / "anew")
    for nlp in (loaded, spacy.load(tmp_path / "anew")):
        found = nlp.config["components"][NAME]["model"]
        assert (found["max_length"], found["overlap"]) == (4, 1)
        seen: list[int] = []
        encoder = tagger_of(nlp).model.get_ref("network").shims[0].network.encoder
        encoder.register_forward_pre_hook(lambda _, args, seen=seen: seen.append(args[1].width))
        nlp(" ".join(["Ann"] * 40))
        assert max(seen) == 4


@pytest.mark.parametrize("settings", [{"max_length": 20, "overlap": 6}, {"tok2vec__min_freq": 3}])
def test_weights_leave_settings_as_they_are(settings: dict[str, int]) -> None:
    nlp = make_nlp(model=tiny_model(**settings))
    before = [dict(node.attrs) for node in tagger_of(nlp).model.walk()]
    tagger_of(nlp).from_bytes(tagger_of(initialized_nlp()).to_bytes())
    assert [dict(node.attrs) for node in tagger_of(nlp).model.walk()] == before


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_potentials_on_the_gpu_equal_those_on_the_cpu() -> None:
    pytest.importorskip("cupy", reason="needs cupy")
    from thinc.api import require_cpu, require_gpu

    nlp = initialized_nlp()
    expected = tagger_of(nlp).model.predict(make_docs(nlp)).emissions
    data = nlp.to_bytes()
    require_gpu()
    try:
        nlp = initialized_nlp().from_bytes(data)
        found = tagger_of(nlp).model.predict(make_docs(nlp)).emissions
    finally:
        require_cpu()
    torch.testing.assert_close(found.cpu(), expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("decoder", [build_softmax, build_crf, build_pairwise_crf])
def test_without_an_encoder_weights_begin_at_zero(decoder) -> None:
    model = build_sequence_labeler(make_tok2vec(nO=WIDTH), None, decoder(), 20, 6)
    model.set_dim("nO", 5)
    model.initialize(X=[make_doc(2)])
    network = network_of(model.get_ref("network").shims[0])
    assert not any(weight.any() for weight in network.parameters())
    with_encoder = make_model(decoder).initialize(X=[make_doc(2)])
    assert all(
        w.any()
        for w in network_of(with_encoder.get_ref("network").shims[0]).parameters()
        if w.dim() > 1
    )
