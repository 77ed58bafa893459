"""Components trained with CUDA graphs, as set in a config: on a GPU, or with a stand-in."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import pytest
import torch
from spacy.language import Language
from spacy.training import Example
from thinc.api import Adam, require_cpu, require_gpu

from spacy_psa.pipeline.srl.settings import DEFAULT_SRL_MODEL
from spacy_psa.pipeline.tagger.settings import DEFAULT_PSA_MODEL

from ..acceleration.graph_stand_in import StandIn, use_stand_in
from . import conftest, srl_data


def tagger(cuda_graphs: bool) -> tuple[Language, list[Example]]:
    model = conftest.tiny_model(cuda_graphs=cuda_graphs)
    nlp = conftest.initialized_nlp("tag", model=model)
    return nlp, conftest.make_examples(nlp)


def roles(cuda_graphs: bool) -> tuple[Language, list[Example]]:
    nlp = srl_data.initialized_nlp(srl_data.tiny_model(cuda_graphs=cuda_graphs))
    return nlp, srl_data.make_examples(nlp)


BOTH = pytest.mark.parametrize("make", [tagger, roles])


def losses(nlp: Language, examples: list[Example], steps: int = 6) -> list[float]:
    """The loss of each step."""
    optimizer = Adam(0.01)
    return [sum(nlp.update(examples, sgd=optimizer).values()) for _ in range(steps)]


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> type[StandIn]:
    return use_stand_in(monkeypatch)


@BOTH
def test_training_stays_the_same(
    make: Callable[[bool], tuple[Language, list[Example]]],
    stand_in: type[StandIn],
) -> None:
    expected = losses(*make(False))
    assert stand_in.made == 0
    assert losses(*make(True)) == pytest.approx(expected, rel=1e-4)
    assert stand_in.made == 1


@pytest.fixture
def gpu() -> Iterator[None]:
    pytest.importorskip("cupy", reason="needs cupy")
    require_gpu()
    try:
        yield
    finally:
        require_cpu()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@BOTH
def test_training_stays_the_same_on_a_gpu(
    make: Callable[[bool], tuple[Language, list[Example]]], gpu: None
) -> None:
    expected = losses(*make(False))
    assert all(map(math.isfinite, expected)) and expected[-1] < expected[0]
    nlp, examples = make(True)
    assert losses(nlp, examples) == pytest.approx(expected, rel=1e-2)
    (pipe,) = (pipe for _, pipe in nlp.pipeline)
    (network,) = pipe.model.get_ref("network").shims
    (graphed,) = (part.run for part in network.network.modules() if hasattr(part, "run"))
    assert len(graphed._graphs) == 1


def test_graphs_are_not_the_default() -> None:
    assert DEFAULT_PSA_MODEL["cuda_graphs"] is DEFAULT_SRL_MODEL["cuda_graphs"] is False
