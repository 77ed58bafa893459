"""`spacy psa conlleval`: score predictions as the CoNLL evaluation script does."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..annotation.schemes import OUTSIDE, SCHEMES, read_spans
from ..errors import Errors, check_choice
from ..terminal import ProgressBar, show
from ._docbins import read_docs
from ._names import current_target
from ._options import CodeOption, ComponentOption, GpuOption, ScoresOption
from ._outputs import check_files, json_text, save_output
from ._predictions import (
    check_pipeline_options,
    choose_spans_key,
    choose_tagger,
    is_pipeline,
    load_pipeline,
    lower_threshold,
    use_gpu,
    words_alone,
)
from ._util import PREDICT, psa_cli, user_errors

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

    from ..annotation.base import Target
    from ..evaluation.conlleval import ConllevalResult
    from ..pipeline.tagger import PSATagger


@psa_cli.command("conlleval", rich_help_panel=PREDICT)
def conlleval_cli(
    gold_path: Annotated[
        Path, typer.Argument(metavar="GOLD", help=".spacy file with the gold standard")
    ],
    predicted_path: Annotated[
        Path,
        typer.Argument(
            metavar="PREDICTED",
            help="Pipeline name or folder, or .spacy file with predictions for GOLD",
        ),
    ],
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            "-t",
            help="What to score: spans, ents, tag, pos, or bio (phrases in token.tag_); by default "
            "what the pipeline's psa_tagger predicts, or spans",
        ),
    ] = None,
    spans_key: Annotated[
        str | None,
        typer.Option(
            "--spans-key",
            "-k",
            help="Key in doc.spans, for spans; by default that of the pipeline, or chunks",
        ),
    ] = None,
    component: ComponentOption = None,
    output_path: ScoresOption = None,
    gpu_id: GpuOption = -1,
    code_path: CodeOption = None,
) -> None:
    """
    Score predictions as the CoNLL evaluation script does. It prints the same table.

    A pipeline predicts from the words of GOLD, without its annotation. Spans and entities are
    scored as BIO tags, to which the accuracy refers. For tag and pos, each token is a phrase; for
    bio, token.tag_ encodes phrases in BIO, IOB1 or BIOES. Any label of a set in GOLD is correct, if
    the pipeline's component has a set_separator.
    """
    from ..evaluation.conlleval import format_table

    with user_errors():
        check_files([output_path], [gold_path, predicted_path])
        result = score_docbins(
            gold_path,
            predicted_path,
            target=target,
            spans_key=spans_key,
            component=component,
            gpu_id=gpu_id,
        )
        show(format_table(result), end="")
        if output_path is not None:
            save_output(output_path, json_text(result.to_dict()), "scores")


def score_docbins(
    gold_path: Path,
    predicted_path: Path,
    *,
    target: str | None = None,
    spans_key: str | None = None,
    component: str | None = None,
    gpu_id: int = -1,
) -> "ConllevalResult":
    """Score predictions against a DocBin with the gold standard."""
    from ..evaluation.conlleval import ConllevalResult

    use_gpu(gpu_id)
    result = ConllevalResult()
    for _, gold, predicted in read_tags(gold_path, predicted_path, target, spans_key, component):
        result.add(gold, predicted)
    return result


def read_tags(
    gold_path: Path,
    predicted_path: Path,
    target: str | None,
    spans_key: str | None,
    component: str | None = None,
) -> "Iterator[tuple[Doc, list[str], list[str]]]":
    """Read gold and predicted tags in parallel."""
    from spacy.training import Example

    from ..evaluation.sentences import check_same_words

    is_file = not predicted_path.is_dir() and not is_pipeline(predicted_path)
    if is_file:
        check_pipeline_options(predicted_path, component=component)
    nlp = None if is_file else load_pipeline(predicted_path)
    target, spans_key, sets = _choose(nlp, predicted_path, target, spans_key, component)
    gold_docs, predicted_docs = _read(gold_path, predicted_path, nlp)
    check_same_words(gold_docs, predicted_docs, str(gold_path), str(predicted_path))
    read = TARGETS[target]
    # Of a pipeline, a document can be without any label, if all are below the threshold
    can_be_bare = (
        nlp is not None
        and target not in ("spans", "ents")
        and any(len(doc) and read(doc, spans_key) is not None for doc in predicted_docs)
    )
    for index, (gold, predicted) in enumerate(zip(gold_docs, predicted_docs, strict=True), 1):
        resolved = gold if sets is None else sets.resolve(Example(predicted, gold)).reference
        pair = []
        for doc, path in ((resolved, gold_path), (predicted, predicted_path)):
            try:
                tags = read(doc, spans_key)
            except ValueError as err:
                problem = str(err).partition("] ")[2].rstrip(".")
                if not problem:
                    raise
                raise ValueError(
                    Errors.P134.format(index=index, path=path, layer=target, problem=problem)
                ) from err
            if tags is None and doc is predicted and can_be_bare:
                tags = [""] * len(doc)
            if tags is None:
                layer = f"spans['{spans_key}']" if target == "spans" else target
                keys = ", ".join(doc.spans) or "none"
                own = {n: pipe for n, pipe in _taggers(nlp).items() if pipe.cfg["target"] == target}
                remedy = lower_threshold(own) if doc is predicted else ""
                names = {"index": index, "path": path, "layer": layer, "keys": keys}
                raise ValueError(Errors.P126.format(remedy=remedy, **names))
            pair.append(tags)
        if target == "ents":
            # As in `psa evaluate`: tokens without a prediction are outside entities
            pair[1] = [tag or OUTSIDE for tag in pair[1]]
        expected, found = _known_tags(*pair)
        yield gold, expected, found


def _known_tags(gold: list[str], predicted: list[str]) -> tuple[list[str], list[str]]:
    """The tags of the tokens that the gold standard annotates, if it leaves some out.

    The other tokens cannot be scored, nor can predicted spans that touch one. Spans are read before
    these tokens are removed, which would split some spans and join others.
    """
    known = [bool(tag) for tag in gold]
    if all(known):
        return gold, predicted
    pair = []
    for tags in (gold, predicted):
        spans = [span for span in read_spans(tags) if all(known[span[0] : span[1]])]
        # Each span begins with B, so that it cannot continue one before a gap
        written = SCHEMES["BIO"].encode(spans, len(tags))
        pair.append([tag for tag, is_known in zip(written, known, strict=True) if is_known])
    return pair[0], pair[1]


def _choose(
    nlp: "Language | None",
    path: Path,
    target: str | None,
    spans_key: str | None,
    component: str | None,
) -> "tuple[str, str, Target | None]":
    """The target and the key of spans: those given, or those of the pipeline, or chunks; and the
    target that resolves label sets, if the pipeline's component knows them."""
    from ..annotation.targets import make_target

    if target is not None and component is not None:
        raise ValueError(Errors.P267)
    pipes = list(_taggers(nlp).values())
    if nlp is not None and (component or (target is None and pipes)):
        chosen = choose_tagger(nlp, path, component)
        pipes = [pipe for pipe in pipes if pipe.name == chosen]
    own = pipes[0].cfg["target"] if pipes else "spans"
    target = current_target(target) if target else own
    check_choice("target", target, TARGETS)
    chosen_key = choose_spans_key(target, spans_key)
    keys = {pipe.cfg["spans_key"] for pipe in pipes if pipe.cfg["target"] == "spans"}
    spans_key = keys.pop() if spans_key is None and len(keys) == 1 else chosen_key
    separators = {pipe.cfg["set_separator"] for pipe in pipes if pipe.cfg["target"] == target}
    separator = separators.pop() if len(separators) == 1 else None
    if separator is None:
        return target, spans_key, None
    return target, spans_key, make_target(target, spans_key=spans_key, set_separator=separator)


