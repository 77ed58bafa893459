"""Encoders and the emissions of a CRF can be exported, computed by the definitions."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from spacy_psa.layers import BiLSTM, Chain, ContextFusion, CRFDecoder, PSABias, SequenceMask
from spacy_psa.layers.deepatt import DeepAtt, RecurrentSublayer
from spacy_psa.layers.transformer import TransformerEncoder

from .helpers import assert_close, batch_of, randomized

WIDTH, LABELS = 6, 3
LENGTHS = [4, 1, 5]
ENCODERS = {
    "psa": lambda: Chain(
        WIDTH,
        [
            ContextFusion(WIDTH, bias=PSABias),
            BiLSTM(WIDTH, hidden_width=8),
            ContextFusion(8, bias=PSABias),
        ],
    ),
    "transformer": lambda: TransformerEncoder(WIDTH, width=8, n_heads=2, hidden_width=5),
    "deepatt": lambda: DeepAtt(
        WIDTH, sublayer=RecurrentSublayer, positions=None, width=8, depth=1, n_heads=2
    ),
}


class Emissions(nn.Module):
    """The emissions of padded sentences."""

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder, self.decoder = encoder, CRFDecoder(8, LABELS)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        mask = SequenceMask(lengths, x.shape[1])
        return self.decoder(self.encoder(x, mask), mask)


@pytest.mark.parametrize("name", ENCODERS)
def test_an_encoder_and_its_emissions_are_exported(name: str) -> None:
    network = randomized(Emissions(ENCODERS[name]()))
    x, lengths = batch_of(LENGTHS, WIDTH), torch.tensor(LENGTHS)
    exported = torch.export.export(network, (x, lengths)).module()
    other = torch.tensor([2, 5, 5])
    for given in (lengths, other):
        real = SequenceMask(given, x.shape[1]).positions
        assert_close(exported(x, given)[real], network(x, given)[real], 1e-12)
