"""`spacy psa evaluate`: scores with confidence intervals, breakdowns and errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import Errors, Warnings, warn
from ..terminal import msg, show
from ._options import (
    CodeOption,
    ComponentsOption,
    ConfidenceOption,
    GivenOption,
    GpuOption,
    SeedOption,
    SpansKeyOption,
    TargetOption,
)
from ._outputs import check_outputs, json_text, save_output, show_command, title_names
from ._predictions import (
    check_pipeline_options,
    choose_layers,
    join_names,
    load_system,
    read_data,
    read_gold,
    use_gpu,
)
from ._training_files import reads_texts
from ._util import PREDICT, psa_cli, user_errors

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.pipeline import TrainablePipe
    from spacy.tokens import Doc
    from spacy.vocab import Vocab

    from ..evaluation.breakdowns import ByVocabulary, Settings
    from ..evaluation.layers import Layer
    from ..evaluation.report import Report
    from ._predictions import System

N_LABELS = 30  # in the terminal; files have all labels
N_ERRORS = 10  # in files; the terminal has those that --errors asks for
# Tokenizers make other tokens of some words in most corpora, but of few
MANY_OTHERS = 0.2


@psa_cli.command("evaluate", rich_help_panel=PREDICT)
def evaluate_cli(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="Pipeline name or folder, or a .spacy file of predictions"
        ),
    ],
    data: Annotated[
        list[Path], typer.Argument(metavar="DATA...", help=".spacy files, or folders of them")
    ],
    components: ComponentsOption = None,
    target: TargetOption = None,
    spans_key: SpansKeyOption = None,
    given: GivenOption = False,
    train: Annotated[
        list[Path] | None,
        typer.Option(
            "--train",
            help="Training data that defines the known words; by default the model's words",
        ),
    ] = None,
    lengths: Annotated[
        str, typer.Option("--lengths", help="Starts of sentence length buckets, besides 1")
    ] = "5,10,20,40",
    resamples: Annotated[
        int, typer.Option("--resamples", help="Number of bootstrap samples", min=1)
    ] = 1000,
    confidence: ConfidenceOption = 0.95,
    seed: SeedOption = 0,
    errors: Annotated[
        int | None,
        typer.Option(
            "--errors", help=f"Worst sentences to show; in files {N_ERRORS} by default", min=0
        ),
    ] = None,
    outputs: Annotated[
        list[Path] | None,
        typer.Option("--output", "-o", help="Output file, .json, .md or .html; repeatable"),
    ] = None,
    gpu_id: GpuOption = -1,
    code_path: CodeOption = None,
) -> None:
    """
    Evaluate predictions: scores, intervals and errors. Scores are shown by label, sentence length,
    vocabulary and complexity of categories, with confusions and the worst sentences.

    The pipeline predicts from the words of DATA, without its annotation; several files are
    evaluated as one. Units are counted as by the CoNLL script, semantic roles as by the CoNLL-2005
    evaluator, which gives the predicates to a psa_srl that is configured for them.
    """
    with user_errors():
        check_outputs(outputs or [])
        reports = evaluate_files(
            model,
            data,
            components=components or [],
            target=target,
            spans_key=spans_key,
            given=given,
            train=train or [],
            lengths=parse_lengths(lengths),
            n_resamples=resamples,
            confidence=confidence,
            seed=seed,
            n_errors=N_ERRORS if errors is None else errors,
            gpu_id=gpu_id,
        )
        for report in reports:
            print_report(report, worst=errors is not None)
        named, *of = title_names([model, *map(str, data)])
        title = f"Evaluation of {named} on {', '.join(of)}"
        for path in outputs or []:
            save_output(path, _text(reports, title, path.suffix), "evaluation")
        if (Path(model) / "config.cfg").is_file():
            words = ("package", model, ".", "--build", "wheel")
            show_command(*words, what="To install it elsewhere", code_path=code_path)


def evaluate_files(
    model: str,
    data: Sequence[Path],
    *,
    components: Sequence[str] = (),
    target: str | None = None,
    spans_key: str | None = None,
    given: bool = False,
    train: Sequence[Path] = (),
    gpu_id: int = -1,
    **settings: Any,
) -> list[Report]:
    """Evaluate a pipeline, or predictions, with settings of `evaluation.breakdowns.Settings`."""
    from ..evaluation.breakdowns import ByLength, Settings

    chosen = Settings(**settings)
    ByLength(chosen.lengths)
    use_gpu(gpu_id)
    system = load_system(model, given=given)
    if system.nlp is None:
        check_pipeline_options(model, given=given, component=components)
    layers = choose_layers(system, components, target, spans_key)
    gold = read_gold(data, layers.values())
    known = read_data(train) if train else None
    if system.nlp is not None and reads_texts(system.nlp.config):
        warn_of_other_tokens(system.nlp, gold, model, join_names(data))
    predictions = system.predict(gold, join_names(data), list(layers.values()))
    return reports_of(system, layers, gold, predictions, chosen, known)


def warn_of_other_tokens(nlp: Language, gold: Sequence[Doc], model: str, data: str) -> None:
    """Warn if a pipeline's tokenizer makes other tokens of many words: a pipeline trained on the
    former does worse on the latter, as one trained on Chinese characters does on words."""
    others, n_words = list[str](), 0
    # spaCy does not tokenize the others in training either
    for doc in (doc for doc in gold if not doc.has_unknown_spaces):
        # `nlp.make_doc` would limit the length of the text
        tokens = {(token.idx, len(token)) for token in nlp.tokenizer(doc.text)}
        others += [token.text for token in doc if (token.idx, len(token)) not in tokens]
        n_words += len(doc)
    if len(others) > MANY_OTHERS * n_words:
        share = len(others) / n_words
        warn(Warnings.W454.format(model=model, share=share, data=data, word=others[0]))


def reports_of(
    system: System,
    layers: dict[str, Layer],
    gold: Sequence[Doc],
    predictions: Sequence[Sequence[Doc]],
    settings: Settings,
    known: Sequence[Doc] | None = None,
) -> list[Report]:
    """Evaluate the predictions of each layer. `known` has the words seen in training; by default
    they are the model's."""
    import spacy

    from ..evaluation.report import evaluate
    from ..evaluation.sentences import pair_sentences

    reports = []
    for (name, layer), predicted in zip(layers.items(), predictions, strict=True):
        system.check_predicted(predicted, layer)
        vocabulary, note = None, ""
        if "vocabulary" in layer.groups:
            pipe = system.nlp.get_pipe(name) if system.nlp and name else None
            # Any language knows the norms of words
            vocab = (system.nlp or spacy.blank("xx")).vocab
            vocabulary, note = find_vocabulary(vocab, pipe, known, system.nlp)
        own = replace(settings, vocabulary=vocabulary, vocabulary_note=note)
        sentences = pair_sentences(gold, predicted, layer)
        reports.append(evaluate(sentences, layer, own, component=name, n_docs=len(gold)))
    return reports


