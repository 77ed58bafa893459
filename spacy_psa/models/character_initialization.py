"""Initialize character embeddings. They start from random numbers unless configured otherwise."""

from collections.abc import Sequence

import torch
from spacy.vectors import Mode, Vectors
from thinc.util import xp2torch
from torch import Tensor, nn

from ..errors import Errors, Warnings, warn
from .lookup import read_vectors
from .types import CharacterInitializer


def build_projected_word_vectors() -> CharacterInitializer:
    """Configure the initialization of character embeddings from the vectors of one-character words.

    This pays off for Chinese, which has thousands of characters, most of which are words. The
    vectors are projected to the width of the embeddings with a random orthogonal matrix. Characters
    that are not words keep their random embeddings.

    RETURNS (CharacterInitializer): Initializes character embeddings.

    Source: Wang et al. (2021), section 3.5.
    """
    return project_word_vectors


def project_word_vectors(embeddings: Tensor, characters: Sequence[str], vectors: Vectors) -> None:
    """Initialize character embeddings (characters, width), in place, from the vectors of
    one-character words."""
    if not vectors.shape[0] or not vectors.shape[1]:
        raise ValueError(Errors.P244)
    # Floret computes vectors from the strings themselves.
    keys = [vectors.strings.add(character) for character in characters]
    # No fallback to lower case, unlike for words: 'A' and 'a' would start out identical.
    rows = [
        row for row, key in enumerate(keys) if vectors.mode == Mode.floret or key in vectors.key2row
    ]
    if not rows:
        warn(Warnings.W240.format(n=len(keys)))
        return
    values = xp2torch(read_vectors([keys[row] for row in rows], vectors), device=embeddings.device)
    embeddings[rows] = project_orthogonally(values, embeddings.shape[1])


def project_orthogonally(vectors: Tensor, width: int) -> Tensor:
    """Project vectors (n, d) to (n, width) with a random matrix whose rows or columns are
    orthonormal (Wang et al. 2021, section 3.5). Projection to at least d dimensions preserves
    lengths and angles; projection to fewer loses what lies outside a random subspace."""
    matrix = nn.init.orthogonal_(torch.empty(vectors.shape[1], width))
    return vectors @ matrix.to(vectors)
