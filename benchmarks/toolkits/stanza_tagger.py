"""Stanza's NER tagger, trained as in `ner_tagger` and applied as in `NERProcessor`."""

import logging
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import spacy
import torch
from spacy.tokens import Doc
from thinc.util import get_torch_default_device, to_numpy

from . import CHARACTER_HIDDEN, CHARACTER_WIDTH, DROPOUT, WORD_WIDTH, ToolkitTagger, bioes

# Batch size of stanza's pipeline
BATCH = 32


class StanzaTagger(ToolkitTagger):
    """See `Contender`.

    docs (Sequence[Doc]): The training data.
    vectors (Optional[Path]): A pipeline with pretrained vectors.
    hidden (int): The width of the BiLSTM, both directions together.
    """

    def __init__(self, docs: Sequence[Doc], vectors: Path | None, hidden: int) -> None:
        logging.getLogger("stanza").setLevel(logging.WARNING)
        self.loader = import_module("stanza.models.ner.data").DataLoader
        self.document = import_module("stanza.models.common.doc").Document
        parser = import_module("stanza.models.ner_tagger").build_argparse()
        self.options = vars(parser.parse_args([]))
        self.options.update(
            hidden_dim=hidden // 2,
            char_emb_dim=CHARACTER_WIDTH,
            char_hidden_dim=CHARACTER_HIDDEN,
            word_emb_dim=WORD_WIDTH,
            dropout=DROPOUT,
            input_transform=False,
            shorthand="en_chunks",
            batch_size=BATCH,
            use_peft=False,
        )
        self.docs = docs
        pretrain = _pretrained(vectors) if vectors is not None else None
        if pretrain is not None:
            self.options["word_emb_dim"] = pretrain.emb.shape[1]
        self.pretrain = pretrain
        self.vocab = self._load(docs, BATCH, vocab=None).vocab
        trainer = import_module("stanza.models.ner.trainer").Trainer
        device = get_torch_default_device()
        self.trainer = trainer(self.options, self.vocab, pretrain, device=device)
        self._batches: dict[tuple[int, int], Any] = {}

    def train(self, batch_size: int, limit: int) -> None:
        """Train on the first `limit` sentences."""
        key = batch_size, limit
        if key not in self._batches:
            # Built once, in the warm-up run, since stanza's training also builds batches once
            self._batches[key] = self._load(self.docs[:limit], batch_size, self.vocab)
        batches = self._batches[key]
        for number in range(len(batches)):
            self.trainer.update(batches[number])

    def tag(self, sentences: Sequence[Sequence[str]]) -> Any:
        """Tag sentences as in `NERProcessor.process`.

        sentences (Sequence[Sequence[str]]): The words of each sentence.
        RETURNS (stanza.Document): The document, with `ents`.
        """
        document = self._make_document(sentences)
        loader = self.loader(
            document, BATCH, self.options, vocab=self.vocab, evaluation=True, preprocess_tags=False
        )
        with torch.no_grad():
            tags = [tags for batch in loader for tags in self.trainer.predict(batch)]
        document.set(["ner"], [tag for sentence in tags for tag in sentence], to_token=True)
        document.build_ents()
        return document

    def _load(self, docs: Sequence[Doc], batch_size: int, vocab: Any) -> Any:
        document = self._make_document(
            ([token.text for token in doc] for doc in docs), [bioes(doc) for doc in docs]
        )
        return self.loader(
            document,
            batch_size,
            self.options,
            pretrain=self.pretrain,
            vocab=vocab,
            preprocess_tags=False,
        )

    def _make_document(
        self, sentences: Iterable[Sequence[str]], tags: Sequence[Sequence[str]] | None = None
    ) -> Any:
        document = []
        for number, words in enumerate(sentences):
            tokens: list[dict[str, Any]] = [
                {"id": place, "text": word} for place, word in enumerate(words, start=1)
            ]
            if tags is not None:
                for token, tag in zip(tokens, tags[number], strict=True):
                    token["ner"] = tag
            document.append(tokens)
        return self.document(document)


def _pretrained(vectors: Path) -> SimpleNamespace:
    # As stanza reads it from a file: words, and a row for each word and each special symbol
    pretrain = import_module("stanza.models.common.pretrain")
    found = spacy.load(vectors).vocab
    words = [found.strings[key] for key in found.vectors]
    vocab = pretrain.PretrainedWordVocab(words, lower=True)
    table = np.zeros((len(vocab), found.vectors_length), dtype=np.float32)
    table[len(vocab) - len(words) :] = [to_numpy(found.vectors[word]) for word in words]
    return SimpleNamespace(vocab=vocab, emb=table)


def make(docs: Sequence[Doc], vectors: Path | None, hidden: int) -> StanzaTagger:
    """RETURNS (StanzaTagger): See `toolkits.make_toolkit`."""
    return StanzaTagger(docs, vectors, hidden)
