"""The component `psa_srl`, a semantic role labeler: who did what to whom."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from spacy.language import Language
from spacy.tokens import Doc
from spacy.vocab import Vocab
from thinc.api import Config

from ..annotation.frame_tags import read_roles
from ..annotation.propositions import Frame
from ..errors import Errors, Warnings, warn
from ..inference import Potentials
from ..models.labeler import sentence_lengths
from ..models.srl import Proposition, labeled_propositions, predict_in_parts
from ..models.types import RoleLabeler
from .decoding import RoleDecoding, create_greedy_decoding
from .frames import FramePrediction, annotate_frames
from .overrides import created_for
from .predicates import Predicate, PredicateFinder, check_predicates, create_given_predicates
from .probability import span_probabilities
from .role_spaces import without_space
from .settings import FLAG, LABELS, MAX_GRAD_NORM, SMOOTHING, Setting, check_settings
from .srl_learner import RoleLearner
from .srl_scorer import srl_score

default_config = """
[model]
@architectures = "spacy_psa.RoleLabeler.v1"
mask_width = 100
max_length = 512
overlap = 64
mixed_precision = null
cuda_graphs = false

[model.tok2vec]
@architectures = "spacy_psa.WordCharEmbed.v1"
width = null
attr = "NORM"
min_freq = 2
max_characters = 50
dropout = 0.0
digits = false
character_initialization = null
word_dropout = 0.0

[model.tok2vec.characters]
@architectures = "spacy_psa.CharacterCNN.v1"
embedding_width = 30
width = 50
window = 3
dropout = 0.2

[model.encoder]
@architectures = "spacy_psa.DeepAtt.v1"
width = 200
depth = 4
n_heads = 8
residual_dropout = 0.1
attention_dropout = 0.1
input_dropout = 0.1
scale_input = true

[model.encoder.sublayer]
@architectures = "spacy_psa.RecurrentSublayer.v1"

[model.encoder.positions]
@architectures = "spacy_psa.SinusoidalPositions.v1"

