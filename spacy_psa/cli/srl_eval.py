"""`spacy psa srl-eval`: score semantic roles as the CoNLL-2005 evaluator does."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from ..corpora.lines import keep_pipes
from ..errors import Errors
from ..terminal import ProgressBar, msg, show
from ._docbins import is_docbin, read_docs
from ._options import CodeOption, ComponentOption, GpuOption, ScoresOption
from ._outputs import check_files, json_text, save_output
from ._predictions import (
    check_no_training,
    check_pipeline_options,
    choose_role_labeler,
    is_pipeline,
    load_pipeline,
    role_labelers,
    use_given_predicates,
    use_gpu,
    words_alone,
)
from ._util import PREDICT, psa_cli, user_errors

if TYPE_CHECKING:
    from spacy.tokens import Doc

    from ..annotation.propositions import Frame
    from ..annotation.role_scores import SRLResult
    from ..corpora.problems import Problems
    from ..corpora.sentence import Sentence


class Labeled(NamedTuple):
    """A sentence: its number of tokens, its words if known, and its frames."""

    n_tokens: int
    words: list[str] | None
    frames: "list[Frame]"


@psa_cli.command("srl-eval", rich_help_panel=PREDICT)
def srl_eval_cli(
    gold_path: Annotated[
        Path,
        typer.Argument(
            metavar="GOLD", help="Gold standard: .props, .spacy, or another corpus format"
        ),
    ],
    predicted_path: Annotated[
        Path,
        typer.Argument(
            metavar="PREDICTED",
            help="Pipeline name or folder, or predictions for GOLD in one of these formats",
        ),
    ],
    given: Annotated[
        bool,
        typer.Option(
            "--given", help="Give a pipeline the predicates of GOLD, even if it finds its own"
        ),
    ] = False,
    confusion: Annotated[
        bool, typer.Option("--confusion", "-C", help="Also print the confusion matrix of roles")
    ] = False,
    component: ComponentOption = None,
    output_path: ScoresOption = None,
    gpu_id: GpuOption = -1,
    code_path: CodeOption = None,
) -> None:
    """
    Score semantic roles as the CoNLL-2005 evaluator does. It prints the same table.

    A pipeline predicts from the words of GOLD, and from its predicates if configured to use given
    ones. As in srl-eval.pl, predicted predicates that are not in GOLD do not count.
    """
    from ..corpora.problems import Problems
    from ..evaluation.srl_tables import format_confusion, format_result

    problems = Problems()
    with user_errors():
        check_files([output_path], [gold_path, predicted_path])
        result = score_paths(
            gold_path,
            predicted_path,
            given=given,
            component=component,
            gpu_id=gpu_id,
            problems=problems,
        )
        show(format_result(result), end="")
        if confusion:
            show("\n" + format_confusion(result), end="")
        for what, n in problems.notes.items():
            msg.warn(f"{what}: {n:,}")
        if result.skipped:
            msg.warn(f"{result.skipped} predicted propositions are not in the gold standard")
        if output_path is not None:
            save_output(output_path, json_text(result.to_dict()), "scores")


@keep_pipes()
def score_paths(
    gold_path: Path,
    predicted_path: Path,
    *,
    given: bool = False,
    component: str | None = None,
    gpu_id: int = -1,
    problems: "Problems | None" = None,
) -> "SRLResult":
    """Score the frames of a file, or those predicted by a pipeline, against a gold standard."""
    from ..annotation.role_scores import SRLResult

    use_gpu(gpu_id)
    gold = list(_read(gold_path, problems))
    check_no_training(predicted_path)
    if is_pipeline(predicted_path):
        predicted = list(_predict(gold_path, predicted_path, given, component))
    else:
        check_pipeline_options(predicted_path, given=given, component=component)
        predicted = list(_read(predicted_path, problems))
    if len(gold) != len(predicted):
        raise ValueError(
            Errors.P328.format(
                gold_path=gold_path,
                gold=len(gold),
                predicted_path=predicted_path,
                predicted=len(predicted),
            )
        )
    result = SRLResult()
    for index, (expected, found) in enumerate(zip(gold, predicted, strict=True), 1):
        words = (expected.words, found.words)
        if expected.n_tokens != found.n_tokens or (None not in words and words[0] != words[1]):
            raise ValueError(
                Errors.P329.format(
                    index=index,
                    gold_path=gold_path,
                    gold=expected.n_tokens,
                    predicted_path=predicted_path,
                    predicted=found.n_tokens,
                )
            )
        result.add(expected.frames, found.frames)
    return result


def _read(path: Path, problems: "Problems | None") -> "Iterator[Labeled]":
    from ..corpora.conll2005 import is_props, read_props

    if is_docbin(path):
        from spacy.vocab import Vocab

        yield from _sentences(read_docs(path, Vocab()), path)
    elif is_props(path):
        for n_tokens, frames in read_props(path, problems=problems):
            yield Labeled(n_tokens, None, frames)
    else:
        for sentence in _read_sentences(path, problems):
            if sentence.frames is None:
                raise ValueError(Errors.P330.format(path=path, index=sentence.line))
            yield Labeled(len(sentence.words), sentence.words, sentence.frames)


def _read_sentences(path: Path, problems: "Problems | None" = None) -> "Iterator[Sentence]":
    from ..corpora.detection import detect

    yield from detect(path).form.read(path, problems=problems)


def _sentences(docs: "Iterable[Doc]", path: Path) -> "Iterator[Labeled]":
    from ..annotation.propositions import has_frames
    from ..corpora.docs import make_sentences

    for index, doc in enumerate(docs, 1):
        if not has_frames(doc):
            raise ValueError(Errors.P330.format(path=path, index=index))
        for sentence in make_sentences([doc]):
            yield Labeled(len(sentence.words), sentence.words, sentence.frames or [])


def _predict(
    gold_path: Path, pipeline_path: Path, given: bool, component: str | None
) -> "Iterator[Labeled]":
    """Predict the frames of new Docs that have only words and sentences."""
    from ..annotation.propositions import get_frames, set_frames
    from ..corpora.docs import make_docs
    from ..evaluation.layers import RolesLayer

    nlp = load_pipeline(pipeline_path)
    chosen = choose_role_labeler(nlp, pipeline_path, component)
    labelers = role_labelers(nlp, pipeline_path)
    if given:
        use_given_predicates(labelers)
    if is_docbin(gold_path):
        gold = read_docs(gold_path, nlp.vocab)
    else:
        gold = list(make_docs(nlp.vocab, _read_sentences(gold_path)))
    blank = list(words_alone(gold, nlp.vocab))
    for doc, gold_doc in zip(blank, gold, strict=True):
        RolesLayer().give(doc, gold_doc)
    progress = ProgressBar(blank, "Predicting", total=len(gold), disable=None, leave=False)
    others = [pipe.name for pipe in labelers if pipe.name != chosen]
    predicted = nlp.pipe(progress, disable=others)
    for doc, gold_doc in zip(predicted, gold, strict=True):
        # Use the gold sentence boundaries, even if the pipeline predicts others.
        bearer = _words_of(gold_doc)
        set_frames(bearer, get_frames(doc))
        yield from _sentences([bearer], pipeline_path)


def _words_of(doc: "Doc") -> "Doc":
    """A new Doc with only words and sentence boundaries."""
    from spacy.tokens import Doc

    starts: list[bool | int | None] | None = None
    if doc.has_annotation("SENT_START"):
        starts = [bool(token.is_sent_start) for token in doc]
    spaces = [bool(token.whitespace_) for token in doc]
    return Doc(doc.vocab, words=[t.text for t in doc], spaces=spaces, sent_starts=starts)
