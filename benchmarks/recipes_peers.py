"""Train stanza's or flair's tagger of entities on a cell of the recipes' benchmark.

Each is trained by its own training script, with its own defaults, until it stops by itself, on the
same sentences and vectors as the other systems (`pip install --group peers`). The pretrained
language models of characters that both can use in addition are left out, as for all systems; flair
reads characters by a BiLSTM instead, of the size of stanza's.
"""

import json
import logging
import signal
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import spacy
import torch
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.training.iob_utils import doc_to_biluo_tags
from thinc.util import to_numpy

# Adds entities to Docs
Annotate = Callable[[Sequence[Doc]], None]
LABEL_TYPE = "ner"
CHARACTER_WIDTH = CHARACTER_HIDDEN = 100


class Limit:
    """A context that ends when time is up, as Ctrl+C ends it, without an error.

    processor (float): The seconds of processor time.
    wall (float): The seconds.
    """

    def __init__(self, processor: float, wall: float) -> None:
        self.seconds = {
            signal.SIGPROF: (signal.ITIMER_PROF, processor),
            signal.SIGALRM: (signal.ITIMER_REAL, wall),
        }
        # What was up, if anything
        self.caught: int | None = None

    def __enter__(self) -> None:
        for number, (timer, seconds) in self.seconds.items():
            signal.signal(number, self._interrupt)
            signal.setitimer(timer, max(seconds, 1e-6))

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        for number, (timer, _seconds) in self.seconds.items():
            signal.setitimer(timer, 0.0)
            signal.signal(number, signal.SIG_DFL)
        return kind is KeyboardInterrupt and self.caught is not None

    def _interrupt(self, number: int, _: object) -> None:
        self.caught = self.caught or number
        raise KeyboardInterrupt


def predicted(annotate: Annotate, docs: Sequence[Doc]) -> list[Example]:
    """RETURNS (List[Example]): Sentences as annotated by a toolkit, and as they are."""
    blank = [Doc(doc.vocab, words=[token.text for token in doc]) for doc in docs]
    annotate(blank)
    return [Example(*pair) for pair in zip(blank, docs, strict=True)]


def _stanza(
    train: Sequence[Doc],
    dev: Sequence[Doc],
    vectors: Path,
    seed: int,
    folder: Path,
    limit: Limit,
) -> tuple[Annotate, int]:
    tagger = import_module("stanza.models.ner_tagger")
    document = import_module("stanza.models.common.doc").Document
    loader = import_module("stanza.models.ner.data").DataLoader
    decode = import_module("stanza.models.ner.utils").decode_from_bioes
    for part, docs in (("train", train), ("dev", dev)):
        sentences = [_stanza_sentence(doc, _bioes(doc)) for doc in docs]
        (folder / f"{part}.json").write_text(json.dumps(sentences), encoding="utf8")
    with (folder / "vectors.txt").open("w", encoding="utf8") as file:
        for word, vector in _lower_case(vectors):
            print(word, *vector, file=file)
    options = {
        "train_file": folder / "train.json",
        "eval_file": folder / "dev.json",
        "wordvec_file": folder / "vectors.txt",
        "shorthand": "en_peer",
        "save_dir": folder,
        "save_name": "model.pt",
        "seed": seed,
    }
    counted = _StanzaSteps()
    given = [text for name, value in options.items() for text in (f"--{name}", str(value))]
    given.append("--cpu")
    with limit:
        tagger.main(given)
    if not (folder / "model.pt").exists():
        raise SystemExit("stanza had no time for its first evaluation, after 500 updates.")
    arguments = tagger.parse_args(given)
    settings, trainer, vocab = tagger.load_model(arguments, str(folder / "model.pt"))

    def annotate(docs: Sequence[Doc]) -> None:
        unknown = document([_stanza_sentence(doc, ["O"] * len(doc)) for doc in docs])
        batches = loader(unknown, settings["batch_size"], settings, vocab=vocab, evaluation=True)
        tags = [tags for batch in batches for tags in trainer.predict(batch)]
        for doc, found in zip(docs, tags, strict=True):
            spans = [(span["start"], span["end"] + 1, span["type"]) for span in decode(found)]
            doc.set_ents([Span(doc, *span) for span in spans])

    return annotate, counted.steps


