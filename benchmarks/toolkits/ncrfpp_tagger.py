"""NCRF++'s sequence tagger, trained as in its `main.py` and applied as in `evaluate`.

NCRF++ is not a package. Check out commit ab82b68 of <https://github.com/jiesutd/NCRFpp> (later ones
call the model differently) and put it on `PYTHONPATH`. Since PyTorch requires boolean masks, first
run `sed -i 's/[.]byte()/.bool()/' main.py model/crf.py` in the checkout.
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
from thinc.util import get_torch_default_device

from . import CHARACTER_HIDDEN, CHARACTER_WIDTH, DROPOUT, WORD_WIDTH, ToolkitTagger, bioes


class NCRFppTagger(ToolkitTagger):
    """See `Contender`.

    docs (Sequence[Doc]): The training data.
    vectors (Optional[Path]): A pipeline with pretrained vectors. NCRF++ loads the vectors of the
        words in the training data and fine-tunes them. None to learn word embeddings from scratch.
    hidden (int): The width of the BiLSTM, both directions together.
    """

    def __init__(self, docs: Sequence[Doc], vectors: Path | None, hidden: int) -> None:
        self.main = import_module("main")
        self.normalize = import_module("utils.functions").normalize_word
        self.data = import_module("utils.data").Data()
        self.data.word_emb_dim = WORD_WIDTH
        self.data.char_emb_dim = CHARACTER_WIDTH
        self.data.char_feature_extractor = "LSTM"
        # NCRF++ counts the width of both directions together
        self.data.HP_char_hidden_dim = 2 * CHARACTER_HIDDEN
        self.data.HP_hidden_dim = hidden
        self.data.HP_dropout = DROPOUT
        self.data.HP_gpu = get_torch_default_device().type == "cuda"
        # Lookups extend the alphabets until these are fixed
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
            # `main.py` also counts correct labels and accumulates losses
            self.main.predict_check(found, labels, mask)
            loss.item()
            loss.backward()
            self.optimizer.step()
            self.model.zero_grad()

    def tag(self, sentences: Sequence[Sequence[str]]) -> list[list[str]]:
        """Tag sentences as in `evaluate`, without scoring. As there, gradients are enabled.

        sentences (Sequence[Sequence[str]]): The words of each sentence.
        RETURNS (List[List[str]]): The tags, in BIOES.
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
        # As read from a file, where sentences to tag have tags as well, which are ignored
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
        # The model's input, the labels, the mask, and the indices that restore sentence order
        words, features, lengths, order, *characters, labels, mask = self.main.batchify_with_label(
            instances, self.data.HP_gpu, training
        )
        return [words, features, lengths, *characters], labels, mask, order


def _read_vectors(data: Any, vectors: Path) -> None:
    # NCRF++ reads vectors from a text file with one word per line
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
