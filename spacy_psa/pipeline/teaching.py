"""What a teacher says of the examples that a student learns from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import nan
from typing import TYPE_CHECKING

import torch
from spacy.tokens import Doc
from spacy.training import Example
from torch import Tensor

from ..annotation.alignment import same_tokens
from ..errors import Errors
from ..inference import LinearChain
from ..inference.edge_marginals import (
    START,
    EdgeMarginals,
    cross_entropy,
    joined,
    pair_marginals,
    taken,
)
from .monitors import scores_of

if TYPE_CHECKING:
    from .srl import PSASemanticRoles

OTHER_SEQUENCES = "it has no 'constrain_decoding', or divides texts into other sentences"


@dataclass(frozen=True)
class Teaching:
    """What a teacher says of a document: the marginals of pairs of neighboring labels.

    tags (Tuple[str, ...]): The teacher's tags, which the labels in `edges` are indices of.
    lengths (Tuple[int, ...]): The lengths of the teacher's sequences: sentences, or the sentence of
        each predicate.
    edges (EdgeMarginals): The marginals, over the tokens of all sequences. A sequence of which a
        token has none is not learned from.
    gold (float): The share of the annotation in the loss of annotated sequences, from 0 to 1.
    temperature (float): The temperature of the teacher's distribution, and of the student's in the
        cross-entropy, which is multiplied by its square (Hinton et al. 2015).
    predicates (Optional[Tuple[int, ...]]): The predicates, for semantic roles.
    """

    tags: tuple[str, ...]
    lengths: tuple[int, ...]
    edges: EdgeMarginals
    gold: float = 0.0
    temperature: float = 1.0
    predicates: tuple[int, ...] | None = None


def teach(doc: Doc, name: str, teaching: Teaching) -> None:
    """Attach what a teacher says to the reference of an example."""
    doc.user_data[f"spacy_psa_teaching.{name}"] = teaching


def teaching_of(doc: Doc, name: str) -> Teaching | None:
    """RETURNS (Optional[Teaching]): What is attached for a component."""
    return doc.user_data.get(f"spacy_psa_teaching.{name}")


class Lessons:
    """What teachers say of a batch, in the student's labels and sequences.

    edges (EdgeMarginals): The marginals, over all tokens of the batch.
    gold (Tensor): *Shape:* (C,). The share of the annotation in each sequence's loss.
    temperatures (Tensor): *Shape:* (C,). The temperature of each sequence.
    """

    def __init__(
        self,
        name: str,
        teachings: Sequence[Teaching | None],
        lengths: Sequence[Sequence[int]],
        ids: dict[str, int],
        is_annotated: Tensor,
    ) -> None:
        """

        is_annotated (Tensor): *Shape:* (C,). The sequences of which annotation says anything.
        RAISES (ValueError): If a teacher has other tags or other tokens.
        """
        self.name = name
        parts, shares, temperatures, offset = [], [], [], 0
        for teaching, own in zip(teachings, lengths, strict=True):
            if teaching is None:
                shares += [nan] * len(own)
                temperatures += [1.0] * len(own)
            else:
                edges = _in_labels(teaching, name, ids)
                if tuple(own) != teaching.lengths:
                    edges = rechained(edges, teaching.lengths, own)
                parts.append(_moved(edges, offset))
                shares += _shares(edges, own, teaching.gold)
                temperatures += [teaching.temperature] * len(own)
            offset += sum(own)
        self.edges = joined(parts)
        share = torch.tensor(shares, dtype=torch.float64)
        # Only the teacher says anything (0), or only the annotation (NaN)
        self.gold = share.masked_fill(~is_annotated.cpu(), 0.0).masked_fill(share.isnan(), 1.0)
        self.temperatures = torch.tensor(temperatures, dtype=torch.float64)

    def losses(
        self, likelihood: Tensor, student: LinearChain, *, is_constrained: bool = False
    ) -> Tensor:
        """Mix the loss of the annotation (C,) with that of the teacher: gold · likelihood + (1 −
        gold) · T² · H(p_T, p_S). *Shape:* (C,).

        is_constrained (bool): Whether constraints rule out some of the student's sequences.
        RAISES (ValueError): If they rule out what the teacher does not.
        """
        gold = self.gold.to(likelihood)
        total = gold * likelihood
        for temperature in self.temperatures.unique().tolist():
            chain = student
            if temperature != 1.0:
                chain = LinearChain(student.potentials.tempered(temperature))
                chain._backend = student._backend
            weight = (1.0 - gold) * (self.temperatures == temperature).to(gold)
            entropy = cross_entropy(self.edges, chain)
            # Scores that are not finite are not due to constraints: training has diverged
            if (
                is_constrained
                and bool(entropy.isinf().any())
                and bool(chain.potentials.emissions.isfinite().all())
            ):
                raise ValueError(Errors.P540.format(name=self.name, why=OTHER_SEQUENCES))
            total = total + weight * temperature**2 * entropy.to(total)
        return total


def _shares(edges: EdgeMarginals, lengths: Sequence[int], gold: float) -> Iterator[float]:
    """The share of the annotation; NaN where the teacher says nothing."""
    known = torch.zeros(sum(lengths), dtype=torch.bool)
    known[edges.token] = True
    for part in known.split(list(lengths)):
        yield gold if bool(part.all()) else nan


def _in_labels(teaching: Teaching, name: str, ids: dict[str, int]) -> EdgeMarginals:
    if list(ids) == list(teaching.tags):
        return teaching.edges
    check_same_tags(name, teaching.tags, list(ids))
    new = torch.tensor([*(ids[tag] for tag in teaching.tags), START])
    edges = teaching.edges
    return EdgeMarginals(edges.token, new[edges.before], new[edges.after], edges.probability)


def check_same_tags(name: str, teachers: Sequence[str], own: Sequence[str]) -> None:
    """Check that a student has the tags of its teacher, in any order."""
    only = [
        f"only {who} has {', '.join(sorted(tags)[:5])}"
        for who, tags in (
            ("the teacher", {*teachers} - {*own}),
            ("the student", {*own} - {*teachers}),
        )
        if tags
    ]
    if only:
        raise ValueError(Errors.P531.format(name=name, problem="; ".join(only)))


def _moved(edges: EdgeMarginals, offset: int) -> EdgeMarginals:
    return EdgeMarginals(edges.token + offset, edges.before, edges.after, edges.probability)


def rechained(edges: EdgeMarginals, before: Sequence[int], now: Sequence[int]) -> EdgeMarginals:
    """Divide tokens into other sequences. Where one begins, the marginals of the token remain;
    where one goes on, the teacher's tokens are independent."""
    if sum(before) != sum(now):
        problem = f"they are of {sum(before)} tokens, and there are {sum(now)}"
        raise ValueError(Errors.P023.format(problem=problem))
    old, new = ({*accumulate(lengths, initial=0)} for lengths in (before, now))
    changed = (old ^ new) - {sum(now)}
    is_changed = torch.zeros(sum(now) + 1, dtype=torch.bool)
    is_changed[list(changed)] = True
    parts = [taken(edges, ~is_changed[edges.token])]
    for token in sorted(changed):
        labels, q = _labels(edges, token)
        if token in new:
            first = torch.full_like(labels, START)
            parts.append(EdgeMarginals(torch.full_like(labels, token), first, labels, q))
            continue
        earlier, p = _labels(edges, token - 1)
        pairs = torch.cartesian_prod(earlier, labels) if len(earlier) and len(labels) else None
        if pairs is not None:
            tokens = torch.full_like(pairs[:, 0], token)
            both = torch.outer(p, q).flatten()
            parts.append(EdgeMarginals(tokens, pairs[:, 0], pairs[:, 1], both))
    return joined(parts)


