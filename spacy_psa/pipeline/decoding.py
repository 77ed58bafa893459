"""From potentials to the arguments of predicates: which label sequence is the best one."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache

from torch import Tensor

from ..annotation.frames import role_constraints
from ..inference import Constraints, LinearChain, Potentials


class RoleDecoding(ABC):
    """Chooses a label sequence for each predicate. What it stands for is read by `read_roles`."""

    @abstractmethod
    def best(self, potentials: Potentials, tags: Sequence[str]) -> Tensor:
        """Find the best label sequences.

        potentials (Potentials): One chain for each predicate.
        tags (Sequence[str]): The tags that the labels stand for.
        RETURNS (Tensor): *Shape:* (N,). The label of each token of the chains.
        """


class GreedyDecoding(RoleDecoding):
    """The best sequence of all, well formed or not: with a softmax the best tag of each token. An
    argument then has the role of its first token (footnote 2 of the paper).
    """

    def best(self, potentials: Potentials, tags: Sequence[str]) -> Tensor:
        return LinearChain(potentials).argmax


class ViterbiDecoding(RoleDecoding):
    """The best sequence of well-formed BIO tags."""

    def best(self, potentials: Potentials, tags: Sequence[str]) -> Tensor:
        return LinearChain(potentials, constraints=bio_constraints(tuple(tags))).argmax


@lru_cache(maxsize=16)
def bio_constraints(tags: tuple[str, ...]) -> Constraints:
    """Which tags may follow which.

    tags (Tuple[str, ...]): The tags.
    RETURNS (Constraints): The constraints.
    """
    return role_constraints(tags)


def create_greedy_decoding() -> RoleDecoding:
    """`spacy_psa.GreedyDecoding.v1`: the paper's 'argmax decoding'.

    RETURNS (RoleDecoding): The decoding.
    """
    return GreedyDecoding()


def create_viterbi_decoding() -> RoleDecoding:
    """`spacy_psa.ViterbiDecoding.v1`: well-formed tags alone.

    RETURNS (RoleDecoding): The decoding.
    """
    return ViterbiDecoding()
