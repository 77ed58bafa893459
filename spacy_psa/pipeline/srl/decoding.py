"""Decode the potentials of predicates into label sequences."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache

from torch import Tensor

from ...annotation.frame_tags import role_constraints
from ...inference import LinearChain, Potentials

# Which tags may follow which, by a tuple of tags
bio_constraints = lru_cache(maxsize=16)(role_constraints)


class RoleDecoding(ABC):
    """Chooses a label sequence for each predicate. `read_roles` converts it to arguments."""

    @abstractmethod
    def best(self, potentials: Potentials, tags: Sequence[str]) -> Tensor:
        """Find the best label sequences.

        potentials (Potentials): One chain per predicate.
        tags (Sequence[str]): The tags that the label IDs stand for.
        RETURNS (Tensor): The label ID of each token of the chains. *Shape:* (N,)
        """


class GreedyDecoding(RoleDecoding):
    """The best sequence, well formed or not: with a softmax, the best tag of each token. The first
    token of an argument decides its role (footnote 2 of the paper).
    """

    def best(self, potentials: Potentials, tags: Sequence[str]) -> Tensor:
        return LinearChain(potentials).argmax


class ViterbiDecoding(RoleDecoding):
    """The best sequence among the well-formed BIO sequences."""

    def best(self, potentials: Potentials, tags: Sequence[str]) -> Tensor:
        return LinearChain(potentials, constraints=bio_constraints(tuple(tags))).argmax


def create_greedy_decoding() -> RoleDecoding:
    """`spacy_psa.GreedyDecoding.v1`: the paper's 'argmax decoding'.

    RETURNS (RoleDecoding): The decoding.
    """
    return GreedyDecoding()


def create_viterbi_decoding() -> RoleDecoding:
    """`spacy_psa.ViterbiDecoding.v1`: only well-formed sequences.

    RETURNS (RoleDecoding): The decoding.
    """
    return ViterbiDecoding()
