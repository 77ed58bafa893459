"""Lattices: their contents, checked against all sequences, and how they are drawn."""

from __future__ import annotations

from itertools import product
from xml.etree import ElementTree

import numpy as np
import pytest
import torch

from spacy_psa.analysis.lattice import (
    WIDEST_IMAGE,
    Lattice,
    draw_lattice,
    lines_of,
    make_lattice,
    table,
    transition_marginals,
)
from spacy_psa.annotation.schemes import SCHEMES, transition_mask
from spacy_psa.inference import Constraints, LinearChain, Potentials

SVG = "{http://www.w3.org/2000/svg}"
TAGS = ["O", "B-X", "I-X", "E-X", "S-X"]
LENGTHS = (3, 0, 1, 2)
FIRSTS = (0, 3, 4)
WORDS = ["a", "<b>", "c", "d", "e", "f" * 40]


def potentials(kind: str = "chain", seed: int = 0, scale: float = 1.0) -> Potentials:
    """Random potentials for a kind of decoder."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> torch.Tensor:
        return scale * torch.randn(*shape, generator=generator, dtype=torch.float64)

    n, n_labels = sum(LENGTHS), len(TAGS)
    others = {"transitions": draw(n_labels, n_labels), "start": draw(n_labels)}
    fields = {
        "softmax": {},
        "chain": others,
        "pairwise": {**others, "pairwise": draw(n, n_labels, n_labels)},
    }[kind]
    return Potentials(draw(n, n_labels), LENGTHS, **fields)


def chain(kind: str = "chain", *, constrained: bool = False, **settings: float) -> LinearChain:
    scheme = SCHEMES["BIOES"]
    constraints = Constraints(*transition_mask(scheme, TAGS)) if constrained else None
    return LinearChain(potentials(kind, **settings), constraints=constraints)


def lattice(**settings: float) -> Lattice:
    return make_lattice(chain(constrained=True), WORDS, TAGS, **settings)


def image(found: Lattice, **settings: object) -> ElementTree.Element:
    return ElementTree.fromstring(draw_lattice(found, **settings))


def hints(drawn: ElementTree.Element, shape: str) -> dict[str, ElementTree.Element]:
    """The nodes ("circle") or edges ("path"), by tooltip."""
    shapes = ((node, node.find(f"{SVG}title")) for node in drawn.iter(f"{SVG}{shape}"))
    return {hint.text: node for node, hint in shapes if hint is not None}


@pytest.mark.parametrize("constrained", [True, False])
@pytest.mark.parametrize("kind", ["softmax", "chain", "pairwise"])
def test_transitions_are_those_of_all_sequences(kind: str, constrained: bool) -> None:
    given = chain(kind, constrained=constrained)
    expected = np.zeros((6, 5, 5))
    for first, length in zip((0, 3, 4), (3, 1, 2), strict=True):
        labels = torch.zeros(6, dtype=torch.long)
        which = [0, 2, 3][(0, 3, 4).index(first)]
        for names in product(range(5), repeat=length):
            labels[first : first + length] = torch.tensor(names)
            p = float(given.log_prob(labels)[which].exp())
            for t in range(1, length):
                expected[first + t, names[t - 1], names[t]] += p
    np.testing.assert_allclose(transition_marginals(given, range(5)), expected, atol=1e-9)


def test_transitions_of_some_labels() -> None:
    given = chain()
    some = transition_marginals(given, [1, 4])
    expected = transition_marginals(given, range(5))[:, [1, 4]][:, :, [1, 4]]
    np.testing.assert_allclose(some, expected, atol=1e-12)


def test_a_single_token_has_no_transitions() -> None:
    alone = LinearChain(Potentials(torch.zeros(1, 3), (1,)))
    assert not transition_marginals(alone, range(3)).any()
    found = make_lattice(alone, ["a"], ["x", "y", "z"])
    assert hints(image(found), "path") == {}
    assert len(hints(image(found), "circle")) == 3


def test_the_lattice_is_that_of_the_distribution() -> None:
    given, found = chain(constrained=True), lattice(least=0.0)
    assert found.tags == TAGS and found.n_hidden == 0
    np.testing.assert_allclose(found.marginals, given.marginals.numpy(), atol=1e-9)
    assert found.best == given.argmax.tolist()
    assert found.starts == list(FIRSTS)
    best = float(given.topk(1).log_prob.sum().exp())
    assert found.probability == pytest.approx(best, abs=1e-9)


def test_improbable_tags_are_left_out() -> None:
    given = chain(constrained=True, scale=4.0)
    marginals = given.marginals.numpy()
    found = make_lattice(given, WORDS, TAGS, least=0.5)
    expected = [tag for i, tag in enumerate(TAGS) if marginals[:, i].max() >= 0.5]
    assert found.tags == expected and 0 < found.n_hidden == len(TAGS) - len(expected)
    assert f"{found.n_hidden} improbable tag" in draw_lattice(found)


@pytest.mark.parametrize("most", [0, 1, 4])
def test_the_best_sequence_is_always_there(most: int) -> None:
    given = chain(constrained=True)
    found = make_lattice(given, WORDS, TAGS, least=2.0, most_rows=most)
    best = [TAGS[i] for i in given.argmax.tolist()]
    assert [found.tags[i] for i in found.best] == best
    assert set(found.tags) == set(best)


def test_rows_are_limited_to_the_most_probable_tags() -> None:
    given = LinearChain(Potentials(torch.arange(8.0).repeat(2, 1), (2,)))
    found = make_lattice(given, ["a", "b"], list("abcdefgh"), least=0.0, most_rows=3)
    assert found.tags == ["f", "g", "h"]


def test_hidden_tags_that_are_probable_are_told() -> None:
    given = LinearChain(Potentials(torch.zeros(2, 8), (2,)))
    found = make_lattice(given, ["a", "b"], list("abcdefgh"), most_rows=3)
    assert "5 tags not shown, together up to 62% of a token" in draw_lattice(found)
    shown = table(found)
    assert shown.header[-1] == "not shown"
    assert [row[-1] for row in shown.rows] == ["62%", "62%"]


def test_nodes_and_edges_tell_their_probability() -> None:
    found = lattice(least=0.0)
    drawn = image(found, least=0.0)
    nodes, edges = hints(drawn, "circle"), hints(drawn, "path")
    assert len(nodes) == 6 * 5
    p = found.marginals[1, 0]
    assert any(hint.startswith("<b> → O: ") for hint in nodes)
    assert f"<b> → O: {100 * p:.0f}%" in nodes
    q = found.transitions[1, 0, 0]
    assert any(hint == f"O → O: {100 * q:.0f}%" for hint in edges)


def test_probable_nodes_are_larger_and_darker() -> None:
    found = lattice(least=0.0)
    nodes = list(hints(image(found, least=0.0), "circle").values())
    shares = [p for row in found.marginals for p in row]
    order = np.argsort(shares)
    radii = [float(nodes[i].get("r")) for i in order]
    light = [sum(int(nodes[i].get("fill")[k : k + 2], 16) for k in (1, 3, 5)) for i in order]
    assert radii == sorted(radii) and len(set(radii)) > 5
    assert light == sorted(light, reverse=True) and len(set(light)) > 5


def test_the_best_path_is_marked_and_its_probabilities_are_written() -> None:
    found = lattice(least=0.0)
    drawn = image(found)
    rings = [n for n in drawn.iter(f"{SVG}circle") if n.get("stroke-width") == "2.5"]
    assert len(rings) == len(WORDS) + 1, "and one in the legend"
    written = [node.text for node in drawn.iter(f"{SVG}text")]
    for t, i in enumerate(found.best):
        assert f"{100 * found.marginals[t, i]:.0f}%" in written


def test_no_edge_goes_from_one_sentence_to_the_next() -> None:
    found = lattice(least=0.0)
    columns = sorted({float(n.get("cx")) for n in hints(image(found), "circle").values()})
    edges = [n.get("d") for n in hints(image(found), "path").values()]
    ends = {float(d.split("L")[1].split()[0]) for d in edges}
    assert ends == {columns[1], columns[2], columns[5]}
    dashed = [n for n in image(found).iter(f"{SVG}path") if n.get("stroke-dasharray")]
    assert len(dashed) == 2


def test_names_title_and_legend_are_shown() -> None:
    written = [n.text for n in image(lattice(), title="A <title>").iter(f"{SVG}text")]
    assert {"A <title>", "<b>", "f" * 8 + "…" + "f" * 7, "O", "S-X"} <= set(written)
    assert {"probability of a tag:", "of a transition:", "best sequence:"} <= set(written)


@pytest.mark.parametrize("n", [1, 3, 60])
def test_everything_is_inside_the_picture(n: int) -> None:
    given = LinearChain(Potentials(torch.randn(n, 5, generator=torch.manual_seed(0)), (n,)))
    drawn = image(make_lattice(given, ["word"] * n, TAGS), title="w" * 500)
    width, height = float(drawn.get("width")), float(drawn.get("height"))
    for node in drawn.iter(f"{SVG}circle"):
        x, y, r = (float(node.get(name)) for name in ("cx", "cy", "r"))
        assert r <= x <= width - r and r <= y <= height - r
    for node in drawn.iter(f"{SVG}text"):
        assert 0.0 <= float(node.get("x")) <= width and 0.0 <= float(node.get("y")) <= height
        assert len(node.text) * 6 <= width


def test_nothing_from_outside_is_used() -> None:
    svg = draw_lattice(lattice(), "title")
    assert "href" not in svg and "url(" not in svg and "<script" not in svg


def test_a_long_lattice_is_broken_into_lines_that_lose_nothing() -> None:
    n = 18
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(n, len(TAGS), generator=generator, dtype=torch.float64)
    given = LinearChain(
        Potentials(scores, (n,), transitions=torch.zeros(5, 5, dtype=torch.float64))
    )
    words = [f"word-{i}" for i in range(n)]
    found = make_lattice(given, words, TAGS, least=0.0)
    lines = lines_of(found, 7)
    assert [len(line.words) for line in lines] == [7, 6, 7]
    # Each line begins with the last token of the one before
    assert [w for i, line in enumerate(lines) for w in line.words[i > 0 :]] == words
    drawn = image(found, least=0.0)
    assert float(drawn.attrib["width"]) <= WIDEST_IMAGE
    nodes, edges = hints(drawn, "circle"), hints(drawn, "path")
    assert {name.split(" ")[0] for name in nodes} == set(words) and len(nodes) == n * 5
    assert len(edges) > 0
    assert [row[:2] for row in table(found).rows] == [
        [word, TAGS[i]] for word, i in zip(words, given.argmax.tolist(), strict=True)
    ]


def test_wide_characters_have_their_room() -> None:
    scores = torch.zeros(2, len(TAGS), dtype=torch.float64)
    given = LinearChain(
        Potentials(scores, (2,), transitions=torch.zeros(5, 5, dtype=torch.float64))
    )
    narrow, wide = (
        [
            text.get("x")
            for text in image(make_lattice(given, words, TAGS)).iter()
            if text.text in words
        ]
        for words in (["abcdefgh", "b"], ["北京市人民政府的", "b"])
    )
    (left, right), (wide_left, wide_right) = (map(float, xs) for xs in (narrow, wide))
    # Each character is as wide as the letters, 12 pixels, and they may not overlap
    assert wide_right - wide_left > 12 * 8 / 2 + 12 / 2
    assert wide_right - wide_left > right - left
