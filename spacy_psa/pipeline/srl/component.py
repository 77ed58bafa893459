"""The component `psa_srl`, a semantic role labeler: who did what to whom."""

from collections.abc import Callable
from typing import Any

from spacy.vocab import Vocab

from ...models.types import RoleLabeler
from ..delegation import provided
from ..labeling_pipe import LabelingPipe
from ..settings import check_settings
from ..storage import Storage
from ..tagset import TagSet
from ..threads import Threads, checked
from .decoder import RoleDecoder
from .decoding import RoleDecoding, create_greedy_decoding
from .learner import RoleLearner
from .predicates import PredicateFinder, create_given_predicates
from .roles import Roles
from .scorer import srl_score
from .settings import SETTINGS


class PSASemanticRoles(LabelingPipe):
    """Label the semantic roles of each predicate in its sentence with BIO tags.

    The default model is DeepAtt, the deep attentional neural network of Tan et al. (2018).

    vocab (Vocab): The shared vocabulary.
    model (RoleLabeler): The model.
    name (str): The component's name in the pipeline.
    predicates (Optional[PredicateFinder]): None for the predicates already set on the Doc.
    decoding (Optional[RoleDecoding]): None for the paper's greedy decoding.
    probabilities, allow_space, label_smoothing, max_grad_norm, threads, scorer: See `make_psa_srl`.
    RAISES (ValueError): If `max_grad_norm` is not positive, or `label_smoothing` not in [0, 1).
    """

    settings = SETTINGS
    fixed: tuple[str, ...] = ()

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
        threads: Threads = "auto",
        scorer: Callable | None = srl_score,
    ) -> None:
        self.vocab, self.model, self.name = vocab, model, name
        self.predicates = predicates or create_given_predicates()
        self.decoding = decoding or create_greedy_decoding()
        self.probabilities = probabilities
        self.scorer, self.threads = scorer, checked(threads)
        self.cfg: dict[str, Any] = {
            "labels": [],
            "allow_space": allow_space,
            "label_smoothing": label_smoothing,
            "max_grad_norm": max_grad_norm,
        }
        check_settings(self.cfg, self.settings)
        self.target = Roles()
        self.tagset = TagSet(self)
        self.decoder = RoleDecoder(self)
        self.learner = RoleLearner(self, self.tagset)
        self.storage = Storage(self, self.learner)

    predict = provided("decoder", RoleDecoder.predict)
    set_annotations = provided("decoder", RoleDecoder.set_annotations)

    def check_cfg(self) -> None:
        """Check that the settings, which the user may have changed, can be saved and loaded.

        RAISES (ValueError): If a setting is out of range.
        """
        check_settings(self.cfg, self.settings)

    def check_loaded(self, before: dict[str, Any]) -> None:
        """Check what has been loaded.

        before (Dict[str, Any]): The previous `cfg`.
        """
        self.tagset.check_loaded()
