"""`spacy psa convert`: convert published formats to spaCy's binary format."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..corpora.lines import keep_pipes
from ..terminal import ProgressBar, msg, show, text_table
from ._docbins import check_docbin_name
from ._names import current_target
from ._options import ChunksKeyOption
from ._outputs import check_files, show_command
from ._util import DATA, atomic_path, psa_cli, user_errors

if TYPE_CHECKING:
    from ..corpora.formats import Format
    from ..corpora.problems import Problems
    from ..corpora.sentence import Sentence
    from ..corpora.stats import CorpusStats


# Problems in the data that one run names
SHOWN = 10
# What is learned from a layer; a file may have several, of which the last ones help with others
TARGETS = {"ents": "ents", "chunks": "spans", "tags": "tag", "pos": "pos", "morphs": "morph"}


@psa_cli.command("convert", rich_help_panel=DATA)
def convert_cli(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="INPUT... OUTPUT",
            help="Files, plain or .gz, or folders; then the .spacy file to write, or a folder for "
            "several",
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", help="The same as OUTPUT, which it replaces")
    ] = None,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            "-f",
            help="conll2000, conll2002, conll2003, iob, tagged, conllu, ptb, ontonotes, ccgbank, "
            "conll2005, conll2012 or offsets; by default inferred from file names or content",
        ),
    ] = "",
    targets: Annotated[
        list[str] | None,
        typer.Option(
            "--target",
            "-t",
            help="What to keep: tag, pos, morph, lemma, ents, spans, roles, speakers; repeatable; "
            "by default everything in the format",
        ),
    ] = None,
    n_sents: Annotated[
        int,
        typer.Option(
            "--n-sents", "-n", help="Sentences per Doc; 0 for one Doc per document, if marked"
        ),
    ] = 1,
    chunks_key: ChunksKeyOption = "chunks",
    options: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            "-o",
            "-O",
            help="Option of the format, e.g. tag_column=1; repeatable",
        ),
    ] = None,
    merge: Annotated[
        bool, typer.Option("--merge", "-m", help="Convert all inputs into one output")
    ] = False,
    lenient: Annotated[
        bool,
        typer.Option(
            "--lenient", "-l", help="Count problems in the data and continue, if no words are lost"
        ),
    ] = False,
    strict: Annotated[
        bool,
        typer.Option("--strict", "-S", help="Refuse span tags that do not fit their scheme"),
    ] = False,
    stats_path: Annotated[
        Path | None, typer.Option("--stats", "-s", help="JSON file to save the counts to")
    ] = None,
) -> None:
    """
    Convert corpora, or annotation tools' exports, to .spacy.

    Parts of speech become token.tag_ or token.pos_, chunks become spans in doc.spans, named
    entities become doc.ents, and predicates with their arguments become groups in doc.spans. Tags
    that do not fit the scheme of the others are read as conlleval reads them, and counted. If an
    input is invalid, existing outputs are left unchanged.
    """
    from ..corpora.problems import Problems, remedies_once

    problems = Problems(lenient, strict, patience=SHOWN)
    if output is None and len(paths) < 2:
        raise typer.BadParameter("give it last, or with --output", param_hint="OUTPUT")
    *input_paths, output_path = paths if output is None else [*paths, output]
    with user_errors(), _showing(problems):
        stats = convert(
            input_paths,
            output_path,
            form=form or None,
            targets=[current_target(name) for name in targets or ()],
            n_sents=n_sents,
            chunks_key=chunks_key,
            options=options or (),
            merge=merge,
            problems=problems,
            stats_path=stats_path,
            show=msg.info,
        )
    show(text_table(stats.rows(), ("", "Number", "Labels"), ("l", "r", "l")))
    for what, n in (problems.found + problems.notes).items():
        msg.info(f"{what}: {n:,}")
    for example in remedies_once(problems.examples):
        msg.warn(example)
    if problems.total:
        counts = ", ".join(f"{code}: {n:,}" for code, n in problems.counts.most_common())
        noun = "problem" if problems.total == 1 else "problems"
        msg.warn(f"{problems.total:,} {noun} in total ({counts})")
    if stats.labels and not any(stats.labels.values()):
        layers = ", ".join(stats.labels)
        msg.warn(f"No label was found ({layers}): nothing can be learned from these Docs alone")
    msg.good(f"Wrote {stats.docs:,} Docs to {output_path}")
    _show_next(stats, output_path)


def _show_next(stats: "CorpusStats", output: Path) -> None:
    """Show how to go on with training data: there are many targets for the rest."""
    written = [output] if output.is_file() else sorted(output.rglob("*.spacy"))
    corpus = next((path for path in written if "train" in path.stem), None)
    target = next((target for layer, target in TARGETS.items() if stats.labels.get(layer)), None)
    if corpus is not None and target is not None:
        options = ["--system", "psa", "--target", target, "--corpus", corpus]
        show_command("psa", "init-config", f"{target}.cfg", *options)


@contextmanager
def _showing(problems: "Problems") -> Iterator[None]:
    """Before an error, show the problems found until then."""
    from ..corpora.problems import remedies_once

    try:
        yield
    except ValueError as error:
        if len(problems.examples) >= SHOWN:
            msg.info(f"The first {SHOWN} problems (--lenient counts all):")
        others = [example for example in problems.examples if example != str(error)]
        for example in remedies_once([*others, str(error)])[:-1]:
            msg.fail(example)
        raise


@keep_pipes()
def convert(
    input_paths: Path | Sequence[Path],
    output_path: Path,
    *,
    form: str | None = None,
    targets: Sequence[str] = (),
    n_sents: int = 1,
    chunks_key: str = "chunks",
    options: Sequence[str] = (),
    merge: bool = False,
    problems: "Problems | None" = None,
    stats_path: Path | None = None,
    show: Callable[[str], object] | None = None,
) -> "CorpusStats":
    """Convert files to DocBins. All outputs are written, or none."""
    from ..corpora.corpus import check_n_sents
    from ..corpora.docbins import make_doc_bin
    from ..corpora.docs import group_sentences
    from ..corpora.formats import check_targets, parse_options, target_layers
    from ..corpora.iob import LAYERS as SPAN_LAYERS
    from ..corpora.problems import Problems
    from ..corpora.stats import CorpusStats
    from ._inputs import check_alike, find_format, note_repeated, note_unread_inputs, plan

    inputs = [input_paths] if isinstance(input_paths, Path) else list(input_paths)
    problems = problems or Problems()
    if output_path.suffix and not output_path.is_dir():
        check_docbin_name(output_path)
    detected = find_format(inputs, form, targets)
    if show and detected.found:
        show(detected.found)
    corpus_format = detected.form
    layers = target_layers(targets, corpus_format)
    values = {**detected.options, **parse_options(options, corpus_format)}
    layer = next((name for name in layers if name in SPAN_LAYERS), None)
    if targets and layer and "layer" in corpus_format.options and "pos_column" not in values:
        # The format has one column of tags, whose meaning is given by the target.
        values.setdefault("layer", layer)
    check_n_sents(n_sents, corpus_format)
    total = CorpusStats()
    conversions = plan(inputs, output_path, corpus_format, merge=merge)
    read = [path for conversion in conversions for path in conversion.inputs]
    if not form and not corpus_format.endings:
        check_alike(detected, read, targets)
    note_unread_inputs(inputs, conversions, corpus_format, problems)
    note_repeated(read, problems)
    written = [conversion.output for conversion in conversions]
    check_files([*written, stats_path], read)
    with ExitStack() as outputs:
        for conversion in conversions:
            stats = CorpusStats()
            sentences = stats.count(
                sentence.only(layers)
                for sentence in _read(conversion.inputs, corpus_format, problems, values)
            )
            inputs_name = ", ".join(map(str, conversion.inputs[:3]))
            groups = group_sentences(sentences, n_sents=n_sents, path=inputs_name)
            doc_bin = make_doc_bin(groups, chunks_key=chunks_key)
            if problems.total and not problems.lenient:
                continue  # to show the problems of the other files as well
            check_targets(targets, stats, inputs_name)
            doc_bin.to_disk(outputs.enter_context(atomic_path(conversion.output)))
            stats.docs = len(doc_bin)
            total += stats
        problems.check()
    if stats_path is not None:
        data = total.to_dict()
        if problems.lenient:
            data["problems"] = {"counts": dict(problems.counts), "examples": problems.examples}
        if problems.notes:
            data["notes"] = dict(problems.notes)
        # Not by srsly, which crashes at names of files that are not UTF-8
        text = json.dumps(data, indent=2, ensure_ascii=False)
        with atomic_path(stats_path) as temporary:
            temporary.write_text(text + "\n", encoding="utf8", errors="replace")
    return total


def _read(
    inputs: Sequence[Path], form: "Format", problems: "Problems", options: dict[str, Any]
) -> "Iterator[Sentence]":
    """The sentences of the files. If there are several, each starts a document."""
    with ProgressBar(unit=" sentences", disable=None) as progress:
        for path in inputs:
            is_first = len(inputs) > 1
            progress.set_postfix_str(path.name)
            for sentence in form.read(path, problems=problems, **options):
                progress.update()
                yield replace(sentence, starts_document=True) if is_first else sentence
                is_first = False
