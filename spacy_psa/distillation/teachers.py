"""Pipelines that a student learns from: one, or several whose distributions are averaged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Alignment

from ..errors import Errors
from ..inference import LinearChain
from ..inference.edge_marginals import joined, taken
from ..models.labeler import sentence_lengths
from ..pipeline.srl import PSASemanticRoles
from ..pipeline.tagger import PSATagger
from ..pipeline.teaching import Teaching, merged, role_distribution, teachings

KINDS = {"psa_tagger": PSATagger, "psa_srl": PSASemanticRoles}


@dataclass(frozen=True)
class Lesson:
    """What a teacher says of a text.

    doc (Doc): The text as the teacher has read it, annotated by it if its outputs are hard.
    teaching (Optional[Teaching]): Its probabilities; None if its outputs are hard.
    entropy (float): The entropy of its distribution, in nats.
    """

    doc: Doc
    teaching: Teaching | None
    entropy: float = 0.0


class Teacher:
    """A pipeline with the component that a student learns from.

    path (str): Its name for messages.
    nlp (Language): The pipeline.
    factory (str): The factory of the student's component.
    name (str): The student's component.
    component (Optional[str]): The teacher's component; by default the one of the student's name, or
        the only one of its kind. Another kind of component has hard outputs: its annotation.
    RAISES (ValueError): If there is none.
    """

    def __init__(
        self, path: str, nlp: Language, factory: str, name: str, component: str | None = None
    ) -> None:
        kind = KINDS[factory]
        ours = [key for key, pipe in nlp.pipeline if isinstance(pipe, kind)]
        chosen = component or (name if name in ours else ours[0] if len(ours) == 1 else None)
        if chosen not in nlp.pipe_names:
            found = ", ".join(nlp.pipe_names) or "none"
            names = {"teacher": path, "kind": factory, "name": name, "found": found}
            raise ValueError(Errors.P530.format(**names))
        self.path, self.nlp, self.component = path, nlp, chosen
        self.pipe: Any = nlp.get_pipe(chosen)
        self.is_hard = not isinstance(self.pipe, kind)
        place = nlp.pipe_names.index(chosen)
        self.later = nlp.pipe_names[place + self.is_hard :]

    @property
    def labels(self) -> tuple[str, ...]:
        """RETURNS (Tuple[str, ...]): What its component may say."""
        return tuple(getattr(self.pipe, "labels", ()))

    def read(self, text: str | tuple[list[str], list[bool]]) -> Doc:
        """RETURNS (Doc): A text, or words and whether a space follows each, as it reads them."""
        if isinstance(text, str):
            return self.nlp.make_doc(text)
        words, spaces = text
        return Doc(self.nlp.vocab, words=words, spaces=spaces)

    def teach(
        self, docs: Sequence[Doc], *, temperature: float, mass: float, most: int | None
    ) -> Iterator[Lesson]:
        """Run the pipeline on a batch of texts as it reads them, which components before the
        teacher's annotate in place."""
        read = list(self.nlp.pipe(docs, disable=self.later))
        if self.is_hard:
            yield from (Lesson(doc, None) for doc in read)
            return
        filled = [doc for doc in read if len(doc)]
        if not filled:
            return
        predicates = None
        if isinstance(self.pipe, PSATagger):
            chain = self.pipe.queries.as_teacher(filled, temperature)
            counts = [len(sentence_lengths(doc)) for doc in filled]
        else:
            predicates = [sorted(p.token for p in self.pipe.predicates(doc)) for doc in filled]
            chain = role_distribution(self.pipe, filled, predicates, temperature)
            counts = [len(own) for own in predicates]
        said = teachings(
            chain,
            self.pipe.tags,
            counts,
            predicates=predicates,
            temperature=temperature,
            mass=mass,
            most=most,
        )
        for doc, teaching, entropy in zip(filled, said, entropies(chain, counts), strict=True):
            yield Lesson(doc, teaching, entropy)


