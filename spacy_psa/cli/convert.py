"""`spacy psa convert`: from published column formats to spaCy's binary format."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from wasabi import msg

from ._util import atomic_path, check_docbin_name, psa_cli, user_errors

if TYPE_CHECKING:
    from ..corpora.sentence import Sentence


@psa_cli.command("convert")
def convert_cli(
    input_path: Annotated[Path, typer.Argument(metavar="INPUT", help="Column file, plain or .gz")],
    output_path: Annotated[Path, typer.Argument(metavar="OUTPUT", help="The .spacy file to write")],
    form: Annotated[
        str,
        typer.Option(
            "--format",
            "-f",
            help="conll2000 or conll2003; by default told by the number of columns",
        ),
    ] = "",
    n_sents: Annotated[
        int,
        typer.Option(
            "--n-sents", "-n", help="Sentences in a Doc; 0 for one Doc of each document (conll2003)"
        ),
    ] = 1,
    chunks_key: Annotated[
        str, typer.Option("--chunks-key", "-k", help="Key of the chunks in doc.spans")
    ] = "chunks",
    stats_path: Annotated[
        Path | None, typer.Option("--stats", "-s", help="JSON file to write the counts to")
    ] = None,
) -> None:
    """
    Convert a CoNLL column file to a DocBin (.spacy).

    Parts of speech become token.tag_, chunks become spans in doc.spans, named entities become
    doc.ents. If anything is wrong with the input, an earlier output stays as it was.
    """
    with user_errors():
        stats = convert(
            input_path,
            output_path,
            form=form or None,
            n_sents=n_sents,
            chunks_key=chunks_key,
            stats_path=stats_path,
        )
    msg.table(stats.rows(), header=("", "Number", "Labels"), divider=True, aligns=("l", "r", "l"))
    msg.good(f"Wrote {stats.docs} Docs to {output_path}")


@dataclass
class CorpusStats:
    """What a corpus has.

    docs (int): The number of Docs made.
    documents (int): The number of documents, where the format marks them.
    sentences (int): The number of sentences.
    tokens (int): The number of tokens.
    longest_sentence (int): The number of tokens in the longest sentence.
    labels (Dict[str, Counter[str]]): How often each label occurs, in each annotated layer.
    """

    docs: int = 0
    documents: int = 0
    sentences: int = 0
    tokens: int = 0
    longest_sentence: int = 0
    labels: dict[str, Counter[str]] = field(default_factory=dict)

    def count(self, sentences: "Iterable[Sentence]") -> "Iterator[Sentence]":
        """Count sentences as they pass.

        sentences (Iterable[Sentence]): The sentences.
        YIELDS (Sentence): The same sentences.
        """
        for sentence in sentences:
            self.documents += sentence.starts_document
            self.sentences += 1
            self.tokens += len(sentence.words)
            self.longest_sentence = max(self.longest_sentence, len(sentence.words))
            for layer in ("tags", "chunks", "ents"):
                annotated = getattr(sentence, layer)
                if annotated is not None:
                    names = annotated if layer == "tags" else [label for _, _, label in annotated]
                    self.labels.setdefault(layer, Counter()).update(names)
            yield sentence

    def rows(self) -> list[tuple[str, str, str]]:
        """RETURNS (List[Tuple[str, str, str]]): The rows of a table: what, number, labels."""
        numbers = [
            ("documents", self.documents),
            ("sentences", self.sentences),
            ("tokens", self.tokens),
            ("longest sentence", self.longest_sentence),
        ]
        rows = [(name, f"{n:,}", "") for name, n in numbers if n or name != "documents"]
        for layer, counts in self.labels.items():
            names = ", ".join(label for label, _ in counts.most_common(12))
            more = ", …" if len(counts) > 12 else ""
            rows.append((layer, f"{counts.total():,}", f"{len(counts)}: {names}{more}"))
        return rows

    def to_dict(self) -> dict[str, Any]:
        """RETURNS (Dict[str, Any]): All numbers, ready for JSON."""
        numbers = {key: value for key, value in vars(self).items() if key != "labels"}
        return {
            **numbers,
            "labels": {layer: dict(n.most_common()) for layer, n in self.labels.items()},
        }


def convert(
    input_path: Path,
    output_path: Path,
    *,
    form: str | None = None,
    n_sents: int = 1,
    chunks_key: str = "chunks",
    stats_path: Path | None = None,
) -> CorpusStats:
    """Convert a column file to a DocBin. The outputs are written whole or not at all.

    input_path (Path): The column file, plain or compressed by gzip.
    output_path (Path): The .spacy file.
    form (Optional[str]): The name of the format; None to tell it by the number of columns.
    n_sents (int): The number of sentences in a Doc; 0 for whole documents.
    chunks_key (str): The key of the chunks in `doc.spans`.
    stats_path (Optional[Path]): A JSON file for the counts.
    RETURNS (CorpusStats): The counts.
    RAISES (ValueError): If the input is not in the format, or if an option does not suit.
    """
    import srsly
    from spacy.tokens import DocBin
    from spacy.vocab import Vocab
    from tqdm import tqdm

    from ..corpora.docs import make_docs
    from ..corpora.readers import check_n_sents, detect_format, get_format

    check_docbin_name(output_path)
    corpus_format = get_format(form or detect_format(input_path))
    check_n_sents(n_sents, corpus_format)
    stats = CorpusStats()
    sentences = tqdm(corpus_format.read(input_path), unit=" sentences", disable=None)
    counted = stats.count(sentences)
    doc_bin = DocBin(docs=make_docs(Vocab(), counted, n_sents=n_sents, chunks_key=chunks_key))
    stats.docs = len(doc_bin)
    with atomic_path(output_path) as temporary:
        doc_bin.to_disk(temporary)
    if stats_path is not None:
        with atomic_path(stats_path) as temporary:
            srsly.write_json(temporary, stats.to_dict())
    return stats
