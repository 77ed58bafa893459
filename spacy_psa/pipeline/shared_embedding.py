"""The component `psa_tok2vec`: one embedding for several components."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.pipeline import Tok2Vec, TrainablePipe
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from ..disk import check_files
from ..errors import Errors
from ..messages import unpack
from ..models.loading import read_model
from ..models.types import Tok2Vec as Embedding
from .learner import check_get_examples
from .storage import (
    MODEL,
    add_checksum,
    check_bytes,
    check_folder,
    created_for,
    restored_on_error,
    with_checksum,
)
from .tagger.settings import DEFAULT_PSA_MODEL
from .threads import Threads, checked, using_threads
from .vocabulary import Vocabulary, collect_words


class PSATok2Vec(Tok2Vec):
    """Embed tokens for all components that listen to this one, like spaCy's `tok2vec`. The
    difference is what `spacy_psa.WordCharEmbed.v1` needs: its words are those of all the training
    data, it computes with as many threads as is set, and is saved with a checksum.

    vocab (Vocab): The shared vocabulary.
    model (Tok2Vec): The embedding.
    name (str): The component's name in the pipeline.
    threads: See `make_psa_tok2vec`.
    RAISES (ValueError): If `threads` is out of range.
    """

    def __init__(
        self,
        vocab: Vocab,
        model: Embedding,
        name: str = "psa_tok2vec",
        *,
        threads: Threads = "auto",
    ) -> None:
        super().__init__(vocab, model, name)
        # Not in `cfg`: the best choice depends on the machine, which may differ after loading
        self.threads = checked(threads)

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        vocabulary: Vocabulary | None = None,
    ) -> None:
        """Initialize the embedding for training.

        get_examples (Callable[[], Iterable[Example]]): Returns all of the gold-standard training
            data, since the embedding takes its words from it.
        nlp (Optional[Language]): The pipeline.
        vocabulary (Optional[Dict[str, int]]): The tokens of the training data with their counts,
            from `psa vocabulary`. By default, those in the examples.
        RAISES (ValueError): If there are no examples, or a listener has another width.
        """
        check_get_examples(self, get_examples)
        collect_words(self, get_examples, nlp, vocabulary)
        super().initialize(get_examples, nlp=nlp)
        width = self.model.get_dim("nO")
        for component, listeners in self.listener_map.items():
            for listener in listeners:
                if listener.get_dim("nO") != width:
                    names = {"name": component, "upstream": self.name, "width": width}
                    raise ValueError(Errors.P539.format(**names, found=listener.get_dim("nO")))

    def predict(self, docs: Iterable[Doc]) -> Any:
        """Embed documents.

        docs (Iterable[Doc]): The documents.
        RETURNS (List[Floats2d]): The vectors of the tokens of each document.
        """
        with using_threads(self.threads):
            return super().predict(docs)

    def update(self, examples: Iterable[Example], **settings: Any) -> dict[str, float]:
        """Embed a batch for the listeners. The last one calls back with the gradient, in the update
        of its component.

        examples (Iterable[Example]): The batch.
        **settings (Any): `drop`, `sgd` and `losses`, as for spaCy's `Tok2Vec.update`.
        RETURNS (Dict[str, float]): The losses.
        """
        with using_threads(self.threads):
            return super().update(examples, **settings)

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Serialize the component to bytes.

        exclude (Iterable[str]): What to leave out.
        RETURNS (bytes): Vocabulary, model, and the model's checksum.
        """
        return add_checksum(super().to_bytes(exclude=exclude), {})

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Save the component to a directory. A previously saved component is left untouched until
        the new one is on disk.

        path (Union[str, Path]): The directory.
        exclude (Iterable[str]): What to leave out.
        """
        with with_checksum(Path(path)) as temporary:
            super().to_disk(temporary, exclude=exclude)

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> "PSATok2Vec":
        """Load the component from bytes.

        bytes_data (bytes): The output of `to_bytes`.
        exclude (Iterable[str]): What not to load.
        RETURNS (PSATok2Vec): The component.
        RAISES (ValueError): If the model is damaged or of another configuration. The component is
            then unchanged.
        """
        with restored_on_error(self, "bytes"):
            if MODEL not in exclude:
                check_bytes(bytes_data)
                weights = unpack(bytes_data).get(MODEL)
                if weights is not None:
                    read_model(self.model, weights)
            # Last, since the vocabulary is not restored
            TrainablePipe.from_bytes(self, bytes_data, exclude=[*exclude, MODEL])
        return self

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> "PSATok2Vec":
        """Load the component from a directory.

        path (Union[str, Path]): The directory.
        exclude (Iterable[str]): What not to load.
        RETURNS (PSATok2Vec): The component.
        RAISES (ValueError): As `from_bytes`.
        """
        path = Path(path)
        with restored_on_error(self, path):
            check_files(path)
            if MODEL not in exclude:
                check_folder(path)
                read_model(self.model, (path / MODEL).read_bytes())
            TrainablePipe.from_disk(self, path, exclude=[*exclude, MODEL])
        return self


@Language.factory(
    "psa_tok2vec",
    assigns=["doc.tensor"],
    default_config={"model": DEFAULT_PSA_MODEL["tok2vec"], "threads": "auto"},
)
def make_psa_tok2vec(nlp: Language, name: str, model: Embedding, threads: Threads) -> PSATok2Vec:
    """Create a `psa_tok2vec`.

    model (Tok2Vec): The embedding, e.g. `spacy_psa.WordCharEmbed.v1`.
    threads (Union[Literal["auto"], int, None]): How many threads to compute with, restored after
        each call: "auto" for PyTorch's number, but fewer while other processes compete for the
        cores; None for PyTorch's number.
    """
    return created_for(nlp, PSATok2Vec(nlp.vocab, model, name, threads=threads))
