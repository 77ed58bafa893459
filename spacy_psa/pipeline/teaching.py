"""What a teacher says of the examples that a student learns from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice
from math import nan
from typing import TYPE_CHECKING

import torch
from spacy.tokens import Doc
from spacy.training import Example
from torch import Tensor

from ..annotation.alignment import same_tokens
from ..errors import Errors
from ..inference import Constraints, LinearChain, Potentials
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

    @property
    def known(self) -> Tensor:
        """RETURNS (Tensor): *Shape:* (N,). Booleans: the tokens that have marginals."""
        known = torch.zeros(sum(self.lengths), dtype=torch.bool)
        known[self.edges.token] = True
        return known

    @property
    def shares(self) -> list[float]:
        """RETURNS (List[float]): The annotation's share in the loss of each sequence; NaN where the
        teacher says nothing."""
        parts = self.known.split(list(self.lengths))
        return [self.gold if bool(part.all()) else nan for part in parts]

    def in_labels(self, name: str, ids: dict[str, int]) -> Teaching:
        """Say the same in other labels.

        name (str): Whose labels they are, for messages.
        ids (Dict[str, int]): The index of each tag.
        RAISES (ValueError): If the tags are others, not only in another order.
        """
        if list(ids) == list(self.tags):
            return self
        check_same_tags(name, self.tags, list(ids))
        new = torch.tensor([*(ids[tag] for tag in self.tags), START])
        before, after = new[self.edges.before], new[self.edges.after]
        return replace(self, tags=tuple(ids), edges=replace(self.edges, before=before, after=after))

    def in_sequences(self, lengths: Sequence[int]) -> Teaching:
        """Divide the tokens into other sequences. Where one begins, the marginals of the token
        remain; where one goes on, the teacher's tokens are independent.

        RAISES (ValueError): If these are other tokens.
        """
        if tuple(lengths) == self.lengths:
            return self
        if sum(lengths) != sum(self.lengths):
            problem = f"they are of {sum(self.lengths)} tokens, and there are {sum(lengths)}"
            raise ValueError(Errors.P023.format(problem=problem))
        old, new = ({*accumulate(own, initial=0)} for own in (self.lengths, lengths))
        changed = sorted(old ^ new)
        is_changed = torch.zeros(sum(lengths), dtype=torch.bool)
        is_changed[changed] = True
        parts = [taken(self.edges, ~is_changed[self.edges.token])]
        start = torch.tensor([START]), torch.ones(1)
        for token in changed:
            earlier, p = start if token in new else self._marginals(token - 1)
            labels, q = self._marginals(token)
            before, after = earlier.repeat_interleave(len(labels)), labels.repeat(len(earlier))
            tokens = torch.full_like(after, token)
            parts.append(EdgeMarginals(tokens, before, after, torch.outer(p, q).flatten()))
        return replace(self, lengths=tuple(lengths), edges=joined(parts))

    def _marginals(self, token: int) -> tuple[Tensor, Tensor]:
        """The labels of a token and their probabilities."""
        own = self.edges.token == token
        labels, places = self.edges.after[own].unique(return_inverse=True)
        q = torch.zeros(len(labels)).index_add(0, places, self.edges.probability[own])
        return labels, q


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
        tags, nothing = tuple(ids), joined([])
        said = [
            Teaching(tags, tuple(own), nothing, gold=nan)
            if teaching is None
            else teaching.in_labels(name, ids).in_sequences(own)
            for teaching, own in zip(teachings, lengths, strict=True)
        ]
        parts, first = [], 0
        for one in said:
            parts.append(_moved(one.edges, first))
            first += sum(one.lengths)
        self.edges = joined(parts)
        share = torch.tensor([x for one in said for x in one.shares], dtype=torch.float64)
        # Only the teacher says anything (0), or only the annotation (NaN)
        self.gold = share.masked_fill(~is_annotated.cpu(), 0.0).masked_fill(share.isnan(), 1.0)
        temperatures = [one.temperature for one in said for _ in one.lengths]
        self.temperatures = torch.tensor(temperatures, dtype=torch.float64)

    def losses(
        self,
        likelihood: Tensor,
        student: Potentials,
        *,
        constraints: Constraints | None = None,
        backend: str | None = None,
    ) -> Tensor:
        """Mix the loss of the annotation (C,) with that of the teacher: gold · likelihood + (1 −
        gold) · T² · H(p_T, p_S). *Shape:* (C,).

        student (Potentials): The student's scores.
        constraints (Optional[Constraints]): Sequences that the student rules out.
        backend (Optional[str]): See `LinearChain`.
        RAISES (ValueError): If the constraints rule out what the teacher does not.
        """
        gold = self.gold.to(likelihood)
        total = gold * likelihood
        for temperature in self.temperatures.unique().tolist():
            scores = student if temperature == 1.0 else student.tempered(temperature)
            chain = LinearChain(scores, constraints=constraints, backend=backend)
            weight = (1.0 - gold) * (self.temperatures == temperature).to(gold)
            entropy = cross_entropy(self.edges, chain)
            # Scores that are not finite are not due to constraints: training has diverged
            if (
                constraints is not None
                and bool(entropy.isinf().any())
                and bool(scores.emissions.isfinite().all())
            ):
                raise ValueError(Errors.P540.format(name=self.name, why=OTHER_SEQUENCES))
            total = total + weight * temperature**2 * entropy.to(total)
        return total


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
    documents = by_document(edges, chain.potentials.lengths, n_chains)
    for i, (lengths, own) in enumerate(documents):
        yield Teaching(
            tuple(tags),
            lengths,
            own,
            temperature=temperature,
            predicates=None if predicates is None else tuple(predicates[i]),
        )


def by_document(
    edges: EdgeMarginals, lengths: Sequence[int], n_chains: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], EdgeMarginals]]:
    """Divide the marginals of a batch, given the lengths of its chains and the number of chains of
    each document.

    YIELDS (Tuple[Tuple[int, ...], EdgeMarginals]): The lengths of a document's chains, and the
        marginals, over its tokens.
    """
    remaining = iter(lengths)
    documents = [tuple(islice(remaining, n)) for n in n_chains]
    bounds = list(accumulate(map(sum, documents), initial=0))
    rows = torch.searchsorted(edges.token, torch.tensor(bounds)).tolist()
    for i, own in enumerate(documents):
        yield own, _moved(taken(edges, slice(rows[i], rows[i + 1])), -bounds[i])


def merged(edges: EdgeMarginals, n_labels: int) -> EdgeMarginals:
    """Add up the probabilities of pairs that are there more than once."""
    code = (edges.token * (n_labels + 1) + edges.before - START) * n_labels + edges.after
    code, places = code.unique(return_inverse=True)
    probability = torch.zeros(len(code)).index_add(0, places, edges.probability)
    token, pair = code // ((n_labels + 1) * n_labels), code % ((n_labels + 1) * n_labels)
    return EdgeMarginals(token, pair // n_labels + START, pair % n_labels, probability)


def _moved(edges: EdgeMarginals, offset: int) -> EdgeMarginals:
    return replace(edges, token=edges.token + offset)


def check_same_words(examples: Sequence[Example]) -> None:
    """Check that teacher and student read the same tokens."""
    for eg in examples:
        if not same_tokens(eg):
            raise ValueError(Errors.P538.format(text=eg.reference.text[:60]))
