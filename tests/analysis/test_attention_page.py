"""The page that shows the inside of a component."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest
from spacy.language import Language

from spacy_psa.analysis.attention import Insight, look_inside
from spacy_psa.analysis.attention_figures import N_LABELS, N_TRANSITIONS, gates
from spacy_psa.analysis.attention_page import attention_images, attention_page
from spacy_psa.cli._templates import names

from ..figures.reading import SVG, curves, texts
from ..pipeline import srl_data
from ..pipeline.conftest import initialized_nlp, make_examples, make_nlp, tiny_model
from ..pipeline.tagger.test_config import FUSION, TRANSFORMER
from ..pipeline.tagger.test_label_refinement import LAN
from .inside import numbers, ours, parse, system_nlp, tables

TEXT = "Ann Lee likes green Berlin ."
ATTENTION, LABELS = "Attention: {}", "Labels: {}"
GATE = "Gate: weight of the token compared with its context"
PROBABILITIES = "Label probabilities"
BIAS, TRANSITIONS = "Positional bias by distance", "Transitions"
FUSIONS = [ATTENTION.format(f"context fusion {i}") for i in (1, 2)]
SELF_ATTENTIONS = [ATTENTION.format(f"multi head self attention {i}") for i in (1, 2)]
FIGURES = {
    "bilstm-softmax": [PROBABILITIES],
    "bilstm-crf": [PROBABILITIES, TRANSITIONS],
    "psa": [*FUSIONS, GATE, PROBABILITIES, BIAS, TRANSITIONS],
    "psa-arxiv": [*FUSIONS, GATE, PROBABILITIES, BIAS, TRANSITIONS],
    "vaswani": [*SELF_ATTENTIONS, PROBABILITIES, TRANSITIONS],
    "lan": [
        LABELS.format("label attention, mean of 5 heads"),
        LABELS.format("label attention, each head"),
        PROBABILITIES,
    ],
    "refinement": [LABELS.format("label marginals"), PROBABILITIES, TRANSITIONS],
    "deepatt": [*SELF_ATTENTIONS, PROBABILITIES],
}


@cache
def pipeline(system: str) -> Language:
    return system_nlp(system)


def look(nlp: Language, text: str = TEXT, **settings: int) -> Insight:
    return look_inside(ours(nlp), nlp.make_doc(text), **settings)


@cache
def page_of(system: str) -> str:
    """The page of the text of these tests, which takes seconds to draw."""
    return attention_page(look(pipeline(system)), system)


@cache
def images_of(system: str) -> dict[str, str]:
    """The images of the text of these tests."""
    return attention_images(look(pipeline(system)))


def titles(page: str) -> list[str]:
    return [svg.findtext(f"{SVG}title") for svg in parse(page).iter(f"{SVG}svg")]


def check_page(page: str) -> None:
    """Check that a page is well-formed, loads and runs nothing, and has no broken links."""
    root = parse(page)
    tags = {node.tag.removeprefix(SVG) for node in root.iter()}
    assert tags.isdisjoint({"script", "link", "img", "image", "iframe", "object", "use"})
    assert set(re.findall(r"https?://[^\"'\s<]*", page)) <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"url\((?!#)|@import|javascript:|\bon[a-z]+=\"", page)
    anchors = [node.get("id") for node in root.iter() if node.get("id")]
    assert len(anchors) == len(set(anchors))
    links = [node.get("href") for node in root.iter("a")]
    assert links and all(link.removeprefix("#") in anchors for link in links)


def test_all_systems_have_their_figures_named() -> None:
    assert set(FIGURES) == set(names("systems"))


@pytest.mark.parametrize("system", FIGURES)
def test_a_system_shows_what_it_has_and_nothing_else(system: str) -> None:
    page = page_of(system)
    check_page(page)
    assert titles(page) == FIGURES[system]
    if system in ("psa", "vaswani"):  # whose images other tests draw as well
        images = map(parse, images_of(system).values())
        assert [image.findtext(f"{SVG}title") for image in images] == titles(page)


def test_semantic_roles_have_a_page() -> None:
    nlp = srl_data.initialized_nlp()
    insight = look_inside(srl_data.srl_of(nlp), srl_data.given_doc(nlp, 1))
    page = attention_page(insight, "roles")
    check_page(page)
    assert len(titles(page)) == 3 * 3
    assert "Predicate sold" in [node.text for node in parse(page).iter("h2")]


@pytest.mark.parametrize("system", ["psa", "vaswani"])
def test_numbers_of_attention_are_those_of_the_layers(system: str) -> None:
    insight = look(pipeline(system))
    found = tables(page_of(system))
    each = [f"{layer}, head {i}" for layer in SELF_ATTENTIONS for i in range(1, 9)]
    heads = {"psa": FUSIONS, "vaswani": each}[system]
    layers = [x.view.values["attention"] for x in insight.passages[0].layers]
    for title, weights in zip(heads, np.concatenate(layers), strict=True):
        words = [row[0] for row in found[title][1:]]
        assert words == found[title][0][1:] == TEXT.split()
        np.testing.assert_allclose(numbers(found[title]), 100 * weights, atol=0.0501)


def test_numbers_of_gates_and_labels_are_those_of_the_layers() -> None:
    insight = look(pipeline("psa"))
    [passage] = insight.passages
    found = tables(page_of("psa"))
    rows = found["Tokens and their labels"][1:]
    assert [row[0] for row in rows] == TEXT.split()
    assert [row[1] for row in rows] == passage.tags
    for i, row in enumerate(rows):
        probability = passage.marginals[i, insight.tags.index(row[1])]
        expected = [100 * probability, *(gate[i] for gate in gates(passage).values())]
        np.testing.assert_allclose([float(cell) for cell in row[2:]], expected, atol=0.0501)
    np.testing.assert_allclose(numbers(found[GATE]), list(gates(passage).values()), atol=5.1e-4)
    columns = [insight.tags.index(tag) for tag in found[PROBABILITIES][0][1:]]
    assert sorted(columns) == list(range(len(insight.tags)))
    shown = numbers(found[PROBABILITIES])
    np.testing.assert_allclose(shown, 100 * passage.marginals[:, columns], atol=0.0501)


def test_numbers_of_transitions_are_those_of_the_model() -> None:
    insight = look(pipeline("bilstm-crf"))
    table = tables(page_of("bilstm-crf"))[TRANSITIONS]
    [scores] = insight.transitions.values()
    places = {tag: i for i, tag in enumerate(insight.tags)} | {"(start)": -1, "(end)": -1}
    rows = [places[row[0]] for row in table[1:]]
    columns = [places[name] for name in table[0][1:]]
    np.testing.assert_allclose(numbers(table), scores[np.ix_(rows, columns)], atol=0.00501)
    assert table[0][1:3] == ["O", "B-NP"]


def test_numbers_of_the_bias_are_those_of_a_curve() -> None:
    found = tables(page_of("psa"))
    # Six tokens, none of which attends to itself.
    distances = [f"{d:+d}" for d in range(-5, 6) if d]
    for layer in ("context fusion 1", "context fusion 2"):
        assert [row[0] for row in found[layer][1:]] == distances
        mean, lowest, highest = numbers(found[layer]).T
        assert (lowest <= mean).all() and (mean <= highest).all()


def test_biases_of_heads_have_a_picture_of_each_layer() -> None:
    encoder = {**TRANSFORMER, "positions": None, "bias": FUSION["bias"]}
    insight = look(initialized_nlp(model=tiny_model(encoder=encoder)))
    shown = [title for title in titles(attention_page(insight, "")) if title.startswith(BIAS)]
    layers = [layer.title for layer in insight.passages[0].layers]
    assert shown == [f"{BIAS}: {layer}" for layer in layers]


def test_text_and_titles_are_escaped() -> None:
    text = "<script>alert(1)</script> & <b>Ann</b> \"likes\" 'ham' ]]> <!--"
    page = attention_page(look(pipeline("psa"), text), "<i>model</i>")
    check_page(page)
    assert "<script" not in page and "<b>" not in page and "<i>" not in page
    root = parse(page)
    assert root.findtext("body/blockquote") == " ".join(text.split())
    assert root.findtext("body/h1") == "<i>model</i>"
    for image in attention_images(look(pipeline("bilstm-crf"), text)).values():
        assert "<script" not in image
        parse(image)


def test_characters_that_a_page_cannot_have_are_replaced() -> None:
    check_page(attention_page(look(pipeline("bilstm-softmax"), "Ann \x0b\x0c \x07 \n\n ham"), ""))


def test_page_says_how_much_of_a_long_text_is_drawn() -> None:
    text = " ".join(["ham"] * 40)
    page = attention_page(look(pipeline("psa"), text, n_tokens=7), "")
    assert "The first 7 of 40 tokens are shown." in page
    assert "+33 more" in tables(page)[FUSIONS[0]][0]
    assert "All tokens are shown: 6." in page_of("psa")


def many_labels(n: int, **parts: dict) -> Language:
    nlp = make_nlp(model=tiny_model(**parts)) if parts else make_nlp()
    labels = [f"L{i:03}" for i in range(n)]
    examples = make_examples(nlp)
    for example in examples:
        for i, token in enumerate(example.reference):
            token.tag_ = labels[i]
    component = ours(nlp)
    component.initialize(lambda: examples, nlp=nlp, labels=labels)
    return nlp


def test_of_many_labels_the_most_probable_are_drawn() -> None:
    insight = look(many_labels(60))
    found = tables(attention_page(insight, ""))
    *shown, others = found[PROBABILITIES][0][1:]
    highest = insight.passages[0].marginals.max(axis=0)
    best = {insight.tags[i] for i in np.argsort(-highest)[:N_LABELS]}
    assert set(shown) == best and shown == sorted(shown)
    assert others == f"{60 - N_LABELS} others"
    np.testing.assert_allclose(numbers(found[PROBABILITIES]).sum(axis=1), 100.0, atol=1.0)
    title = f"Transitions between the {N_TRANSITIONS} most probable of 60 labels"
    assert len(found[title]) == N_TRANSITIONS + 2


def test_all_attention_has_the_same_colours() -> None:
    for system, n in (("psa", 2), ("vaswani", 2)):
        for svg in list(images_of(system).values())[:n]:
            assert re.search(r"titled 'attention weight.* with values from 0(\.0)? to 100", svg)


def test_heads_show_the_labels_of_their_mean() -> None:
    decoder = {"@architectures": "spacy_psa.LabelCRF.v1"}
    insight = look(many_labels(30, encoder=LAN, decoder=decoder))
    found = tables(attention_page(insight, ""))
    means = {title: table for title, table in found.items() if ", mean of" in title}
    assert len(means) == len(insight.passages[0].layers)
    for title, mean in means.items():
        layer = title.split(", ")[0]
        heads = [table for name, table in found.items() if name.startswith(f"{layer}, head ")]
        assert len(heads) > 1
        assert mean[0] == found[PROBABILITIES][0]
        assert [head[0] for head in heads] == [mean[0]] * len(heads)
        shown = np.mean([numbers(head) for head in heads], axis=0)
        np.testing.assert_allclose(shown, numbers(mean), atol=0.11)


def test_the_bias_is_not_drawn_at_distance_zero_where_no_token_looks_at_itself() -> None:
    [svg] = [s for name, s in images_of("psa").items() if "bias" in name]
    lines = [line for line in curves(svg) if "L" in line]
    assert len(lines) == 2 * 2


def test_transitions_below_zero_have_their_numbers_and_impossible_ones_a_key() -> None:
    insight = look(pipeline("bilstm-crf"))
    [svg] = [s for name, s in images_of("bilstm-crf").items() if "transitions" in name]
    shown = texts(svg)
    [scores] = insight.transitions.values()
    values = scores[np.isfinite(scores)]
    cells = re.findall(r'font-size="[\d.]+px" fill="#(?:222222|ffffff)">([^<]+)<', svg)
    written = [text for text in cells if re.fullmatch(r"-?\d\.\d", text)]
    assert len(written) == len(values)
    assert {t for t in written if t.startswith("-")} == {f"{v:.1f}" for v in values if v <= -0.05}
    assert {"score", "gray cells: impossible"} <= set(shown)


def test_rows_in_which_all_is_impossible_are_left_out() -> None:
    insight = look(pipeline("bilstm-crf"))
    [scores] = insight.transitions.values()
    lost = insight.tags.index("B-NP")
    scores[lost] = np.nan
    table = tables(attention_page(insight, ""))[TRANSITIONS]
    assert "B-NP" not in [row[0] for row in table]
    assert "B-NP" in table[0]


@pytest.mark.parametrize("number", [0, 1])
def test_pictures_have_titles_axes_and_a_legend(number: int) -> None:
    shown = texts(list(images_of("psa").values())[number])
    assert {FUSIONS[number], "attends to", "token"} <= set(shown)
    assert "attention weight (%); each row sums to 100" in shown


def test_names_of_images_are_safe_and_in_order() -> None:
    found = list(images_of("psa"))
    assert found == sorted(found)
    assert all(re.fullmatch(r"\d-[a-z\d-]+", name) for name in found)


def test_wide_tables_can_be_scrolled_by_keyboard() -> None:
    root = parse(page_of("psa"))
    boxes = [node for node in root.iter("div") if node.get("class") == "wide"]
    assert len(boxes) == len(list(root.iter("table")))
    for box in boxes:
        assert box.get("tabindex") == "0" and box.get("role") == "region"
        assert box.get("aria-label")
