"""The corpora of the recipes' benchmark, converted, and vectors that spaCy can look up too."""

import random
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import spacy
from spacy.tokens import Doc, DocBin, SpanGroup
from spacy.vocab import Vocab

from spacy_psa.atomic_files import atomic_folder, atomic_path
from spacy_psa.cli.convert import convert
from spacy_psa.cli.vocabulary import make_vectors
from spacy_psa.corpora.problems import Problems

PARTS = ("train", "dev", "test")
CHUNKS = "chunks"
BROWN = "brown"


@dataclass(frozen=True)
class Corpus:
    """A corpus.

    target (str): The target of `psa init-config`.
    form (str): The format of `psa convert`.
    train (str): The file of training sentences, in the folder of corpora.
    dev (Optional[str]): The development set; None to hold out 1,000 training sentences.
    test (str): The test set.
    lang (str): The language.
    universal (bool): Whether the tags are universal parts of speech.
    limit (Optional[int]): The number of sentences to develop and test on; None for all.
    """

    target: str
    form: str
    train: str
    dev: str | None
    test: str
    lang: str = "en"
    universal: bool = False
    limit: int | None = None


def treebank(folder: str, name: str, *, lang: str = "en", universal: bool = False) -> Corpus:
    """RETURNS (Corpus): A treebank of Universal Dependencies 2.2."""
    train, dev, test = (f"{folder}/{name}-ud-{part}.conllu" for part in PARTS)
    return Corpus("tag", "conllu", train, dev, test, lang, universal)


# The most valuable first
CORPORA = {
    "wnut17": Corpus(
        "ents",
        "iob",
        "wnut17/wnut17train.conll",
        "wnut17/emerging.dev.conll",
        "wnut17/emerging.test.annotated",
    ),
    "ncbi": Corpus(
        "ents",
        "iob",
        "ncbi_disease/train.tsv",
        "ncbi_disease/devel.tsv",
        "ncbi_disease/test.tsv",
    ),
    "conll2000": Corpus("spans", "conll2000", "conll2000/train.txt", None, "conll2000/test.txt"),
    "ewt": treebank("ud_en_ewt_2.2", "en_ewt"),
    "fr": treebank("ud_fr_sequoia_2.2", "fr_sequoia", lang="fr", universal=True),
    "cs": treebank("ud_cs_cltt_2.2", "cs_cltt", lang="cs"),
    # 472 tags, for `benchmarks.comparisons`
    BROWN: Corpus(
        "tag",
        "tagged",
        "brown_pos/train.tsv.gz",
        "brown_pos/dev.tsv.gz",
        "brown_pos/test.tsv.gz",
        limit=1000,
    ),
}


def prepare(name: str, corpora: Path, work: Path) -> Path:
    """Convert a corpus, once. What is a chunk is an entity as well, for spaCy's `ner`, and what is
    a universal part of speech a tag, for its `tagger`.

    name (str): The corpus.
    corpora (Path): The folder of corpora in their published formats.
    work (Path): The folder for what is converted.
    RETURNS (Path): A folder with train.spacy, dev.spacy and test.spacy.
    """
    folder = work / name
    if not folder.exists():
        # Or a process that is killed would leave a part of it
        with atomic_folder(folder) as temporary:
            _convert(CORPORA[name], corpora, temporary)
    return folder


def _convert(corpus: Corpus, corpora: Path, folder: Path) -> None:
    for part in PARTS:
        source, target = getattr(corpus, part), folder / f"{part}.spacy"
        if source is not None:
            convert(corpora / source, target, form=corpus.form, problems=Problems(lenient=True))
            docs = [unified(doc, corpus) for doc in read(target)]
            if corpus.limit is not None and part != "train":
                docs = shuffled(docs)[: corpus.limit]
            save(target, docs)
    if corpus.dev is None:
        docs = shuffled(read(folder / "train.spacy"))
        save(folder / "dev.spacy", docs[:1000])
        save(folder / "train.spacy", docs[1000:])


def unified(doc: Doc, corpus: Corpus) -> Doc:
    """RETURNS (Doc): The sentence with its annotation where spaCy's components learn it."""
    if corpus.target == "spans":
        doc.set_ents([*doc.spans.get(CHUNKS, SpanGroup(doc))])
    if corpus.universal:
        for token in doc:
            token.tag_ = token.pos_
    return doc


def subset(folder: Path, size: int | None) -> Path:
    """Choose training sentences at random; a smaller choice is part of each larger one.

    folder (Path): The folder of the corpus.
    size (Optional[int]): The number of sentences; None for all.
    RETURNS (Path): The .spacy file.
    """
    if size is None:
        return folder / "train.spacy"
    path = folder / f"train-{size}.spacy"
    if not path.exists():
        save(path, shuffled(read(folder / "train.spacy"))[:size])
    return path


def cased_vectors(source: Path, corpora: Iterable[Path], work: Path) -> Path:
    """Load vectors of lower-case words, once, and give capitalised, upper-case and other forms of
    a word its vector as well: spaCy looks words up as they are written.

    source (Path): The vectors, in a text format.
    corpora (Iterable[Path]): The folders of corpora, whose forms are added.
    work (Path): The folder for what is converted.
    RETURNS (Path): The folder of the pipeline with the vectors.
    """
    plain, cased = work / "vectors", work / "vectors-cased"
    if cased.exists():
        return cased
    if not plain.exists():
        make_vectors(source, str(plain))
    nlp = spacy.load(plain)
    strings, vectors = nlp.vocab.strings, nlp.vocab.vectors
    words = [strings[key] for key in vectors]
    forms = {form for word in words for form in (word.title(), word.upper())}
    for folder in corpora:
        for part in PARTS:
            forms.update(DocBin().from_disk(folder / f"{part}.spacy").strings)
    for form in sorted(forms):
        row = vectors.find(key=strings.add(form.lower()))
        if row != -1 and strings.add(form) not in vectors:
            vectors.add(strings.add(form), row=int(row))
    with atomic_folder(cased) as temporary:
        nlp.to_disk(temporary)
    return cased


def read(path: Path) -> list[Doc]:
    """RETURNS (List[Doc]): The documents of a .spacy file."""
    return list(DocBin().from_disk(path).get_docs(Vocab()))


def save(path: Path, docs: Iterable[Doc]) -> None:
    """Write documents to a .spacy file, without user data, which takes long to read."""
    with atomic_path(path) as temporary:
        DocBin(docs=docs).to_disk(temporary)


def shuffled(docs: list[Doc]) -> list[Doc]:
    """RETURNS (List[Doc]): The same documents in a random order, always the same."""
    random.Random(0).shuffle(docs)
    return docs
