"""What a component listens to: embeddings, and pretrained transformers of spacy-transformers with
what they read at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from spacy.language import Language
from spacy.pipeline.tok2vec import Tok2Vec, Tok2VecListener
from spacy.tokens import Doc
from spacy.ty import ListenedToComponent
from thinc.api import Model

from ..errors import Errors, Warnings, suggestion, warn

# Tokenizers without a limit have one of 10^30.
NO_LIMIT = 1_000_000


def n_positions(config: Any) -> int | None:
    """Count the subwords that a transformer can read at once; None if unlimited, or unknown."""
    positions = getattr(config, "max_position_embeddings", None)
    if not isinstance(positions, int) or positions < 1:
        return None
    # RoBERTa and its relatives count positions from the number of the padding.
    if "roberta" in config.model_type or config.model_type in ("camembert", "mpnet", "longformer"):
        return positions - config.pad_token_id - 1
    return positions


def load_frozen(nlp: Language, pipe: Any) -> None:
    """Load the frozen transformers that a component listens to. spaCy disables frozen components
    while it initializes a pipeline, so that they would have no network, unless another pipeline is
    their source."""
    upstream: Any
    for name, upstream in nlp.components:
        model = getattr(upstream, "model", None)
        is_missing = isinstance(model, Model) and not model.attrs.get("has_transformer", True)
        if name in nlp.disabled and is_missing and pipe.name in upstream.listening_components:
            upstream.initialize(list, nlp=nlp)
            upstream.find_listeners(pipe)


def check_upstream(nlp: Language, pipe: Any) -> None:
    """Check that what a component listens to is in front of it, where spaCy looks for it."""
    if pipe.name not in nlp.component_names:
        return
    before = nlp.components[: nlp.component_names.index(pipe.name)]
    options = [name for name, other in before if isinstance(other, ListenedToComponent)]
    for node in _listeners(pipe.model):
        if not options or node.upstream_name not in ("*", *options):
            upstream, there = _upstream_of(node), ", ".join(map(repr, options)) or "none"
            names = {"name": pipe.name, "upstream": upstream, "options": there}
            raise ValueError(Errors.P223.format(**names, suggestion=suggestion(upstream, options)))


def check_transformers(nlp: Language) -> None:
    """Check that the initialized transformers in a pipeline have positions for as many subwords as
    they get, and read windows as long. If a tokenizer has no limit, this is a warning."""
    for name, pipe in nlp.components:
        model = getattr(pipe, "model", None)
        for node in model.walk() if isinstance(model, Model) else ():
            if node.name == "transformer" and node.attrs.get("has_transformer"):
                _check(name, node)


def _check(component: str, model: Any) -> None:
    longest = model.tokenizer.model_max_length
    positions = n_positions(model.transformer.config)
    if positions is not None and longest > positions:
        if longest < NO_LIMIT:
            message = Errors.P247.format(name=component, longest=longest, positions=positions)
            raise ValueError(message)
        warn(Warnings.W247.format(name=component, positions=positions))
        longest = positions
    window = getattr(model.attrs["get_spans"], "keywords", {}).get("window", 0)
    if window > longest:
        raise ValueError(Errors.P248.format(name=component, window=window, longest=longest))


def warn_of_overwritten(nlp: Language, pipe: Any) -> None:
    """Warn of an embedding that stands between a component and the one that it listens to: all of
    them write to `doc.tensor`, where listeners read in prediction, but not in training."""
    names = [name for name, _ in nlp.components]
    before = nlp.components[: names.index(pipe.name)] if pipe.name in names else []
    writers = [name for name, other in before if isinstance(other, Tok2Vec)]
    for node in _listeners(pipe.model):
        upstream = node.upstream_name
        if isinstance(node, Tok2VecListener) and upstream in writers[:-1]:
            found = {"name": pipe.name, "upstream": upstream, "other": writers[-1]}
            warn(Warnings.W448.format(**found))


def warn_of_unread(pipe: Any, docs: Iterable[Doc]) -> None:
    """Warn of documents that the component to which another one listens has not read: listeners
    take their vectors for zeros, without a word."""
    for node in _listeners(pipe.model):
        unread = next((doc for doc in docs if len(doc) and not _is_read(doc, node)), None)
        if unread is not None:
            names = {"upstream": _upstream_of(node), "name": pipe.name}
            warn(Warnings.W447.format(**names, text=unread.text[:60]))


def check_rehearsal(pipe: Any, docs: Sequence[Doc]) -> None:
    """Check that no component to which another one listens is trained, and that it has read the
    documents: in rehearsal, a listener has what it heard in the last update, if the words are the
    same, and its teacher zeros."""
    for node in (*_listeners(pipe.model), *_listeners(pipe._rehearsal_model)):
        is_trained = getattr(node, "_batch_id", None) is not None
        if is_trained or any(len(doc) and not _is_read(doc, node) for doc in docs):
            raise ValueError(Errors.P336.format(name=pipe.name, upstream=_upstream_of(node)))


def _listeners(model: Model) -> Iterator[Any]:
    return (node for node in model.walk() if hasattr(node, "upstream_name"))


def _upstream_of(listener: Any) -> str:
    """The name of the component that a listener listens to: if any will do, its usual one."""
    usual = "tok2vec" if isinstance(listener, Tok2VecListener) else "transformer"
    name: str = listener.upstream_name
    return usual if name == "*" else name


def _is_read(doc: Doc, listener: Model) -> bool:
    if isinstance(listener, Tok2VecListener):
        return doc.tensor.size > 0
    return not doc.has_extension("trf_data") or doc._.trf_data is not None
