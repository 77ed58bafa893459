"""Numbers in a config that no network, optimizer, schedule or batcher can have: the error names the
setting, at once."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from typing import Any, get_args, get_type_hints

import pytest
from spacy.util import registry

from .pipelines import SYSTEMS, block, initialized, labeler, weights

GROUPS = ("spacy_architectures", "thinc_optimizers", "thinc_schedules", "spacy_batchers")
HUGE = 10**12
# What may be as large as one likes: limits on texts, frequencies and steps
LIMITS = {"max_length", "overlap", "min_freq", "max_characters", "steps_per_epoch", "hold", "every"}
LIMITS |= {"size", "buffer", "max_sentences", "nO"}


def numbers() -> Iterator[tuple[str, Callable[..., Any], str, type]]:
    """All numbers that a config can set in our blocks: block, function, setting and type."""
    for group in GROUPS:
        for point in entry_points(group=group):
            if point.name.startswith("spacy_psa."):
                make = point.load()
                for name, hint in get_type_hints(make).items():
                    kinds = {kind for kind in (int, float) if kind in (hint, *get_args(hint))}
                    if kinds and name not in ("return", "nO"):
                        yield point.name, make, name, min(kinds, key=str)


# Whole numbers are at least 1, but for these
FROM_ZERO = {"overlap", "hold"}
# Of the others, some are shares below 1, and some above 0
SHARES, POSITIVE = re.compile("dropout|rho|beta|momentum"), {"eps", "window", "deviation"}


def edges(point: str, name: str, kind: type) -> Iterator[float]:
    """The nearest numbers that are out of range."""
    if name in POSITIVE or (kind is int and name not in FROM_ZERO):
        yield 0
    if SHARES.search(name):
        yield 1.0
    if "BiLSTM" in point and name in ("width", "hidden_width"):
        yield 1  # one half for each direction


NUMBERS = list(numbers())
IDS = [f"{block}.{name}" for block, _, name, _ in NUMBERS]


def build(make: Callable[..., Any], **settings: Any) -> Any:
    """Call a registered function; it must not come to use its other blocks."""
    parameters = inspect.signature(make).parameters.values()
    needed = [p.name for p in parameters if p.default is p.empty and p.kind != p.VAR_POSITIONAL]
    return make(**{**dict.fromkeys(needed), **settings})


@pytest.mark.parametrize(("point", "make", "name", "kind"), NUMBERS, ids=IDS)
def test_what_is_no_number_of_anything(
    point: str, make: Callable[..., Any], name: str, kind: type
) -> None:
    absurd = (math.nan, math.inf, -math.inf, -1, 10**26, -(10**26), "1" * 26)
    for value in (*absurd, *edges(point, name, kind)):
        with pytest.raises(ValueError, match=rf"\[P2\d\d\].*{name}"):
            build(make, **{name: value})
            pytest.fail(f"{value} is accepted")


# Where each block stands in a model
BIASES = ("PSABias", "TokenPositionBias", "TokenOffsetBias")
SUBLAYERS = ("FeedForwardSublayer", "ConvolutionSublayer")
WORDS, BILSTM, CRF = SYSTEMS["bilstm-crf"]


def fusion(**bias: Any) -> dict[str, Any]:
    return block("ContextFusion", bias=bias, gate=block("FeatureGate"))


def model_with(name: str, **settings: Any) -> dict[str, Any]:
    """A model with one of our blocks."""
    part = block(name, **settings)
    tok2vec, encoder, decoder = SYSTEMS[
        {"LabelRefinement": "lan", "LabelAttention": "lan", "DeepAtt": "deepatt"}.get(
            name, "vaswani" if name in ("Vaswani", "Transformer") else "bilstm-crf"
        )
    ]
    if name == "RoleLabeler":
        return {**labeler(tok2vec, encoder, decoder), **part}
    if name in BIASES:
        encoder = fusion(**part)
    elif name in SUBLAYERS:
        encoder = {**SYSTEMS["deepatt"][1], "sublayer": part}
    elif name == "PositionEmbedding":
        encoder = part
    elif name == "LabelSet":
        encoder = {**SYSTEMS["lan"][1], "labels": {**part, "tie_embeddings": False}}
        encoder["labels"]["tie_transitions"] = False
        tok2vec, decoder = WORDS, CRF
    elif name == "LabelAttention":
        encoder = {**encoder, "refine": {**encoder["refine"], **settings}}
    elif name.startswith("Character"):
        tok2vec = {**tok2vec, "characters": part}
    elif name == "WordCharEmbed":
        tok2vec = {**tok2vec, **settings}
    else:
        encoder = {**encoder, **settings}
    return labeler(tok2vec, encoder, decoder)


SIZES = [
    (name.split(".")[1], setting)
    for name, _, setting, kind in NUMBERS
    if kind is int and setting not in LIMITS - {"max_length"}
]
# A limit there, a size here
SIZES = [
    (name, setting)
    for name, setting in SIZES
    if setting != "max_length" or name == "PositionEmbedding"
]
# Not built into a network of their own
ELSEWHERE = {("LastLayers", "n_layers")}


@pytest.mark.parametrize(("name", "setting"), [size for size in SIZES if size not in ELSEWHERE])
def test_a_size_that_no_machine_can_hold(name: str, setting: str) -> None:
    with pytest.raises(ValueError, match=rf"\[P2\d\d\].*{setting}"):
        model = model_with(name, **{setting: HUGE})
        if name == "RoleLabeler":
            network = registry.resolve({"model": model})["model"].get_ref("network")
            network.shims[0].build(input_width=5, n_labels=3)
        initialized(model, "ents", ["PER"])


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_check_changes_no_weights(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def hash_of() -> dict[str, Any]:
        found = weights(initialized(labeler(*SYSTEMS[system]), "ents", ["PER"]))
        return {name: values.tobytes() for name, values in found.items()}

    checked = hash_of()
    monkeypatch.setattr("spacy_psa.models.network_shim.check_size", lambda *_: None)
    assert hash_of() == checked
