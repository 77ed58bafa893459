"""Label maps."""

from __future__ import annotations

import builtins
import sys
import types
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from thinc.api import Model

from spacy_psa.analysis.label_map import (
    LabelVectors,
    groups_of,
    in_order,
    label_vectors,
    map_labels,
    procrustes,
    project_pca,
)
from spacy_psa.layers import LabelAttentionDecoder, LabelCRFDecoder, SoftmaxDecoder
from spacy_psa.pipeline.tagger import PSATagger

from ..pipeline import srl_data
from ..pipeline.conftest import initialized_nlp, tagger_of
from .inside import network_of, ours, system_nlp

SPAN_TAGS = ["O", "B-NP", "I-NP", "E-NP", "S-NP", "B-VP", "I-VP", "E-VP", "S-VP"]
TAGS = ["NNP", "NN", "VBD", "VBZ", "JJ", ".", "CC"]


def random_vectors(
    seed: int = 0, labels: list[str] | None = None, width: int = 5, name: str = "model"
) -> LabelVectors:
    labels = TAGS if labels is None else labels
    vectors = np.random.default_rng(seed).normal(size=(len(labels), width))
    return LabelVectors(name, labels, vectors * np.arange(1, width + 1))


def rotation(angle: float, mirrored: bool) -> NDArray[np.float64]:
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return turn @ np.diag([1.0, -1.0 if mirrored else 1.0])


