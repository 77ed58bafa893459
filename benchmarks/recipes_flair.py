"""Train flair's `SequenceTagger` on a cell of the recipes' benchmark."""

from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any

import torch
from spacy.tokens import Doc, Span

from .recipes_training import Annotate, Training, lower_case

LABEL_TYPE = "label"
CHARACTER_WIDTH = CHARACTER_HIDDEN = 100
# A label, and where it is: at a token, or a span of them
Labeled = tuple[int | slice, str]


def train(training: Training) -> tuple[Annotate, int]:
    """Train flair.

    training (Training): The training.
    RETURNS (Tuple[Callable, int]): What annotates sentences, and the updates of the best epoch.
    """
    data, models = import_module("flair.data"), import_module("flair.models")
    datasets = import_module("flair.datasets")
    import_module("flair").set_seed(training.seed)
    tags = training.tags
    parts = (
        datasets.FlairDatapointDataset([_sentence(data, doc, _labeled(doc, tags)) for doc in docs])
        for docs in (training.train, training.dev)
    )
    corpus = data.Corpus(*parts, sample_missing_splits=False)
    tagger = models.SequenceTagger(
        import_module("flair.embeddings").StackedEmbeddings([*_embeddings(training, corpus)]),
        # Of the development set as well: few sentences do not have all of its labels
        corpus.make_label_dictionary(LABEL_TYPE, add_unk=False, add_dev_test=True),
        LABEL_TYPE,
    )
    trainer = import_module("flair.trainers").ModelTrainer(tagger, corpus)
    # Which ends with its best model after Ctrl+C
    with training.limit:
        # By default, the development set is scored with vectors of characters of the first epoch
        trainer.train(training.folder, embeddings_storage_mode="none")
    best = models.SequenceTagger.load(training.folder / "best-model.pt")
    table = (training.folder / "loss.tsv").read_text(encoding="utf8").splitlines()
    column = table[0].split("\t").index("DEV_F1")
    scores = [float(line.split("\t")[column]) for line in table[1:]]
    epochs = scores.index(max(scores)) + 1

    def annotate(docs: Sequence[Doc]) -> None:
        sentences = [_sentence(data, doc, ()) for doc in docs]
        best.predict(sentences)
        for doc, sentence in zip(docs, sentences, strict=True):
            if tags:
                for token, found in zip(doc, sentence, strict=True):
                    token.tag_ = found.get_label(LABEL_TYPE).value
            else:
                spans = sentence.get_spans(LABEL_TYPE)
                doc.set_ents([Span(doc, s[0].idx - 1, s[-1].idx, s.tag) for s in spans])

    return annotate, epochs * -(-len(training.train) // 32)


def _embeddings(training: Training, corpus: Any) -> Iterator[Any]:
    """YIELDS (TokenEmbeddings): Of characters, and of words, pretrained if there are vectors."""
    embeddings, data = import_module("flair.embeddings"), import_module("flair.data")
    characters = data.Dictionary()
    for character in sorted({character for doc in training.train for character in doc.text}):
        characters.add_item(character)
    yield embeddings.CharacterEmbeddings(
        characters, char_embedding_dim=CHARACTER_WIDTH, hidden_size_char=CHARACTER_HIDDEN
    )
    # Those of words come second: flair joins vectors sorted by name, and a model that is loaded has
    # lost the number in the name of OneHotEmbeddings
    if training.vectors is None:
        yield embeddings.OneHotEmbeddings.from_corpus(corpus)
    else:
        words, rows = zip(*lower_case(training.vectors), strict=True)
        of_words = embeddings.WordEmbeddings(
            None,
            vocab={word: row for row, word in enumerate(words)},
            embedding_length=len(rows[0]),
            name="words",
        )
        of_words.embedding.weight.data[: len(words)] = torch.tensor(rows)
        yield of_words


def _labeled(doc: Doc, tags: bool) -> list[Labeled]:
    if tags:
        return [(token.i, token.tag_) for token in doc]
    return [(slice(span.start, span.end), span.label_) for span in doc.ents]


def _sentence(data: Any, doc: Doc, labeled: Iterable[Labeled]) -> Any:
    sentence = data.Sentence([token.text for token in doc])
    for at, label in labeled:
        sentence[at].add_label(LABEL_TYPE, label)
    return sentence
