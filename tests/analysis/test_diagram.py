import re
from xml.etree import ElementTree

from spacy_psa.analysis.diagram import draw_model

SVG = "{http://www.w3.org/2000/svg}"
MODEL = {
    "@architectures": "spacy_psa.SequenceLabeler.v1",
    "max_length": 512,
    "decoder": {"@architectures": "spacy_psa.CRF.v1"},
    "encoder": {
        "@architectures": "spacy_psa.Chain.v1",
        "*": {
            "low": {"@architectures": "spacy_psa.BiLSTM.v1", "depth": 1},
            "high": {
                "@architectures": "spacy_psa.ContextFusion.v1",
                "dropout": 0.2,
                "bias": None,
                "gate": {"@architectures": "spacy_psa.FeatureGate.v1"},
            },
        },
    },
    "tok2vec": {"@architectures": "<&>"},
}


def texts(svg: str) -> dict[str, int]:
    """The vertical position of each line of text."""
    nodes = ElementTree.fromstring(svg).iter(f"{SVG}text")
    return {node.text.replace("\u00a0", " "): int(node.get("y")) for node in nodes}


def boxes(svg: str) -> list[tuple[int, int, int, int]]:
    nodes = list(ElementTree.fromstring(svg).iter(f"{SVG}rect"))[1:]
    return [tuple(int(n.get(k)) for k in ("x", "y", "width", "height")) for n in nodes]


def test_blocks_stand_on_each_other_in_the_order_of_computation():
    found = texts(draw_model(MODEL))
    names = ["words", "<&>", "spacy_psa.BiLSTM.v1", "spacy_psa.ContextFusion.v1"]
    names += ["spacy_psa.CRF.v1", "label sequences"]
    heights = [found[name] for name in names]
    assert heights == sorted(heights, reverse=True)


def test_settings_and_names_are_shown():
    found = texts(draw_model(MODEL, "tagger"))
    assert {"depth = 1", "low", "high", "gate", "tagger"} <= set(found)
    assert any("bias = null" in text for text in found)


def test_boxes_lie_inside_each_other_or_apart_and_inside_the_picture():
    svg = draw_model(MODEL)
    size = re.search(r'viewBox="0 0 (\d+) (\d+)"', svg)
    for i, (x, y, width, height) in enumerate(boxes(svg)):
        assert x >= 0 and y >= 0
        assert x + width <= int(size[1]) and y + height <= int(size[2])
        for x2, y2, width2, height2 in boxes(svg)[:i]:
            inside = x2 <= x and x + width <= x2 + width2 and y2 <= y
            inside = inside and y + height <= y2 + height2
            assert inside or y + height <= y2 or y2 + height2 <= y


def test_picture_needs_nothing_from_outside():
    assert "href" not in draw_model(MODEL)


def test_numbers_are_those_of_the_config_whatever_reads_it():
    numbers = {"dropout": 0.1 + 0.2, "rate": 1e-9, "share": 1.0}
    decoder = {"@architectures": "spacy_psa.CRF.v1", **numbers}
    written = " ".join(texts(draw_model({**MODEL, "decoder": decoder})))
    assert "dropout = 0.3, rate = 1e-09, share = 1.0" in written


def test_the_order_of_the_sections_in_a_config_does_not_matter():
    def part(name):
        return {"@architectures": name}

    names = ["first_fusion", "recurrent", "second_fusion", "refine", "connection", "bias", "labels"]
    blocks = {name: part(name) for name in names}
    encoder = {"@architectures": "encoder", "*": {"z": part("z"), "a": part("a")}}
    drawn = draw_model({"encoder": {**encoder, **blocks}})
    assert draw_model({"encoder": {**dict(sorted(blocks.items())), **encoder}}) == drawn
    found = texts(drawn)
    heights = [found[name] for name in [*names, "z", "a"]]
    # What is computed first is at the bottom
    assert heights == sorted(heights, reverse=True)
