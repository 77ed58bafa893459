"""`spacy psa annotate` and `spacy psa tag`: label texts, for annotation tools or the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import nlargest
from itertools import chain, islice
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import Errors, check_choice
from ..printable import replace_undecoded, shortened
from ..terminal import ProgressBar, msg, show, text_table
from ._options import CodeOption, ComponentOption, GpuOption, ModelArgument
from ._outputs import check_files, save_text
from ._predictions import get_tagger, load_pipeline, load_tagger, use_gpu
from ._tasks import FORMATS, ScoredSpan, Suggestion, read_texts
from ._util import PREDICT, is_stdout, messages, psa_cli, user_errors, write_stdout

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spacy.language import Language
    from spacy.tokens import Doc, Span

    from ..pipeline.tagger import PSATagger
    from ..pipeline.tagger.queries import Labeling
    from ._tasks import Record


@psa_cli.command("annotate", rich_help_panel=PREDICT)
def annotate_cli(
    model: ModelArgument,
    texts: Annotated[
        str,
        typer.Argument(
            metavar="TEXTS",
            help=".txt file with one text per line; .jsonl or .json file (key 'text', or tasks of "
            "Label Studio), plain or .gz; .spacy file; or - for standard input",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Output file, replaced if it exists; standard output by default",
        ),
    ] = None,
    sort: Annotated[
        bool,
        typer.Option("--sort-by-uncertainty", "-s", help="Write the most uncertain texts first"),
    ] = False,
    component: ComponentOption = None,
    form: Annotated[
        str, typer.Option("--format", "-f", help=f"Annotation tool: {', '.join(FORMATS)}")
    ] = "prodigy",
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", help="Maximum number of texts to write", min=1)
    ] = None,
    nbest: Annotated[
        int, typer.Option("--nbest", "-k", help="Number of best labelings per text", min=1)
    ] = 1,
    gpu_id: GpuOption = -1,
    code_path: CodeOption = None,
) -> None:
    """
    Pre-label texts for an annotation tool. It gets the best labels and their probabilities.

    Uncertainty is the entropy over all labelings of a text, divided by its number of tokens. Both
    the entropy and the annotation effort grow with the length of a text; the entropy per token
    shows which texts are the most informative for that effort.

    Of texts that are annotated already, the output has the suggestions in place of the annotation.
    """
    to_stdout = output is None or is_stdout(output)
    with user_errors(to_stdout=to_stdout):
        check_choice("format", form, FORMATS)
        check_files([] if to_stdout else [output], [Path(texts)])
        with messages(to_stdout=to_stdout):
            use_gpu(gpu_id)
        nlp, name = load_tagger(model, component)
        found = annotate(nlp, name, texts, k=nbest, sort=sort, limit=limit)
        content = FORMATS[form].dump(found, name)
        n_replaced = FORMATS[form].count_replaced(found)
        if n_replaced:
            with messages(to_stdout=to_stdout):
                msg.warn(
                    f"{n_replaced} of {len(found)} texts had an annotation, which the suggestions "
                    "replace in the output."
                )
        if output is None or to_stdout:
            write_stdout(content)
            return
        save_text(output, content)
    n_spans = sum(len(suggestion.labelings[0][1]) for suggestion in found)
    msg.good(f"Wrote {len(found)} texts with {n_spans} labels to {output}")


def annotate(
    nlp: Language,
    name: str,
    texts: str,
    *,
    k: int = 1,
    sort: bool = False,
    limit: int | None = None,
) -> list[Suggestion]:
    """Suggest labels for texts: everything in the best labeling, whether or not it is above the
    component's threshold.
    """
    pairs = islice(read_texts(texts, nlp), None if sort else limit)
    progress = ProgressBar(
        _suggest(nlp, name, pairs, k), desc=name, unit=" texts", disable=None, leave=False
    )
    with progress as found:
        if not sort:
            return list(found)
        uncertainty = attrgetter("uncertainty")
        if limit is None:
            return sorted(found, key=uncertainty, reverse=True)
        # Of many texts, only those to write stay in memory
        return nlargest(limit, found, key=uncertainty)


def _suggest(
    nlp: Language, name: str, pairs: Iterable[tuple[Doc, Record]], k: int
) -> Iterator[Suggestion]:
    from spacy.util import minibatch

    tagger = get_tagger(nlp, name)
    later = nlp.pipe_names[nlp.pipe_names.index(name) :]
    for batch in minibatch(nlp.pipe(pairs, as_tuples=True, disable=later), nlp.batch_size):
        yield from suggestions(tagger, batch, k)


def suggestions(
    tagger: PSATagger, pairs: Sequence[tuple[Doc, Record]], k: int
) -> Iterator[Suggestion]:
    """Suggest labels for documents."""
    docs = [doc for doc, _ in pairs]
    distribution = tagger.distribution(docs)
    labelings = tagger.nbest(docs, k, distribution=distribution)
    entropies = tagger.entropy(docs, distribution=distribution)
    places = [[_places(tagger, labeling) for labeling in own] for own in labelings]
    asked = [list(chain(*own)) for own in places]
    if tagger.target.has_spans:
        scores = tagger.span_probs(docs, asked, distribution=distribution)
    else:
        columns = {label: i for i, label in enumerate(tagger.marginal_labels)}
        marginals = tagger.marginals(docs, distribution=distribution)
        scores = [
            [float(rows[i, columns[label]]) for i, _, label in found]
            for rows, found in zip(marginals, asked, strict=True)
        ]
    for i, (doc, record) in enumerate(pairs):
        remaining = iter(scores[i])
        found = [
            (labeling.probability, [ScoredSpan(*place, next(remaining)) for place in own])
            for labeling, own in zip(labelings[i], places[i], strict=True)
        ]
        yield Suggestion(doc, record, found, entropies[i] / len(doc))


def _places(tagger: PSATagger, labeling: Labeling) -> list[tuple[int, int, str]]:
    """The units to annotate: spans, or each token."""
    if tagger.target.has_spans:
        return labeling.spans
    return [(i, i + 1, label) for i, label in enumerate(labeling.tags)]


@psa_cli.command("tag", rich_help_panel=PREDICT)
def tag_cli(
    model: ModelArgument,
    texts: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT...", help="Texts to tag")
    ] = None,
    path: Annotated[
        Path | None, typer.Option("--file", "-f", help="Text file with more texts, one per line")
    ] = None,
    gpu_id: GpuOption = -1,
    code_path: CodeOption = None,
) -> None:
    """
    Tag texts and print a table for each. It has words, parts of speech, entities and other spans.
    """
    with user_errors():
        lines = [replace_undecoded(text) for text in texts or () if text.strip()]
        if path is not None:
            from ..corpora.lines import read_lines

            lines += [line.strip() for _, line in read_lines(path) if line.strip()]
        if not lines:
            raise ValueError(Errors.P140)
        from ..annotation.propositions import FRAMES_KEY

        use_gpu(gpu_id)
        nlp = load_pipeline(model)
        n_predicates = 0
        for doc in nlp.pipe(lines):
            msg.divider(shortened(doc.text, 70))
            show(format_doc(doc))
            n_predicates += len(doc.spans.get(FRAMES_KEY, ()))
        if not n_predicates and "psa_srl" in nlp.pipe_factories.values():
            msg.info(
                "'psa_srl' got no predicates, so there are no roles. In raw text, a component must "
                "find them: set 'predicates' to VerbPredicates or SpanPredicates (docs/srl.md)."
            )


def format_doc(doc: Doc) -> str:
    """Format a document as a table, with one line per token. Empty columns are left out."""
    columns = {
        "TAG": [token.tag_ for token in doc],
        "POS": [token.pos_ for token in doc],
        "MORPH": [str(token.morph) for token in doc],
        "ENTITY": _brackets(doc, doc.ents),
        **{key.upper(): _brackets(doc, group) for key, group in sorted(doc.spans.items())},
    }
    shown = {name: values for name, values in columns.items() if any(values)}
    words = [token.text for token in doc]
    rows = list(zip(words, *shown.values(), strict=True))
    return text_table(rows, ("", *shown))


def _brackets(doc: Doc, spans: Iterable[Span]) -> list[str]:
    """Mark spans in a column: the label at the start, and a bar down to the end."""
    from ..evaluation.comparison import columns
    from ..evaluation.units import Unit

    return columns(sorted({Unit(s.start, s.end, s.label_) for s in spans}), len(doc))
