"""DeepAtt from a config: its settings, and values out of range."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
import torch
from spacy.util import registry

from spacy_psa.layers import DeepAtt, SequenceMask

SUBLAYERS: dict[str, dict[str, Any] | None] = {
    "feed-forward": {
        "@architectures": "spacy_psa.FeedForwardSublayer.v1",
        "hidden_width": 32,
        "dropout": 0.0,
    },
    "recurrent": {"@architectures": "spacy_psa.RecurrentSublayer.v1"},
    "convolution": {"@architectures": "spacy_psa.ConvolutionSublayer.v1", "kernel_size": 3},
    "attention alone": None,
}
POSITIONS: dict[str, dict[str, Any] | None] = {
    "timing": {"@architectures": "spacy_psa.SinusoidalPositions.v1"},
    "embedding": {"@architectures": "spacy_psa.PositionEmbedding.v1", "max_length": 32},
    "none": None,
}


def deepatt(sublayer: str = "feed-forward", positions: str = "timing", **settings: Any) -> dict:
    """The config section of a tiny DeepAtt encoder."""
    return {
        "@architectures": "spacy_psa.DeepAtt.v1",
        "sublayer": SUBLAYERS[sublayer],
        "positions": POSITIONS[positions],
        "width": 16,
        "depth": 2,
        "n_heads": 4,
        "residual_dropout": 0.0,
        "attention_dropout": 0.0,
        **settings,
    }


def resolve(section: dict[str, Any]) -> Any:
    return registry.resolve({"part": section})["part"]


def test_settings_reach_the_network() -> None:
    settings = {
        "residual_dropout": 0.3,
        "attention_dropout": 0.4,
        "input_dropout": 0.5,
        "scale_input": True,
    }
    network = resolve(deepatt(**settings))(8, 3)
    assert isinstance(network, DeepAtt)
    assert network.width == 16
    assert network.input_scale == 4.0
    assert network.input_dropout.p == 0.5
    assert {block.dropout.p for block in network.sublayers} == {0.3}
    assert [block.sublayer.attention_dropout for block in network.sublayers[1::2]] == [0.4] * 2
    assert network.sublayers[0].sublayer.hidden.out_features == 32


def test_builders_can_be_pickled() -> None:
    for sublayer in SUBLAYERS:
        builder = pickle.loads(pickle.dumps(resolve(deepatt(sublayer))))
        network = builder(8, 3)
        output = network(torch.ones(1, 2, 8), SequenceMask(torch.tensor([2]), 2))
        assert output.shape == (1, 2, 16)


@pytest.mark.parametrize(
    ("section", "name"),
    [
        (deepatt(n_heads=5), "width"),
        ({**SUBLAYERS["convolution"], "kernel_size": 2}, "kernel_size"),
    ],
)
def test_sizes_that_do_not_go_together_are_errors(section: dict[str, Any], name: str) -> None:
    with pytest.raises(ValueError, match=rf"P210.*'{name}'"):
        resolve(section)
