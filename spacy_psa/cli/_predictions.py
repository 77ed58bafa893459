"""Load pipelines, their components and predictions, for the commands that inspect or score them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any

from ..disk import check_files, walk
from ..errors import Errors
from ..terminal import ProgressBar
from ._config_errors import config_errors
from ._docbins import read_docs
from ._names import current_target
from ._util import gpu_errors

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc
    from spacy.vocab import Vocab

    from ..evaluation.layers import Layer
    from ..pipeline.components import Component
    from ..pipeline.srl import PSASemanticRoles
    from ..pipeline.tagger import PSATagger

WARM_UP = 256  # sentences
LONG_ENOUGH = 1.0  # seconds to measure the speed in


def load_pipeline(name: str | Path) -> Language:
    """Load a pipeline."""
    import spacy

    path = Path(name)
    check_files(path)
    check_no_training(path)
    if path.exists() and not is_pipeline(name):
        raise ValueError(Errors.P271.format(path=name))
    with config_errors(name):
        return spacy.load(name)


def is_pipeline(name: str | Path) -> bool:
    """RETURNS (bool): Whether this is the folder of a pipeline, or an installed one."""
    import spacy

    return (Path(name) / "meta.json").is_file() or spacy.util.is_package(str(name))


def check_no_training(path: Path) -> None:
    """Name the pipeline in the output folder of a training."""
    best = path / "model-best"
    if best.is_dir() and not (path / "meta.json").is_file():
        raise ValueError(Errors.P269.format(path=path, best=best))


def choose_component(
    path: object, fitting: Sequence[str], name: str | None, kind: str, components: Sequence[str]
) -> str:
    """Choose one of the components that a command can work on: that of a name, or the only one."""
    found = ", ".join(fitting)
    if name is None and len(fitting) > 1:
        raise ValueError(Errors.P347.format(path=path, kind=kind, found=found))
    chosen = name or next(iter(fitting), None)
    if chosen is None or chosen not in fitting:
        named = f" '{name}'" if name else ""
        remedy = f"Choose --component from: {found}." if found else "Give a pipeline that has one."
        names = {"path": path, "kind": kind, "named": named, "remedy": remedy}
        every = ", ".join(components) or "none"
        raise ValueError(Errors.P346.format(**names, components=every))
    return chosen


def load_component(path: str, name: str | None = None) -> tuple[Language, Component]:
    """Load a pipeline, and choose one of its components."""
    from ..pipeline.components import Component

    nlp = load_pipeline(path)
    ours = {key: pipe for key, pipe in nlp.pipeline if isinstance(pipe, Component)}
    return nlp, ours[
        choose_component(path, list(ours), name, "psa_tagger or psa_srl", nlp.pipe_names)
    ]


def load_tagger(model: str, component: str | None) -> tuple[Language, str]:
    """Load a pipeline, and choose one of its taggers."""
    nlp = load_pipeline(model)
    return nlp, choose_tagger(nlp, model, component)


def choose_tagger(nlp: Language, path: object, name: str | None) -> str:
    """Choose one of a pipeline's taggers."""
    from ..pipeline.tagger import PSATagger

    taggers = [key for key, pipe in nlp.pipeline if isinstance(pipe, PSATagger)]
    return choose_component(path, taggers, name, "psa_tagger", nlp.pipe_names)


def get_tagger(nlp: Language, name: str) -> PSATagger:
    """Get one of a pipeline's taggers."""
    from ..pipeline.tagger import PSATagger

    pipe = nlp.get_pipe(choose_tagger(nlp, nlp.path or nlp.meta["name"], name))
    assert isinstance(pipe, PSATagger)
    return pipe


def choose_role_labeler(nlp: Language, path: object, name: str | None) -> str:
    """Choose one of a pipeline's components for semantic roles."""
    from ..pipeline.srl import PSASemanticRoles

    found = [key for key, pipe in nlp.pipeline if isinstance(pipe, PSASemanticRoles)]
    return choose_component(path, found, name, "psa_srl", nlp.pipe_names)


def role_labelers(nlp: Language, path: object) -> list[PSASemanticRoles]:
    """Find the components that label semantic roles."""
    from ..pipeline.srl import PSASemanticRoles

    found = [pipe for _, pipe in nlp.pipeline if isinstance(pipe, PSASemanticRoles)]
    if not found:
        names = ", ".join(nlp.pipe_names) or "none"
        raise ValueError(Errors.P331.format(path=path, found=names))
    return found