def _labels(edges: EdgeMarginals, token: int) -> tuple[Tensor, Tensor]:
    """The labels of a token and their probabilities."""
    own = edges.token == token
    labels, places = edges.after[own].unique(return_inverse=True)
    q = torch.zeros(len(labels)).index_add(0, places, edges.probability[own])
    return labels, q


def role_distribution(
    pipe: PSASemanticRoles,
    docs: Sequence[Doc],
    predicates: Sequence[Sequence[int]],
    temperature: float = 1.0,
) -> LinearChain:
    """Compute what a teacher of roles thinks of documents: one chain for each predicate."""
    potentials = scores_of(pipe, docs, [list(own) for own in predicates])
    return LinearChain(potentials.tempered(temperature), constraints=pipe.tagset.constraints)


def teachings(
    chain: LinearChain,
    tags: Sequence[str],
    n_chains: Sequence[int],
    *,
    predicates: Sequence[Sequence[int]] | None = None,
    temperature: float = 1.0,
    mass: float = 0.999,
    most: int | None = 64,
) -> Iterator[Teaching]:
    """Divide a batch's distribution into what is said of each document."""
    edges = pair_marginals(chain, mass=mass, most=most)
    lengths, first, offset = chain.potentials.lengths, 0, 0
    for i, n in enumerate(n_chains):
        own = lengths[first : first + n]
        bounds = torch.tensor([offset, offset + sum(own)])
        low, high = torch.searchsorted(edges.token, bounds).tolist()
        yield Teaching(
            tuple(tags),
            own,
            _moved(taken(edges, slice(low, high)), -offset),
            temperature=temperature,
            predicates=None if predicates is None else tuple(predicates[i]),
        )
        first, offset = first + n, offset + sum(own)


def check_same_words(examples: Sequence[Example]) -> None:
    """Check that teacher and student read the same tokens."""
    for eg in examples:
        if not same_tokens(eg):
            raise ValueError(Errors.P538.format(text=eg.reference.text[:60]))