class _StanzaSteps(logging.Handler):
    """Reads from stanza's log after how many updates its best model was there."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = self.last = 0
        logging.getLogger("stanza").addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if text.startswith("step "):
            self.last = int(text.split()[1].rstrip(":"))
        elif text.startswith("New best model"):
            self.steps = self.last


def _stanza_sentence(doc: Doc, tags: Iterable[str]) -> list[dict[str, str]]:
    return [{"text": token.text, "ner": tag} for token, tag in zip(doc, tags, strict=True)]


def _flair(
    train: Sequence[Doc],
    dev: Sequence[Doc],
    vectors: Path,
    seed: int,
    folder: Path,
    limit: Limit,
) -> tuple[Annotate, int]:
    data = import_module("flair.data")
    embeddings, models = import_module("flair.embeddings"), import_module("flair.models")
    datasets = import_module("flair.datasets")
    import_module("flair").set_seed(seed)
    parts = [[_flair_sentence(data, doc, doc.ents) for doc in docs] for docs in (train, dev)]
    corpus = data.Corpus(
        train=datasets.FlairDatapointDataset(parts[0]),
        dev=datasets.FlairDatapointDataset(parts[1]),
        sample_missing_splits=False,
    )
    words, rows = zip(*_lower_case(vectors), strict=True)
    of_words = embeddings.WordEmbeddings(
        None,
        vocab={word: row for row, word in enumerate(words)},
        embedding_length=len(rows[0]),
        name="words",
    )
    of_words.embedding.weight.data[: len(words)] = torch.tensor(rows)
    characters = data.Dictionary()
    for character in sorted({character for doc in train for character in doc.text}):
        characters.add_item(character)
    of_characters = embeddings.CharacterEmbeddings(
        characters, char_embedding_dim=CHARACTER_WIDTH, hidden_size_char=CHARACTER_HIDDEN
    )
    tagger = models.SequenceTagger(
        embeddings.StackedEmbeddings([of_words, of_characters]),
        corpus.make_label_dictionary(LABEL_TYPE, add_unk=False),
        LABEL_TYPE,
    )
    # Which ends with its best model after Ctrl+C
    with limit:
        import_module("flair.trainers").ModelTrainer(tagger, corpus).train(folder)
    best = models.SequenceTagger.load(folder / "best-model.pt")
    table = (folder / "loss.tsv").read_text(encoding="utf8").splitlines()
    column = table[0].split("\t").index("DEV_F1")
    scores = [float(line.split("\t")[column]) for line in table[1:]]
    epochs = scores.index(max(scores)) + 1

    def annotate(docs: Sequence[Doc]) -> None:
        sentences = [_flair_sentence(data, doc, ()) for doc in docs]
        best.predict(sentences)
        for doc, sentence in zip(docs, sentences, strict=True):
            spans = sentence.get_spans(LABEL_TYPE)
            doc.set_ents([Span(doc, s[0].idx - 1, s[-1].idx, s.tag) for s in spans])

    return annotate, epochs * -(-len(train) // 32)


def _flair_sentence(data: Any, doc: Doc, spans: Iterable[Span]) -> Any:
    sentence = data.Sentence([token.text for token in doc])
    for span in spans:
        sentence[span.start : span.end].add_label(LABEL_TYPE, span.label_)
    return sentence


def _bioes(doc: Doc) -> list[str]:
    letters = {"L": "E", "U": "S"}
    return [letters.get(tag[0], tag[0]) + tag[1:] for tag in doc_to_biluo_tags(doc)]


def _lower_case(vectors: Path) -> list[tuple[str, list[float]]]:
    """The words in lower case of a pipeline's vectors: both toolkits look them up without case."""
    vocab = spacy.load(vectors).vocab
    words = (vocab.strings[key] for key in vocab.vectors)
    return [
        (word, to_numpy(vocab.vectors[word]).tolist())
        for word in words
        if word == word.lower() and not any(character.isspace() for character in word)
    ]


# What trains each toolkit. Given are training sentences with entities, those that it chooses its
# best epoch by, a pipeline with vectors, the seed, a folder for its files, and when to end with the
# best model so far; returned are what annotates sentences, and the number of updates.
PEERS = {"stanza": _stanza, "flair": _flair}