def use_given_predicates(components: Iterable[PSASemanticRoles]) -> None:
    """Make components use given predicates, even if they are configured to find their own."""
    from ..pipeline.srl.predicates import create_given_predicates

    for component in components:
        component.predicates = create_given_predicates()


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

    def predict_timed(
        self, gold: Sequence[Doc], gold_name: str, layers: Sequence[Layer]
    ) -> tuple[list[list[Doc]], int, float]:
        """Get the predictions, the number of words predicted, and the seconds that took: of few
        words, the median of several times."""
        # One-time costs are not measured
        self.predict(gold[:WARM_UP], gold_name, layers)
        taken = list[float]()
        while sum(taken) < LONG_ENOUGH:
            start = perf_counter()
            predictions = self.predict(gold, gold_name, layers)
            taken.append(perf_counter() - start)
        seconds = median(taken)
        # Layers share predictions, except those whose task gives annotation
        n_runs = len({id(docs) for docs in predictions})
        return predictions, sum(map(len, gold)) * n_runs, seconds

    def check_predicted(self, docs: Sequence[Doc], layer: Layer) -> None:
        """Check that predictions can be scored: a threshold may have removed them all."""
        from ..evaluation.sentences import check_annotated

        own = [name for name, other in self.layers.items() if other.name == layer.name]
        pipes = {name: self.nlp.get_pipe(name) for name in own if self.nlp}
        name = f"the output of {self.name}" if self.nlp else self.name
        check_annotated(docs, layer, name, lower_threshold(pipes))

    def _run(self, nlp: Language, gold: Sequence[Doc], giver: Layer | None) -> list[Doc]:
        blank = words_alone(gold, nlp.vocab)
        if giver is not None:
            blank = _with_given(blank, gold, giver)
        progress = ProgressBar(blank, f"{self.name}", total=len(gold), disable=None, leave=False)
        return list(nlp.pipe(progress))


def lower_threshold(pipes: dict[str, Any]) -> str:
    """What to try if components predict nothing: a threshold may have removed it all."""
    found = " or ".join(f"'{name}'" for name, pipe in pipes.items() if pipe.cfg.get("threshold"))
    return f"Lower the threshold of {found}, which may have removed all. " if found else ""


def use_gpu(gpu_id: int) -> None:
    """Set up a GPU, if requested."""
    if gpu_id >= 0:
        from ..private_names import setup_gpu

        with gpu_errors(gpu_id):
            setup_gpu(gpu_id)


def load_system(name: str, *, given: bool = False) -> System:
    """Load a pipeline or predictions."""
    from spacy.vocab import Vocab

    from ..evaluation.layers import layers_of

    path = Path(name)
    if path.suffix == ".spacy" and not path.is_dir():
        return System(name, None, read_docs(path, Vocab()))
    check_no_training(path)
    if not is_pipeline(name):
        raise ValueError(Errors.P266.format(path=name))
    nlp = load_pipeline(name)
    if given:
        use_given_predicates(role_labelers(nlp, name))
    return System(name, nlp, layers=layers_of(nlp))


def check_pipeline_options(path: str | Path, **options: object) -> None:
    """Check that no option is set that is for a pipeline, if there is only a file of predictions.

    path (Union[str, Path]): The path of the file. If there is none, reading it says so.
    **options (object): The values of the options by name.
    """
    for name, value in options.items():
        if value and Path(path).exists():
            found = f"'{path}' is a file of predictions"
            raise ValueError(Errors.P272.format(option=f"--{name}", what="a pipeline", found=found))


def choose_spans_key(target: str | None, spans_key: str | None) -> str:
    """The key of the spans to score, which no other target has."""
    if spans_key is not None and target != "spans":
        found = "none was given" if target is None else f"the target is '{target}'"
        raise ValueError(
            Errors.P272.format(option="--spans-key", what="--target spans", found=found)
        )
    return spans_key or "chunks"


def choose_layers(
    system: System,
    components: Sequence[str],
    target: str | None,
    spans_key: str | None,
) -> dict[str, Layer]:
    """Determine what to score."""
    from ..evaluation.layers import LAYERS, LAYERS_OF_FACTORIES, make_layer

    options = ", ".join(LAYERS)
    if target is not None:
        if components:
            raise ValueError(Errors.P267)
        target = current_target(target)
        return {"": make_layer(target, choose_spans_key(target, spans_key))}
    choose_spans_key(None, spans_key)
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


def read_gold(
    paths: Sequence[Path], layers: Iterable[Layer], vocab: Vocab | None = None
) -> list[Doc]:
    """Read documents with annotation of all layers."""
    from ..evaluation.sentences import check_annotated

    gold = read_data(paths, vocab)
    for layer in layers:
        check_annotated(gold, layer, join_names(paths))
    return gold


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
