"""Pipelines to benchmark, and their training and tagging."""

from collections.abc import Callable, Iterator, Sequence
from itertools import cycle, islice
from typing import Any, Protocol

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import load_model_from_config, minibatch, registry
from thinc.api import Config

from spacy_psa.cli._configs import make_config

from .systems import only_words

# Systems whose BiLSTM width can be changed for comparisons
OF_ANY_WIDTH = ("bilstm-crf", "bilstm-softmax", "psa")
TAGGED_AT_ONCE = 256


def load_system(
    system: str,
    target: str,
    hidden: int | None = None,
    mixed_precision: str | None = None,
    *,
    gpu: bool = False,
) -> Language:
    """Load the pipeline of a system from its config, without initializing it.

    system (str): A system of `psa init-config`.
    target (str): The target.
    hidden (Optional[int]): The width of the BiLSTM, both directions together; None for the
        config's.
    mixed_precision (Optional[str]): The value of `mixed_precision` for training.
    gpu (bool): Whether to use the settings for GPUs.
    RETURNS (Language): The pipeline.
    """
    name = f"{system}-{target}.cfg"
    text = make_config(system, target, name=name, recipe="paper", gpu=gpu)
    config = Config().from_str(text, interpolate=False)
    model = config["components"]["psa_tagger"]["model"]
    model["mixed_precision"] = mixed_precision
    for block in _blocks(model["encoder"]):
        if block.get("@architectures") == "spacy_psa.BiLSTM.v1" and system in OF_ANY_WIDTH:
            block["hidden_width"] = hidden or block["hidden_width"]
    config["paths"] = {**config["paths"], "train": None, "dev": None, "vectors": None}
    config["initialize"]["vectors"] = None
    return load_model_from_config(config.interpolate(), auto_fill=True)


def _blocks(config: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A config block and all blocks nested in it."""
    yield config
    for value in config.values():
        if isinstance(value, dict):
            yield from _blocks(value)


class Contender(Protocol):
    """A tagger of any library that can be trained and timed."""

    def train(self, batch_size: int, limit: int) -> None:
        """Train on the first sentences.

        batch_size (int): The number of sentences per batch.
        limit (int): The total number of sentences.
        """

    def tagging(
        self, docs: Sequence[Doc], *, whole: bool, portion: int | None = None
    ) -> Callable[[], None]:
        """Make the function that is timed for tagging.

        docs (Sequence[Doc]): The documents that provide the words.
        whole (bool): Whether to tag all documents at once, or one at a time.
        portion (Optional[int]): As in the function `tagging`.
        RETURNS (Callable[[], None]): A function that tags the words.
        """


class Trainer:
    """Trains a pipeline on the same examples repeatedly, with the optimizer of its config.

    nlp (Language): The pipeline.
    docs (Sequence[Doc]): The examples.
    """

    def __init__(self, nlp: Language, docs: Sequence[Doc]) -> None:
        self.nlp = nlp
        self.examples = [Example(only_words(nlp, doc), doc) for doc in docs]
        config = nlp.config.interpolate()["training"]["optimizer"]
        self.optimizer = registry.resolve({"optimizer": config})["optimizer"]

    def train(self, batch_size: int, limit: int) -> None:
        """Train on the first `limit` examples."""
        for examples in minibatch(self.examples[:limit], batch_size):
            self.nlp.update(examples, sgd=self.optimizer, losses={})

    def tagging(
        self, docs: Sequence[Doc], *, whole: bool, portion: int | None = None
    ) -> Callable[[], None]:
        """Make the function that is timed for tagging. See the function `tagging`."""
        return tagging(self.nlp, docs, whole=whole, portion=portion)


def tagging(
    nlp: Language,
    docs: Sequence[Doc],
    *,
    whole: bool,
    batch_size: int = TAGGED_AT_ONCE,
    portion: int | None = None,
) -> Callable[[], None]:
    """Make the function that is timed for tagging, including the creation of `Doc` objects.

    Pipelines cache representations of words. Each call should tag a different portion, so that
    cache hits are as frequent as they are on new text after a while.

    nlp (Language): The pipeline.
    docs (Sequence[Doc]): The documents that provide the words.
    whole (bool): Whether to tag all documents at once, with `nlp.pipe`, or one at a time.
    batch_size (int): The batch size of `nlp.pipe`.
    portion (Optional[int]): The number of documents that each call tags, continuing after those of
        the previous call and starting over at the end. None for all.
    RETURNS (Callable[[], None]): A function that tags the words.
    """
    next_words = portions(docs, portion)

    def tag() -> None:
        made = (Doc(nlp.vocab, words=words) for words in next_words())
        if whole:
            for _ in nlp.pipe(made, batch_size=batch_size):
                pass
        else:
            for doc in made:
                nlp(doc)

    return tag


def portions(docs: Sequence[Doc], portion: int | None) -> Callable[[], list[list[str]]]:
    """Cycle through the words of documents in portions.

    docs (Sequence[Doc]): The documents that provide the words.
    portion (Optional[int]): The number of documents per call; None for all.
    RETURNS (Callable[[], List[List[str]]]): A function that returns the words of the next
        documents, starting over at the end.
    """
    # Read the words up front, to keep this out of the timing
    words = cycle([[token.text for token in doc] for doc in docs])
    return lambda: list(islice(words, portion or len(docs)))