def entropies(chain: LinearChain, counts: Sequence[int]) -> list[float]:
    """The entropy of each document, of so many chains each."""
    return [float(part.sum()) for part in chain.entropy.cpu().split(list(counts))]


def check_alike(teachers: Sequence[Teacher]) -> None:
    """Check that distributions can be averaged: of the same target and labels, and several of them
    not of hard outputs."""
    first = teachers[0]
    for other in teachers[1:]:
        said = [f"{t.path} ({', '.join(sorted(t.labels)) or t.component})" for t in (first, other)]
        pipes = (first.pipe, other.pipe)
        is_other = any(t.is_hard for t in (first, other)) or (
            getattr(pipes[0].target, "layer", None) != getattr(pipes[1].target, "layer", None)
        )
        if is_other or {*first.pipe.tags} != {*other.pipe.tags}:
            raise ValueError(Errors.P532.format(first=said[0], second=said[1]))


def check_target(teacher: Teacher, name: str, student: Mapping[str, Any]) -> None:
    """Check that the student, as its config has it, can learn what the teacher says."""
    theirs = None if teacher.is_hard else teacher.pipe.cfg.get("target")
    own = student.get("target", "tag")
    if theirs not in (None, own):
        problem = f"the teacher's target is '{theirs}', the student's '{own}'"
        raise ValueError(Errors.P531.format(name=name, problem=problem))
    is_free = not teacher.is_hard and not teacher.pipe.cfg.get("constrain_decoding", True)
    if is_free and student.get("constrain_training") is True and teacher.pipe.tagset.constraints:
        why = f"{teacher.path} has no 'constrain_decoding'"
        raise ValueError(Errors.P540.format(name=name, why=why))


def averaged(said: Sequence[Teaching]) -> Teaching:
    """Average the distributions of several teachers. The marginals of a mixture are the averages of
    the teachers' marginals. Sequences that not all of them know are left out."""
    first = said[0]
    if len(said) == 1:
        return first
    ids = {tag: i for i, tag in enumerate(first.tags)}
    said = [one.in_labels("the first teacher", ids) for one in said]
    parts = [replace(one.edges, probability=one.edges.probability / len(said)) for one in said]
    edges = merged(joined(parts), len(ids))
    known = torch.stack([one.known for one in said]).all(dim=0)
    return replace(first, edges=taken(edges, known[edges.token]))


def aligned(teaching: Teaching, teachers: Sequence[str], own: Sequence[str]) -> Teaching:
    """Move what a teacher says to the student's tokens. Only tokens that are one in both can be:
    sequences with others are left out."""
    if list(teachers) == list(own):
        return teaching
    alignment = Alignment.from_strings(list(own), list(teachers))
    n_chains = len(teaching.lengths)
    chain_of = torch.arange(n_chains).repeat_interleave(torch.tensor(teaching.lengths))
    n_own = alignment.y2x.lengths  # of the student's tokens for each of the teacher's
    place = torch.full((len(teachers),), -1)
    is_whole = torch.ones(n_chains, dtype=torch.bool)
    chains, chain = [], 0
    for i in range(len(own)):
        theirs = alignment.x2y[i].tolist()
        # A token that the teacher lacks belongs to the sequence of the one before
        chain = int(chain_of[theirs[0]]) if theirs else chain
        chains.append(chain)
        if len(theirs) == 1 and n_own[theirs[0]] == 1:
            place[theirs[0]] = i
        else:
            is_whole[chain] = False
    is_whole[chain_of[place < 0]] = False
    lengths = torch.bincount(torch.tensor(chains), minlength=n_chains).tolist()
    edges = taken(teaching.edges, is_whole[chain_of[teaching.edges.token]])
    moved = replace(edges, token=place[edges.token])
    return replace(teaching, lengths=tuple(lengths), edges=moved, predicates=None)
