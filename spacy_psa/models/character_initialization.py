"""What the embeddings of characters start from. Random numbers, if nothing else is configured."""

from collections.abc import Sequence

from spacy.vectors import Mode, Vectors
from thinc.util import xp2torch
from torch import Tensor

from ..errors import Errors, Warnings, warn
from ..layers.initialization import project_orthogonally
from .lookup import read_vectors
from .types import CharacterInitializer


def build_projected_word_vectors() -> CharacterInitializer:
    """Configure the start of character embeddings from the vectors of words of one character.

    It pays in Chinese, which has thousands of characters, most of which are words. The vectors are
    projected to the width of the embeddings by a random orthogonal matrix. Characters that are not
    words keep random numbers.

    RETURNS (CharacterInitializer): Initializes embeddings of characters.

    Source: Wang et al. (2021), section 3.5.
    """
    return project_word_vectors


def project_word_vectors(embeddings: Tensor, characters: Sequence[str], vectors: Vectors) -> None:
    """Let the embeddings of characters start from the vectors of words of one character.

    embeddings (Tensor): Changed in place. Shape: (characters, width).
    characters (Sequence[str]): The characters.
    vectors (Vectors): The pipeline's vectors.
    RAISES (ValueError): If there are no vectors.
    """
    if not vectors.shape[0] or not vectors.shape[1]:
        raise ValueError(Errors.P244)
    # Floret makes vectors of the strings themselves.
    keys = [vectors.strings.add(character) for character in characters]
    # Not by lower case, as words are: 'A' and 'a' would start as the same.
    rows = [
        row for row, key in enumerate(keys) if vectors.mode == Mode.floret or key in vectors.key2row
    ]
    if not rows:
        warn(Warnings.W240.format(n=len(keys)))
        return
    values = xp2torch(read_vectors([keys[row] for row in rows], vectors), device=embeddings.device)
    embeddings[rows] = project_orthogonally(values, embeddings.shape[1])
