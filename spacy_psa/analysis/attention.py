"""Inspect what a component computes for a text: attention, gates, biases and labels by layer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from itertools import pairwise

import numpy as np
import torch
from spacy.tokens import Doc

from ..errors import Errors
from ..inference import Constraints, LinearChain
from ..models.growth import trained_outputs
from ..models.labeler import sentence_lengths
from ..models.srl import labeled_propositions
from ..pipeline.components import Component
from ..pipeline.srl import PSASemanticRoles
from ..pipeline.srl.decoding import bio_constraints
from ..pipeline.srl.predicates import check_predicates
from ..pipeline.srl.roles import without_space
from ..pipeline.tagger import PSATagger
from ..printable import one_line
from .activations import Array, LayerView, Recording, labeler_networks, layer_views, recording

N_TOKENS = 32
START, END = "(start)", "(end)"


@dataclass(frozen=True)
class Labeled:
    """A component's predictions for a document.

    marginals (NDArray): The probability of each tag of each token of each sequence. (N, L)
    tags (List[str]): The predicted tag of each token of each sequence.
    constraints (Optional[Constraints]): Which tags can follow which; None for no constraints.
    sequences (List[Tuple[str, int, int]]): The title, start token and end token of each sequence.
    """

    marginals: Array
    tags: list[str]
    constraints: Constraints | None
    sequences: list[tuple[str, int, int]]


@dataclass(frozen=True)
class Layer:
    """What one layer computed for one sequence.

    title (str): The kind of layer, and its number if there are several.
    view (LayerView): The recorded values.
    tags (Optional[List[str]]): The names of its `labels`; None if they are not the component's
        tags.
    """

    title: str
    view: LayerView
    tags: list[str] | None


@dataclass(frozen=True)
class Passage:
    """The visualized part of a token sequence that is labeled as a whole.

    title (str): The title.
    words (List[str]): Its tokens.
    n_more (int): The number of further tokens in the sequence.
    tags (List[str]): The tags of the tokens.
    marginals (NDArray): The probability of each tag. Shape: (tokens, tags).
    layers (List[Layer]): What the layers computed.
    """

    title: str
    words: list[str]
    n_more: int
    tags: list[str]
    marginals: Array
    layers: list[Layer]


@dataclass(frozen=True)
class Insight:
    """What a component computed for a text.

    component (str): The name of the component.
    text (str): The text.
    n_tokens (int): The number of tokens in the text.
    n_shown (int): The number of tokens that are visualized.
    tags (List[str]): The tags of the component.
    passages (List[Passage]): What it computed for each sequence.
    transitions (Dict[str, NDArray]): For each network with transitions, the scores of each tag
        (column) after each tag (row). The last row is the start, the last column the end, and NaN
        marks impossible transitions. Scores that depend on tokens are averaged over the text.
    """

    component: str
    text: str
    n_tokens: int
    n_shown: int
    tags: list[str]
    passages: list[Passage]
    transitions: dict[str, Array]


def look_inside(pipe: Component, doc: Doc, *, n_tokens: int = N_TOKENS) -> Insight:
    """Label a document and record what the layers compute. The document is not modified.

    pipe (Component): The component.
    doc (Doc): The document, as processed by the preceding components.
    n_tokens (int): The number of tokens to visualize, from the first.
    RETURNS (Insight): The recorded values.
    RAISES (ValueError): If there is nothing to show.
    """
    if not len(doc):
        raise ValueError(Errors.P380)
    networks = labeler_networks(pipe.model)
    if not networks:
        raise ValueError(Errors.P382.format(name=pipe.name))
    with recording(networks) as runs:
        labeled = label(pipe, doc)
    # Labels that were added after training are in no layer yet
    tags = pipe.tags[: trained_outputs(pipe.model)]
    labeled = _with_first_tags(labeled, len(tags))
    titles = [_titles(run) for run in runs]
    if len(runs) > 1:
        titles = [
            {name: f"model {i}: {title}" for name, title in names.items()}
            for i, names in enumerate(titles, 1)
        ]
    passages, first = [], 0
    for chain, (title, start, end) in enumerate(labeled.sequences):
        n = min(end, n_tokens) - start
        if n > 0:
            layers = [
                Layer(names[view.layer], view, _tags_of(run, view, tags))
                for run, names in zip(runs, titles, strict=True)
                for view in layer_views(run, chain, n)
            ]
            shown = slice(first, first + n)
            words = [one_line(token.text) for token in doc[start : start + n]]
            more, own = end - start - n, labeled.tags[shown]
            passages.append(Passage(title, words, more, own, labeled.marginals[shown], layers))
        first += end - start
    transitions = {
        f"model {i}" if len(runs) > 1 else "": scores
        for i, run in enumerate(runs, 1)
        if (scores := _transitions(run, labeled.constraints)) is not None
    }
    return Insight(
        component=pipe.name,
        text=one_line(doc.text),
        n_tokens=len(doc),
        n_shown=min(len(doc), n_tokens),
        tags=tags,
        passages=passages,
        transitions=transitions,
    )


@singledispatch
def label(pipe: Component, doc: Doc) -> Labeled:
    """Label a document. To support another kind of component, register an implementation."""
    raise ValueError(Errors.P382.format(name=pipe.name))


@label.register
def _label_tokens(pipe: PSATagger, doc: Doc) -> Labeled:
    distribution = pipe.distribution([doc])
    tags = [pipe.tags[i] for i in distribution.argmax.tolist()]
    ends = np.cumsum([0, *sentence_lengths(doc)]).tolist()
    places = list(pairwise(ends))
    titles = [f"Sentence {i}" if len(places) > 1 else "" for i in range(1, len(ends))]
    sequences = [(title, *place) for title, place in zip(titles, places, strict=True)]
    marginals = distribution.marginals.double().cpu().numpy()
    return Labeled(marginals, tags, pipe.constraints, sequences)


@label.register
def _label_roles(pipe: PSASemanticRoles, doc: Doc) -> Labeled:
    predicates = sorted(pipe.predicates(doc), key=lambda predicate: predicate.token)
    check_predicates(doc, predicates)
    if not predicates:
        raise ValueError(Errors.P383.format(name=pipe.name))
    if pipe.model.attrs.get("n_markers"):
        raise ValueError(Errors.P387.format(name=pipe.name))
    tokens = [predicate.token for predicate in predicates]
    potentials = pipe.model.predict(([doc], [tokens])).detach()
    is_space = pipe.decoder.spaces(doc)
    places = labeled_propositions(pipe.model, doc, tokens)
    marginals, best = [], list[str]()
    for chain, place in enumerate(places):
        spaces = is_space[place.start : place.end]
        ((_, scores, tags),) = without_space(potentials.select([chain]), pipe.tags, [spaces])
        distribution = LinearChain(scores, constraints=bio_constraints(tuple(tags)))
        columns = torch.tensor([pipe.tags.index(tag) for tag in tags])
        of_outputs = distribution.marginals.double().cpu()
        of_tags = of_outputs.new_zeros(len(of_outputs), len(pipe.tags))
        marginals.append(of_tags.index_add_(1, columns, of_outputs).numpy())
        best += [tags[i] for i in pipe.decoding.best(scores, tags).tolist()]
    sequences = [
        (f"Predicate {one_line(doc[place.predicate].text)}", place.start, place.end)
        for place in places
    ]
    constraints = bio_constraints(tuple(pipe.tags))
    return Labeled(np.concatenate(marginals), best, constraints, sequences)


def _with_first_tags(labeled: Labeled, n: int) -> Labeled:
    rules = labeled.constraints
    if rules is not None:
        rules = Constraints(rules.transitions[:n, :n], rules.start[:n], rules.end[:n])
    return replace(labeled, marginals=labeled.marginals[:, :n], constraints=rules)


def _titles(run: Recording) -> dict[str, str]:
    """Human-readable titles of layers, by their names in the network."""
    names = list(dict.fromkeys(found.layer for part in run.parts[:1] for found in part))
    kinds = [_words(type(run.network.get_submodule(name)).__name__) for name in names]
    count, seen = Counter(kinds), Counter[str]()
    titles = {}
    for name, kind in zip(names, kinds, strict=True):
        seen[kind] += 1
        titles[name] = f"{kind} {seen[kind]}" if count[kind] > 1 else kind
    return titles


def _words(name: str) -> str:
    """Split a class name into words: MultiHeadSelfAttention becomes multi head self attention."""
    return " ".join(re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z\d]+", name)).lower()


def _tags_of(run: Recording, view: LayerView, tags: Sequence[str]) -> list[str] | None:
    """The tags, if the layer shares its label embeddings with the decoder; otherwise None."""
    own = getattr(run.network.get_submodule(view.layer), "labels", None)
    same = own is not None and own is getattr(run.network.decoder, "labels", None)
    return list(tags) if same else None


def _transitions(run: Recording, constraints: Constraints | None) -> Array | None:
    potentials = run.potentials
    if potentials.transitions is None:
        return None
    n_labels = potentials.n_labels
    scores = torch.full((n_labels + 1, n_labels + 1), torch.nan, dtype=torch.float64)
    scores[:-1, :-1] = potentials.transitions
    if potentials.pairwise is not None:
        # Nothing precedes the first token of a sequence.
        follows = torch.ones(potentials.n_tokens, dtype=torch.bool)
        follows[np.cumsum([0, *potentials.lengths])[:-1]] = False
        if follows.any():
            scores[:-1, :-1] += potentials.pairwise[follows].mean(dim=0).cpu()
    if potentials.start is not None and potentials.end is not None:
        scores[-1, :-1], scores[:-1, -1] = potentials.start, potentials.end
    if constraints is not None:
        scores[:-1, :-1][~constraints.transitions.cpu()] = torch.nan
        scores[-1, :-1][~constraints.start.cpu()] = torch.nan
        scores[:-1, -1][~constraints.end.cpu()] = torch.nan
    return scores.numpy()


MAX_DISTANCE = 15


def bias_by_distance(passages: Sequence[Passage]) -> dict[str, list[Array]]:
    """Average positional biases over all pairs of tokens at the same distance."""
    layers: dict[str, list[dict[str, Array]]] = {}
    for passage in passages:
        for layer in passage.layers:
            if "bias" in layer.view.values:
                layers.setdefault(layer.title, []).append(layer.view.values)
    return {
        title: [
            _rows([values["bias"][head] for values in own], with_self=_see_themselves(own))
            for head in range(len(own[0]["bias"]))
        ]
        for title, own in layers.items()
    }


def _see_themselves(layers: Sequence[dict[str, Array]]) -> bool:
    weights = [values["attention"] for values in layers if "attention" in values]
    return not weights or any((np.diagonal(w, axis1=1, axis2=2) > 0.0).any() for w in weights)


def _rows(matrices: Sequence[Array], *, with_self: bool) -> Array:
    rows = []
    for distance in range(-MAX_DISTANCE, MAX_DISTANCE + 1):
        values = np.concatenate([np.diagonal(matrix, distance) for matrix in matrices])
        values = values[np.isfinite(values)]
        if len(values) and (distance or with_self):
            rows.append([distance, values.mean(), values.min(), values.max()])
    return np.array(rows).reshape(-1, 4)