def _taggers(nlp: "Language | None") -> "dict[str, PSATagger]":
    """The taggers of a pipeline by name, none if there is no pipeline."""
    from ..pipeline.tagger import PSATagger

    pipeline = [] if nlp is None else nlp.pipeline
    return {name: pipe for name, pipe in pipeline if isinstance(pipe, PSATagger)}


def _read(
    gold_path: Path, predicted_path: Path, nlp: "Language | None"
) -> "tuple[list[Doc], list[Doc]]":
    from spacy.vocab import Vocab

    if nlp is None:
        vocab = Vocab()
        return read_docs(gold_path, vocab), read_docs(predicted_path, vocab)
    gold_docs = read_docs(gold_path, nlp.vocab)
    blank = words_alone(gold_docs, nlp.vocab)
    predicted = nlp.pipe(
        ProgressBar(blank, "Predicting", total=len(gold_docs), disable=None, leave=False)
    )
    return gold_docs, list(predicted)


def _span_tags(doc: "Doc", spans_key: str) -> list[str] | None:

    # A Doc without tokens needs no group, as it has any other annotation for spaCy
    if len(doc) and spans_key not in doc.spans:
        return None
    # A span group may contain duplicates, which tags cannot encode.
    group = doc.spans.get(spans_key, ())
    spans = {(span.start, span.end, span.label_) for span in group}
    return SCHEMES["BIO"].encode(spans, len(doc))


def _ent_tags(doc: "Doc", spans_key: str) -> list[str] | None:
    if not doc.has_annotation("ENT_IOB"):
        return None
    # Not from token attributes: B without a type means that no entity is allowed there
    spans = [(ent.start, ent.end, ent.label_) for ent in doc.ents]
    tags = SCHEMES["BIO"].encode(spans, len(doc))
    return [tag if token.ent_iob else "" for tag, token in zip(tags, doc, strict=True)]


def _tags_of_spans(doc: "Doc", spans_key: str) -> list[str] | None:
    return [token.tag_ for token in doc] if doc.has_annotation("TAG") else None


def _token_tags(attribute: str, name: str) -> "Callable[[Doc, str], list[str] | None]":
    def tags(doc: "Doc", spans_key: str) -> list[str] | None:
        if not doc.has_annotation(name):
            return None
        values = (getattr(token, attribute) for token in doc)
        return [value and f"S-{value}" for value in values]

    return tags


TARGETS: "dict[str, Callable[[Doc, str], list[str] | None]]" = {
    "spans": _span_tags,
    "ents": _ent_tags,
    "tag": _token_tags("tag_", "TAG"),
    "pos": _token_tags("pos_", "POS"),
    "bio": _tags_of_spans,
}
