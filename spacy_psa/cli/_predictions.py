"""Gold standards and predictions for the commands that score, from pipelines or files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ..disk import walk
from ..errors import Errors
from ._components import load_pipeline, role_labelers, use_given_predicates
from ._util import gpu_errors, read_docs

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc
    from spacy.vocab import Vocab

    from ..evaluation.layers import Layer


@dataclass
class System:
    """A source of predictions: a pipeline, or a file of predictions.

    name (str): The path or name given by the user.
    nlp (Optional[Language]): The pipeline; None for a file.
    docs (List[Doc]): The documents of the file; empty for a pipeline.
    layers (Dict[str, Layer]): What its spacy-psa components predict, by component name.
    """

    name: str
    nlp: Language | None
    docs: list[Doc] = field(default_factory=list)
    layers: dict[str, Layer] = field(default_factory=dict)

    def predict(
        self, gold: Sequence[Doc], gold_name: str, layers: Sequence[Layer]
    ) -> list[list[Doc]]:
        """Get the predictions for some documents."""
        from ..evaluation.sentences import check_same_words

        if self.nlp is None:
            check_same_words(gold, self.docs, gold_name, self.name)
            return [self.docs for _ in layers]
        givers = {layer.name: layer for layer in self.layers.values() if layer.is_given}
        found = [givers.get(layer.name) for layer in layers]
        runs = {giver: self._run(self.nlp, gold, giver) for giver in dict.fromkeys(found)}
        return [runs[giver] for giver in found]

    def _run(self, nlp: Language, gold: Sequence[Doc], giver: Layer | None) -> list[Doc]:
        from ..terminal import ProgressBar

        blank = words_alone(gold, nlp.vocab)
        if giver is not None:
            blank = _with_given(blank, gold, giver)
        progress = ProgressBar(blank, f"{self.name}", total=len(gold), disable=None, leave=False)
        return list(nlp.pipe(progress))


def use_gpu(gpu_id: int) -> None:
    """Set up a GPU, if requested."""
    if gpu_id >= 0:
        from ..private_names import setup_gpu

        with gpu_errors(gpu_id):
            setup_gpu(gpu_id)


def load_system(name: str, *, given: bool = False) -> System:
    """Load a pipeline or predictions."""
    import spacy
    from spacy.vocab import Vocab

    from ..evaluation.layers import layers_of

    path = Path(name)
    if path.suffix == ".spacy" and not path.is_dir():
        return System(name, None, read_docs(path, Vocab()))
    if not (path / "meta.json").is_file() and not spacy.util.is_package(name):
        raise ValueError(Errors.P266.format(path=name))
    nlp = load_pipeline(name)
    if given:
        use_given_predicates(role_labelers(nlp, name))
    return System(name, nlp, layers=layers_of(nlp))


def choose_layers(
    system: System,
    components: Sequence[str],
    target: str | None,
    spans_key: str,
) -> dict[str, Layer]:
    """Determine what to score."""
    from ..evaluation.layers import LAYERS, LAYERS_OF_FACTORIES, make_layer

    options = ", ".join(LAYERS)
    if target is not None:
        if components:
            raise ValueError(Errors.P267)
        return {"": make_layer(target, spans_key)}
    if system.nlp is None:
        raise ValueError(Errors.P264.format(path=system.name, options=options))
    if not system.layers:
        raise ValueError(
            Errors.P262.format(
                path=system.name,
                factories=", ".join(LAYERS_OF_FACTORIES),
                found=", ".join(system.nlp.pipe_names) or "none",
                options=options,
            )
        )
    for name in components:
        if name not in system.layers:
            found = ", ".join(system.layers)
            raise ValueError(Errors.P263.format(path=system.name, name=name, found=found))
    chosen = components or list(system.layers)
    return {name: system.layers[name] for name in dict.fromkeys(chosen)}


def words_alone(docs: Iterable[Doc], vocab: Vocab) -> Iterator[Doc]:
    """Create documents with only the words, so that no gold annotation leaks into predictions."""
    from spacy.tokens import Doc

    for doc in docs:
        words = [token.text for token in doc]
        yield Doc(vocab, words=words, spaces=[bool(token.whitespace_) for token in doc])


def _with_given(blank: Iterable[Doc], gold: Iterable[Doc], giver: Layer) -> Iterator[Doc]:
    for doc, gold_doc in zip(blank, gold, strict=True):
        giver.give(doc, gold_doc)
        yield doc


def read_data(paths: Sequence[Path], vocab: Vocab | None = None) -> list[Doc]:
    """Read the documents of files and folders."""
    from spacy.vocab import Vocab

    vocab = Vocab() if vocab is None else vocab
    return [doc for path in paths for file in _files(path) for doc in read_docs(file, vocab)]


def join_names(paths: Sequence[Path]) -> str:
    """The paths, for titles and messages."""
    return ", ".join(map(str, paths))


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(file for file in walk(path) if file.suffix == ".spacy")
    if not files:
        raise ValueError(Errors.P266.format(path=path))
    return files
