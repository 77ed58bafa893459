"""Speed of the character BiLSTM in prediction, compared with PyTorch's LSTM."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from spacy_psa.acceleration import install
from spacy_psa.layers import CharacterBiLSTM

from .kernels_timing import Sides
from .report import table
from .synthetic import word_lengths

N_CHARACTERS = 100
WIDTH = 100  # of a word, both directions together, as in the paper
N_BATCHES = 16
WORDS = (1, 4, 16, 64, 256)


def characters(n_words: int, device: torch.device, width: int = WIDTH) -> Sides:
    """Make our character BiLSTM and PyTorch's, with the same parameters. Each returns the word
    representations of several batches.

    n_words (int): The number of words per batch.
    device (torch.device): The device.
    width (int): The width of a word representation.
    RETURNS (Dict[str, Callable]): The implementations, by name.
    """
    install()
    torch.manual_seed(0)
    ours = CharacterBiLSTM(N_CHARACTERS, width=width).to(device).eval()
    embedding = ours.embedding
    theirs = nn.LSTM(embedding.embedding_dim, width // 2, batch_first=True, bidirectional=True)
    for end, direction in (("", ours.forwards), ("_reverse", ours.backwards)):
        for name, parameter in direction.named_parameters():
            theirs.get_parameter(name + end).data.copy_(parameter.data)
    theirs = theirs.to(device).eval()
    batches = [_words(n_words, seed, device) for seed in range(N_BATCHES)]

    def packed(ids: Tensor, lengths: Tensor) -> Tensor:
        sequence = pack_padded_sequence(embedding(ids), lengths, batch_first=True)
        return theirs(sequence)[1][0].transpose(0, 1).flatten(1)

    def read(run: Callable[[Tensor, Tensor], Tensor]) -> list[Tensor]:
        with torch.no_grad():
            return [run(*batch) for batch in batches]

    return {"ours": lambda: read(ours), "packed": lambda: read(packed)}


def _words(n_words: int, seed: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Random characters of words, sorted from longest to shortest, and the lengths of the words."""
    lengths = torch.tensor(sorted(word_lengths(n_words, seed), reverse=True))
    generator = torch.Generator().manual_seed(seed)
    shape = n_words, int(lengths[0])
    ids = torch.randint(1, N_CHARACTERS, shape, generator=generator)
    ids[torch.arange(shape[1]) >= lengths.unsqueeze(1)] = 0
    return ids.to(device), lengths


def characters_table(cases: list[dict[str, Any]]) -> list[str]:
    """RETURNS (List[str]): A description of the figures, and a table of speeds by batch size."""
    text = "Character BiLSTM in prediction: speed relative to PyTorch's packed bidirectional LSTM."
    header = ["words", *(str(case["words"]) for case in cases)]
    return [
        "",
        text,
        *table(header, [["times as fast", *(f"{case['speed']:.1f}" for case in cases)]]),
    ]