[model.decoder]
@architectures = "spacy_psa.Softmax.v1"
"""
DEFAULT_SRL_MODEL = Config().from_str(default_config)["model"]


@Language.factory(
    "psa_srl",
    assigns=["doc.spans", "doc._.frames"],
    default_config={
        "model": DEFAULT_SRL_MODEL,
        "predicates": {"@misc": "spacy_psa.GivenPredicates.v1"},
        "decoding": {"@misc": "spacy_psa.GreedyDecoding.v1"},
        "probabilities": False,
        "allow_space": False,
        "label_smoothing": 0.1,
        "max_grad_norm": 1.0,
        "scorer": {"@scorers": "spacy_psa.srl_scorer.v1"},
    },
    default_score_weights={"srl_f": 1.0, "srl_p": 0.0, "srl_r": 0.0, "srl_complete": 0.0},
)
def make_psa_srl(
    nlp: Language,
    name: str,
    model: RoleLabeler,
    predicates: PredicateFinder,
    decoding: RoleDecoding,
    probabilities: bool,
    allow_space: bool,
    label_smoothing: float,
    max_grad_norm: float | None,
    scorer: Callable | None,
) -> "PSASemanticRoles":
    """Create a `psa_srl`.

    model (RoleLabeler): The model.
    predicates (PredicateFinder): Finds the predicates of a Doc, e.g.
        `spacy_psa.VerbPredicates.v1`. In training, the annotated predicates are used.
    decoding (RoleDecoding): Chooses label sequences, e.g. `spacy_psa.ViterbiDecoding.v1`.
    probabilities (bool): Whether to compute the probabilities of frames and arguments.
    allow_space (bool): Whether predicted arguments may begin or end with white space, such as line
        breaks.
    label_smoothing (float): The assumed probability that an annotated label is wrong.
    max_grad_norm (Optional[float]): The global norm to which gradients are clipped, or None.
    scorer (Optional[Callable]): The scoring method.
    """
    pipe = PSASemanticRoles(
        nlp.vocab,
        model,
        name,
        predicates=predicates,
        decoding=decoding,
        probabilities=probabilities,
        allow_space=allow_space,
        label_smoothing=label_smoothing,
        max_grad_norm=max_grad_norm,
        scorer=scorer,
    )
    return created_for(nlp, pipe)


class Wanted(NamedTuple):
    """A predicate whose arguments are wanted, and its sentence.

    predicate (Predicate): The predicate.
    place (Proposition): The sentence.
    spaces (NDArray): The tokens of the sentence at which no argument may begin or end.
    """

    predicate: Predicate
    place: Proposition
    spaces: NDArray[np.bool_]


class PSASemanticRoles(RoleLearner):
    """Label the semantic roles of each predicate in its sentence with BIO tags.

    The default model is DeepAtt, the deep attentional neural network of Tan et al. (2018).
    """

    settings: ClassVar[dict[str, Setting]] = {
        "labels": LABELS,
        "allow_space": FLAG,
        "label_smoothing": SMOOTHING,
        "max_grad_norm": MAX_GRAD_NORM,
    }

    def __init__(
        self,
        vocab: Vocab,
        model: RoleLabeler,
        name: str = "psa_srl",
        *,
        predicates: PredicateFinder | None = None,
        decoding: RoleDecoding | None = None,
        probabilities: bool = False,
        allow_space: bool = False,
        label_smoothing: float = 0.1,
        max_grad_norm: float | None = 1.0,
        scorer: Callable | None = srl_score,
    ) -> None:
        """Initialize the component. See `make_psa_srl` for the other arguments.

        vocab (Vocab): The shared vocabulary.
        model (RoleLabeler): The model.
        name (str): The component's name in the pipeline.
        predicates (Optional[PredicateFinder]): None for the predicates already set on the Doc.
        decoding (Optional[RoleDecoding]): None for the paper's greedy decoding.
        RAISES (ValueError): If `max_grad_norm` is not positive, or `label_smoothing` not in [0, 1).
        """
        given = {"max_grad_norm": max_grad_norm, "label_smoothing": label_smoothing}
        check_settings(given, self.settings)
        self.vocab = vocab
        self.model = model
        self.name = name
        self.predicates = predicates or create_given_predicates()
        self.decoding = decoding or create_greedy_decoding()
        self.probabilities = probabilities
        self.scorer = scorer
        self.cfg: dict[str, Any] = {
            "labels": [],
            "allow_space": allow_space,
            "label_smoothing": label_smoothing,
            "max_grad_norm": max_grad_norm,
        }

    def predict(self, docs: Iterable[Doc]) -> list[list[FramePrediction]]:
        """Predict predicates and their arguments, without modifying the documents.

        docs (Iterable[Doc]): The documents.
        RETURNS (List[List[FramePrediction]]): The frames of each document, in the order of their
            predicates.
        RAISES (ValueError): If a predicate is not a token of its document or occurs twice, or if a
            score of the model is NaN.
        """
        docs = list(docs)
        predicates = [self._find(doc) for doc in docs]
        if not any(predicates):
            return [[] for _ in docs]
        indices = [[predicate.token for predicate in found] for found in predicates]
        self._warn_of_windows(docs, indices)
        wanted = self._wanted(docs, predicates)
        frames: list[FramePrediction] = []
        for potentials in predict_in_parts(self.model, docs, indices):
            self.check_scores(potentials, docs)
            frames += self._frames(potentials, list(islice(wanted, len(potentials.lengths))))
        remaining = iter(frames)
        return [list(islice(remaining, len(found))) for found in predicates]

    def _wanted(
        self, docs: Sequence[Doc], predicates: Sequence[Sequence[Predicate]]
    ) -> Iterator[Wanted]:
        for doc, found in zip(docs, predicates, strict=True):
            spaces = self.spaces(doc)
            places = labeled_propositions(self.model, doc, [p.token for p in found])
            for predicate, place in zip(found, places, strict=True):
                yield Wanted(predicate, place, spaces[place.start : place.end])

    def spaces(self, doc: Doc) -> NDArray[np.bool_]:
        """Find the tokens at which no argument may begin or end.

        doc (Doc): The document.
        RETURNS (NDArray): Whether each token is white space; nowhere with `allow_space`.
        """
        is_space = (token.is_space and not self.cfg["allow_space"] for token in doc)
        return np.fromiter(is_space, dtype=bool, count=len(doc))

    def _frames(self, potentials: Potentials, wanted: Sequence[Wanted]) -> list[FramePrediction]:
        """Find the best frames for some predicates, one chain each."""
        frames: dict[int, FramePrediction] = {}
        spaces = [one.spaces for one in wanted]
        for chains, scores, tags in without_space(potentials, self.tags, spaces):
            best = self.decoding.best(scores, tags).cpu().numpy()
            labelings = np.split(best, np.cumsum(scores.lengths)[:-1])
            found = [
                FramePrediction(_frame(wanted[chain], [tags[i] for i in labeling]))
                for chain, labeling in zip(chains, labelings, strict=True)
            ]
            if self.probabilities:
                starts = [wanted[chain].place.start for chain in chains]
                (found,) = span_probabilities(scores, tags, [found], starts)
            frames.update(zip(chains, found, strict=True))
        return [frames[chain] for chain in range(len(wanted))]

    def _warn_of_windows(self, docs: Sequence[Doc], indices: Sequence[Sequence[int]]) -> None:
        longest = self.model.attrs.get("max_length")
        if longest is None:
            return
        for doc, found in zip(docs, indices, strict=True):
            if len(doc) > longest and found and max(sentence_lengths(doc)) > longest:
                warn(Warnings.W405.format(name=self.name, max_length=longest))
                return

    def _find(self, doc: Doc) -> list[Predicate]:
        predicates = sorted(self.predicates(doc), key=lambda predicate: predicate.token)
        check_predicates(doc, predicates)
        return predicates

    def set_annotations(
        self, docs: Iterable[Doc], predictions: Sequence[Sequence[FramePrediction]]
    ) -> None:
        """Write predictions to documents, replacing their frames.

        docs (Iterable[Doc]): The documents.
        predictions (Sequence[Sequence[FramePrediction]]): The output of `predict` for them.
        RAISES (ValueError): If the predictions are not for these documents.
        """
        docs = [docs] if isinstance(docs, Doc) else list(docs)
        if len(docs) != len(predictions):
            raise ValueError(
                Errors.P312.format(name=self.name, n_docs=len(docs), n_predictions=len(predictions))
            )
        for doc, frames in zip(docs, predictions, strict=True):
            for prediction in frames:
                frame = prediction.frame
                ends = [frame.predicate + 1, *(end for _, end, _ in frame.arguments)]
                if max(ends) > len(doc):
                    problem = f"there is no token {max(ends) - 1}"
                    text = doc.text[:60]
                    raise ValueError(Errors.P325.format(text=text, problem=problem, name=self.name))
            annotate_frames(doc, frames)


def _frame(wanted: Wanted, tags: Sequence[str]) -> Frame:
    first, predicate = wanted.place.start, wanted.predicate
    arguments = [(start + first, end + first, role) for start, end, role in read_roles(tags)]
    return Frame(predicate.token, predicate.lemma, predicate.sense, arguments)
