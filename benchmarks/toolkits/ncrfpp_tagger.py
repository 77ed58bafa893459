"""The sequence tagger of NCRF++, as its `main.py` trains it and its `evaluate` uses it.

It is no package: its checkout, <https://github.com/jiesutd/NCRFpp> at commit ab82b68 (later ones
call their model otherwise), has to be on `PYTHONPATH`. PyTorch has come to take masks of bool only,
so in the checkout `sed -i 's/[.]byte()/.bool()/' main.py model/crf.py` is needed first.
"""

from collections.abc import Sequence
from contextlib import redirect_stdout
from importlib import import_module
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import spacy
import torch
from spacy.tokens import Doc
from spacy.util import minibatch

from . import CHARACTER_HIDDEN, CHARACTER_WIDTH, DROPOUT, WORD_WIDTH, ToolkitTagger, bioes


class NCRFppTagger(ToolkitTagger):
    """See `Contender`.

    docs (Sequence[Doc]): What it is trained on.
    vectors (Optional[Path]): Folder of a pipeline with vectors. NCRF++ takes those of the words
        that it is trained on, and trains them further; without, words are learnt.
    hidden (int): Width of the BiLSTM, both directions together.
    """

    def __init__(self, docs: Sequence[Doc], vectors: Path | None, hidden: int) -> None:
        self.main = import_module("main")
        self.normalize = import_module("utils.functions").normalize_word
        self.data = import_module("utils.data").Data()
        self.data.word_emb_dim = WORD_WIDTH
        self.data.char_emb_dim = CHARACTER_WIDTH
        self.data.char_feature_extractor = "LSTM"
        # Its widths are of both directions together
        self.data.HP_char_hidden_dim = 2 * CHARACTER_HIDDEN
        self.data.HP_hidden_dim = hidden
        self.data.HP_dropout = DROPOUT
        self.data.HP_gpu = torch.get_default_device().type == "cuda"
        # Its alphabets grow by what is looked up, until they are fixed
        self.instances = [self._instance([token.text for token in doc], bioes(doc)) for doc in docs]
        self.data.fix_alphabet()
        self.data.label_alphabet_size = self.data.label_alphabet.size()
        with redirect_stdout(StringIO()):
            if vectors is not None:
                _read_vectors(self.data, vectors)
            self.model = import_module("model.seqlabel").SeqLabel(self.data)
        self.optimizer = torch.optim.SGD(
            self.model.parameters(),
            lr=self.data.HP_lr,
            momentum=self.data.HP_momentum,
            weight_decay=self.data.HP_l2,
        )

    def train(self, batch_size: int, limit: int) -> None:
        """Train on the first `limit` sentences."""
        self.model.train()
        for instances in minibatch(self.instances[:limit], batch_size):
            inputs, labels, mask, _ = self._batch(instances, training=True)
            loss, found = self.model.calculate_loss(*inputs, labels, mask)
            # It counts what is right, and adds up losses
            self.main.predict_check(found, labels, mask)
            loss.item()
            loss.backward()
            self.optimizer.step()
            self.model.zero_grad()

    def tag(self, sentences: Sequence[Sequence[str]]) -> list[list[str]]:
        """Do what `evaluate` does, but for the score. So gradients are prepared, as there.

        sentences (Sequence[Sequence[str]]): Words.
        RETURNS (List[List[str]]): Tags, in BIOES.
        """
        self.model.eval()
        made = [self._instance(words) for words in sentences]
        tags: list[list[str]] = []
        for instances in minibatch(made, self.data.HP_batch_size):
            inputs, labels, mask, order = self._batch(instances, training=False)
            found = self.model(*inputs, mask)
            tags += self.main.recover_label(found, labels, mask, self.data.label_alphabet, order)[0]
        return tags

    def _instance(self, words: Sequence[str], tags: Sequence[str] | None = None) -> list[list[Any]]:
        # What it reads of a file: there, sentences to tag have tags too, which do not matter
        data, texts = self.data, [self.normalize(word) for word in words]
        return [
            [data.word_alphabet.get_index(text) for text in texts],
            [[] for _ in texts],  # no features
            [[data.char_alphabet.get_index(character) for character in text] for text in texts],
            [data.label_alphabet.get_index(tag) for tag in tags] if tags else [0] * len(texts),
        ]

    def _batch(
        self, instances: list[list[list[Any]]], *, training: bool
    ) -> tuple[list[Any], Any, Any, Any]:
        # What the model reads, and the labels, the mask, and the order of sentences to go back to
        words, features, lengths, order, *characters, labels, mask = self.main.batchify_with_label(
            instances, self.data.HP_gpu, training
        )
        return [words, features, lengths, *characters], labels, mask, order


def _read_vectors(data: Any, vectors: Path) -> None:
    # It reads vectors from a file of text, with a word in each line
    known = spacy.load(vectors).vocab
    words = {form for word in data.word_alphabet.instances for form in (word, word.lower())}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "vectors.txt"
        with path.open("w", encoding="utf8") as file:
            for word in sorted(words):
                if known.has_vector(word):
                    print(word, *known.get_vector(word).tolist(), file=file)
        data.word_emb_dir = str(path)
        data.build_pretrain_emb()


def make(docs: Sequence[Doc], vectors: Path | None, hidden: int) -> NCRFppTagger:
    """RETURNS (NCRFppTagger): See `toolkits.make_toolkit`."""
    return NCRFppTagger(docs, vectors, hidden)