def find_vocabulary(
    vocab: Vocab,
    pipe: TrainablePipe | None,
    train: Sequence[Doc] | None,
    nlp: Language | None = None,
) -> tuple[ByVocabulary | None, str]:
    """Determine which words were seen in training."""
    from ..evaluation.breakdowns import ByVocabulary
    from ..pipeline.vocabulary import embedded_words, known_words, trained_words

    trained: Callable[[str], bool] | None
    if train is not None:
        trained = known_words(vocab, (token.text for doc in train for token in doc))
        note = "words of the given training data."
    else:
        trained = None if pipe is None else trained_words(pipe, nlp)
        note = "words with their own embeddings in the model, in place of the training data."
    if trained is None:
        return None, ""
    if 0 in vocab.vectors.shape:
        note += " There are no vectors, so no word is in the embedding vocabulary."
    return ByVocabulary(trained, embedded_words(vocab)), note


def parse_lengths(text: str) -> list[int]:
    """Parse the starts of buckets."""
    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise ValueError(Errors.P260.format(lengths=text)) from None


def print_report(report: Report, *, worst: bool = True) -> None:
    """Print a report to the terminal, with or without the worst sentences."""
    from ..evaluation.rendering import (
        mistake_line,
        notes,
        report_tables,
        sentence_heading,
        summary,
    )

    msg.divider(report.title)
    show(summary(report))
    for table in report_tables(report, n_labels=N_LABELS):
        show(f"\n{table.title}{table.to_text()}", end="")
    for note in notes(report):
        show(f"\n{note}")
    sentences = report.worst if worst else []
    if sentences:
        show("\nWorst sentences")
    for sentence in sentences:
        show(f"\n{sentence_heading(sentence, report.unit)}")
        for mistake in sentence.mistakes:
            show(f"  {mistake_line(mistake)}")


def _text(reports: Sequence[Report], title: str, suffix: str) -> str:
    """The text of an output file: .json, .md or .html."""
    from ..evaluation.rendering import to_markdown
    from ..evaluation.report_page import to_html

    if suffix == ".json":
        return json_text({"title": title, "reports": [report.to_dict() for report in reports]})
    return to_html(reports, title) if suffix == ".html" else to_markdown(reports, title)
