"""Flair's sequence tagger, trained as in `ModelTrainer` and applied as in `predict`."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import spacy
import torch
from spacy.tokens import Doc
from spacy.util import minibatch

from . import CHARACTER_HIDDEN, CHARACTER_WIDTH, DROPOUT, WORD_WIDTH, ToolkitTagger

TYPE = "chunk"
# Flair's defaults: learning rate and gradient norm of `ModelTrainer`, batch size of `predict`
RATE, MAX_NORM, BATCH = 0.1, 5.0, 32


class FlairTagger(ToolkitTagger):
    """See `Contender`.

    docs (Sequence[Doc]): The training data.
    vectors (Optional[Path]): A pipeline with pretrained vectors, which flair does not update; None
        to learn word embeddings from scratch.
    hidden (int): The width of the BiLSTM, both directions together.
    """

    def __init__(self, docs: Sequence[Doc], vectors: Path | None, hidden: int) -> None:
        data, embeddings = import_module("flair.data"), import_module("flair.embeddings")
        self.store = import_module("flair.training_utils").store_embeddings
        self.make_sentence = data.Sentence
        characters, tags = data.Dictionary(), data.Dictionary(add_unk=False)
        # Flair converts spans to BIOES tags itself
        tags.span_labels = True
        self.sentences = []
        for doc in docs:
            sentence = data.Sentence([token.text for token in doc])
            for span in doc.ents:
                sentence[span.start : span.end].add_label(TYPE, span.label_)
                tags.add_item(span.label_)
            for character in doc.text:
                characters.add_item(character)
            self.sentences.append(sentence)
        known = None if vectors is None else spacy.load(vectors).vocab
        if known is None:
            words = sorted({token.text for doc in docs for token in doc})
            table = None
        else:
            words = [known.strings[key] for key in known.vectors]
            table = torch.tensor([known.vectors[word].tolist() for word in words])
        # Flair 0.15 keeps embeddings on the CPU if they are not trained
        of_words = embeddings.WordEmbeddings(
            None,
            vocab={word: row for row, word in enumerate(words)},
            embedding_length=WORD_WIDTH if table is None else table.shape[1],
            fine_tune=table is None,
            force_cpu=table is not None,
            name="words",
        )
        if table is not None:
            of_words.embedding.weight.data[: len(words)] = table
        of_characters = embeddings.CharacterEmbeddings(
            characters, char_embedding_dim=CHARACTER_WIDTH, hidden_size_char=CHARACTER_HIDDEN
        )
        self.tagger = import_module("flair.models").SequenceTagger(
            embeddings.StackedEmbeddings([of_words, of_characters]),
            tags,
            TYPE,
            hidden_size=hidden // 2,
            reproject_embeddings=False,
            dropout=DROPOUT,
            word_dropout=0.0,
            locked_dropout=0.0,
        )
        self.optimizer = torch.optim.SGD(self.tagger.parameters(), lr=RATE)

    def train(self, batch_size: int, limit: int) -> None:
        """Train on the first `limit` sentences."""
        self.tagger.train()
        for batch in minibatch(self.sentences[:limit], batch_size):
            self.optimizer.zero_grad()
            loss, _ = self.tagger.forward_loss(batch)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.tagger.parameters(), MAX_NORM)
            self.optimizer.step()
            self.store(batch, "none")

    def tag(self, sentences: Sequence[Sequence[str]]) -> list[Any]:
        """Tag sentences as a user of flair does.

        sentences (Sequence[Sequence[str]]): The words of each sentence.
        RETURNS (List[flair.data.Sentence]): The sentences with spans of `TYPE`.
        """
        self.tagger.eval()
        made = [self.make_sentence(words) for words in sentences]
        self.tagger.predict(made, mini_batch_size=BATCH)
        return made


def make(docs: Sequence[Doc], vectors: Path | None, hidden: int) -> FlairTagger:
    """RETURNS (FlairTagger): See `toolkits.make_toolkit`."""
    return FlairTagger(docs, vectors, hidden)