def distances(points: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.linalg.norm(points[:, None] - points[None], axis=2)


def test_tags_of_spans_are_grouped_by_the_label_of_the_span() -> None:
    assert groups_of(["O", "B-NP", "E-NP", "S-some-type"]) == ["O", "NP", "NP", "some-type"]


def test_other_tags_are_grouped_by_their_first_letter() -> None:
    assert groups_of(["NN", "nn", "-LRB-", "$", "B-X"]) == ["N", "N", "symbols", "symbols", "B"]


def test_labels_are_sorted_by_group() -> None:
    tags = ["B-VP", "I-NP", "O", "B-NP"]
    assert [tags[i] for i in in_order(tags)] == ["O", "B-NP", "I-NP", "B-VP"]
    tags = ["VBZ", "NN", "."]
    assert [tags[i] for i in in_order(tags)] == ["NN", "VBZ", "."]


def test_pca_keeps_the_two_directions_of_greatest_variance() -> None:
    vectors = random_vectors(width=4).vectors
    points, shown = project_pca(vectors)
    covariance = np.zeros((4, 4))
    middle = vectors.mean(axis=0)
    for row in vectors:
        covariance += np.outer(row - middle, row - middle)
    values, directions = np.linalg.eigh(covariance)
    expected = (vectors - middle) @ directions[:, [3, 2]]
    np.testing.assert_allclose(np.abs(points), np.abs(expected), atol=1e-10)
    assert shown == pytest.approx(values[2:].sum() / values.sum())
    # The map is the same whatever signs the axes are computed with.
    np.testing.assert_allclose(project_pca(vectors[:, ::-1])[0], points, atol=1e-10)


def test_procrustes_is_the_best_of_all_turns_and_mirrors() -> None:
    points, target = (project_pca(random_vectors(seed).vectors)[0] for seed in (1, 2))
    aligned = procrustes(points, target)
    np.testing.assert_allclose(distances(aligned), distances(points), atol=1e-10)
    best = ((aligned - target) ** 2).sum()
    for angle in np.linspace(0.0, 2 * np.pi, 73):
        for mirrored in (False, True):
            other = points @ rotation(angle, mirrored)
            assert ((other - target) ** 2).sum() >= best - 1e-9


def test_maps_are_aligned_to_the_first_and_equally_large() -> None:
    first = random_vectors()
    turned = LabelVectors("turned", TAGS[::-1], 3.0 * first.vectors[::-1, ::-1] + 7.0)
    a, b = map_labels([first, turned])
    assert a.labels == b.labels
    np.testing.assert_allclose(a.points, b.points, atol=1e-10)
    assert (a.points**2).sum(axis=1).mean() == pytest.approx(1.0)
    assert a.shown == pytest.approx(b.shown)


def test_checkpoints_can_be_seen_in_the_plane_of_the_last() -> None:
    first, last = random_vectors(0), random_vectors(1)
    maps = map_labels([first, last], align="last")
    order = [TAGS.index(label) for label in maps[0].labels]
    expected, _ = project_pca(last.vectors[order])
    np.testing.assert_allclose(maps[1].points, expected, atol=1e-10)
    # Both share one plane: labels that move in it also move on the map.
    both = map_labels([last, last], align="last")
    np.testing.assert_allclose(both[0].points, both[1].points, atol=1e-12)
    shifted = LabelVectors("shifted", TAGS, last.vectors + 1.0)
    moved = map_labels([shifted, last], align="last")
    offset = moved[0].points - moved[1].points
    np.testing.assert_allclose(offset, np.tile(offset[0], (len(TAGS), 1)), atol=1e-10)
    assert np.linalg.norm(offset[0]) > 0.01


def test_most_similar_labels_are_those_of_the_smallest_angle() -> None:
    model = random_vectors()
    [found] = map_labels([model])
    for label, (other, cosine) in zip(found.labels, found.nearest, strict=True):
        own = model.vectors[TAGS.index(label)]
        cosines = {
            tag: float(own @ v / np.linalg.norm(own) / np.linalg.norm(v))
            for tag, v in zip(TAGS, model.vectors, strict=True)
            if tag != label
        }
        assert other == max(cosines, key=cosines.__getitem__)
        assert cosine == pytest.approx(max(cosines.values()))


def test_labels_that_a_model_has_not_are_left_out() -> None:
    fewer = random_vectors(1, labels=[*TAGS[1:5], "UH"])
    a, b = map_labels([random_vectors(), fewer])
    assert a.labels == b.labels == sorted(TAGS[1:5])


@pytest.mark.parametrize(
    ("settings", "code"),
    [({"method": "umap"}, "P100"), ({"align": "none"}, "P100"), ({"align": "last"}, "P388")],
)
def test_settings_that_do_not_fit_are_errors(settings: dict[str, str], code: str) -> None:
    with pytest.raises(ValueError, match=rf"\[{code}\]"):
        map_labels([random_vectors(), random_vectors(width=6)], **settings)


def test_tsne_cannot_be_fitted_on_the_last() -> None:
    with pytest.raises(ValueError, match=r"\[P388\].*tsne"):
        map_labels([random_vectors()], method="tsne", align="last")


def test_too_few_labels_in_common_are_an_error() -> None:
    other = random_vectors(labels=["NN", "XX", "YY"], name="other")
    with pytest.raises(ValueError, match=r"\[P385\] 'model' and 'other' share too few labels"):
        map_labels([random_vectors(), other])


def test_tsne_without_scikit_learn_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def without(name: str, *arguments: Any, real: Any = builtins.__import__) -> Any:
        if name.split(".")[0] == "sklearn":
            raise ImportError(name)
        return real(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ValueError, match=r"\[P386\].*spacy-psa\[plots\].*--method pca"):
        map_labels([random_vectors()], method="tsne")


def test_tsne_has_fewer_neighbours_than_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    class TSNE:
        def __init__(self, **settings: Any) -> None:
            asked.update(settings)

        def fit_transform(self, vectors: NDArray) -> NDArray:
            return vectors[:, :2]

    module = types.ModuleType("sklearn.manifold")
    module.TSNE = TSNE
    monkeypatch.setitem(sys.modules, "sklearn", types.ModuleType("sklearn"))
    monkeypatch.setitem(sys.modules, "sklearn.manifold", module)
    [found] = map_labels([random_vectors()], method="tsne")
    assert asked["n_components"] == 2 and asked["random_state"] == 0
    assert 0 < asked["perplexity"] < len(TAGS)
    assert found.shown is None


def test_tsne_puts_like_labels_near_each_other() -> None:
    pytest.importorskip("sklearn", reason="t-SNE is scikit-learn's")
    labels = [f"{group}{i}" for group in "AB" for i in range(6)]
    centres = np.repeat([[0.0] * 8, [10.0] * 8], 6, axis=0)
    vectors = centres + np.random.default_rng(0).normal(size=centres.shape)
    [found] = map_labels([LabelVectors("m", labels, vectors)], method="tsne")
    apart = distances(found.points)
    for i, label in enumerate(labels):
        apart[i, i] = np.inf
        assert labels[int(apart[i].argmin())][0] == label[0]


@pytest.mark.parametrize(
    ("system", "decoder"),
    [
        ("psa", SoftmaxDecoder),
        ("deepatt", SoftmaxDecoder),
        ("lan", LabelAttentionDecoder),
        ("refinement", LabelCRFDecoder),
    ],
)
def test_vectors_are_label_embeddings_or_weights_of_the_output(system: str, decoder: type) -> None:
    nlp = system_nlp(system)
    [found] = label_vectors("m", ours(nlp))
    layer = network_of(nlp).decoder
    assert isinstance(layer, decoder)
    weight = layer.emission.weight if decoder is SoftmaxDecoder else layer.labels.weight
    np.testing.assert_array_equal(found.vectors, weight.detach().double().numpy())
    assert found.labels == SPAN_TAGS


def test_labels_that_are_not_trained_yet_are_left_out() -> None:
    tagger = tagger_of(initialized_nlp())
    before = list(tagger.tags)
    tagger.add_label("NEW")
    (found,) = label_vectors("model", tagger)
    assert found.labels == before
    assert len(found.vectors) == len(before)


def test_each_model_of_an_ensemble_has_its_own() -> None:
    models = {"a": srl_data.tiny_model(), "b": srl_data.tiny_model()}
    nlp = srl_data.make_nlp({"@architectures": "spacy_psa.RoleEnsemble.v1", "*": models})
    nlp.initialize(lambda: srl_data.make_examples(nlp))
    found = label_vectors("roles", srl_data.srl_of(nlp))
    assert [model.name for model in found] == ["roles, model 1", "roles, model 2"]
    assert not np.allclose(found[0].vectors, found[1].vectors)


def test_decoders_that_do_not_tell_are_an_error() -> None:
    nlp = initialized_nlp()
    network = network_of(nlp)

    class Silent(type(network.decoder)):
        label_vectors = property()

    network.decoder.__class__ = Silent
    with pytest.raises(ValueError, match=r"\[P384\].*Silent of 'psa_tagger'"):
        label_vectors("m", tagger_of(nlp))


def test_models_without_a_network_of_ours_are_an_error() -> None:
    plain: Model = Model("plain", lambda model, docs, is_train: (docs, lambda d: d))
    with pytest.raises(ValueError, match=r"\[P382\]"):
        label_vectors("m", PSATagger(initialized_nlp().vocab, plain, "mine"))
