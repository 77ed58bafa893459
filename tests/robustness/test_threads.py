"""Threads that share a pipeline, or the computations below it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import numpy as np
import pytest
from spacy.language import Language
from spacy.tokens import Doc
from thinc.api import MPSOps, set_current_ops
from thinc.util import get_torch_default_device

from spacy_psa.inference import LinearChain

from ..inference.brute_force import random_potentials
from ..pipeline import srl_data
from ..pipeline.conftest import WORDS, annotation, tagger_of, trained_nlp
from ..pipeline.srl_data import given_doc

N_THREADS = 8


@pytest.fixture(autouse=True)
def _hurried() -> Iterator[None]:
    """Let threads switch as often as possible."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


def together(act: Callable[[int], Any], n: int = 2 * N_THREADS) -> list[Any]:
    """The results of n calls from eight threads that start at the same time."""
    barrier = Barrier(N_THREADS)

    def started(i: int) -> Any:
        if i < N_THREADS:
            barrier.wait(timeout=60)
        return act(i)

    with ThreadPoolExecutor(N_THREADS) as pool:
        return list(pool.map(started, range(n)))


def are_close(found: Any, expected: Any) -> bool:
    """Whether results are the same up to the last digits of float32, which depend on what was
    processed before. Rounding could turn these into larger differences.
    """
    if isinstance(expected, float):
        return found == pytest.approx(expected, abs=1e-5)
    if isinstance(expected, (list, tuple)):
        return len(found) == len(expected) and all(map(are_close, found, expected))
    return found == expected


def sentence(i: int) -> list[str]:
    """A sentence whose length depends on i, with a word of its own."""
    return [*WORDS[i % 3], f"new{i}", *WORDS[(i + 1) % 3][: i % 5]]


def by_call(nlp: Language, i: int) -> Any:
    return annotation(nlp(" ".join(sentence(i))))


def by_pipe(nlp: Language, i: int) -> Any:
    texts = [" ".join(sentence(i + j)) for j in range(5)]
    return [annotation(doc) for doc in nlp.pipe(texts, batch_size=2)]


def by_probabilities(nlp: Language, i: int) -> Any:
    doc = nlp(" ".join(sentence(i)))
    return [(ent.text, ent.label_, float(ent._.psa_score)) for ent in doc.ents]


def by_queries(nlp: Language, i: int) -> Any:
    tagger, doc = tagger_of(nlp), Doc(nlp.vocab, words=sentence(i))
    nbest = [labeling.tags for labeling in tagger.nbest([doc], 3)[0]]
    entropy = float(tagger.entropy([doc])[0])
    drawn = tagger.sample([doc], 2, generator=np.random.default_rng(i))[0]
    return nbest, entropy, drawn, tagger.marginals([doc])[0].tolist()


@pytest.mark.parametrize("ask", [by_call, by_pipe, by_probabilities, by_queries])
def test_threads_that_share_a_pipeline_get_what_one_gets(ask: Callable) -> None:
    alone = trained_nlp("ents", probabilities=True)
    expected = [ask(alone, i) for i in range(2 * N_THREADS)]
    shared = trained_nlp("ents", probabilities=True)  # nothing is built or cached yet
    assert are_close(together(lambda i: ask(shared, i)), expected)


def test_threads_that_share_semantic_roles_get_what_one_gets() -> None:
    def ask(nlp: Language, i: int) -> Any:
        doc = nlp(srl_data.given_doc(nlp, i % 4))
        spans = [[(s.start, s.end, s.label_) for s in frame.spans] for frame in doc._.frames]
        return spans, [float(frame.probability) for frame in doc._.frames]

    alone, shared = (srl_data.trained_nlp(probabilities=True) for _ in range(2))
    expected = [ask(alone, i) for i in range(2 * N_THREADS)]
    assert are_close(together(lambda i: ask(shared, i)), expected)


def test_threads_do_not_share_the_memory_of_computations() -> None:
    lengths = [(90, 60), (150,), (30, 30, 45), (120, 1)]
    chains = [random_potentials(9, several) for several in lengths]

    def ask(i: int) -> list[list[float]]:
        chain = LinearChain(chains[i % 4])
        found = (chain.log_partition, chain.entropy, chain.marginals.sum(dim=0))
        return [tensor.tolist() for tensor in found]

    expected = [ask(i) for i in range(4)]
    assert together(ask, 64) == [expected[i % 4] for i in range(64)]


def test_prediction_never_leaves_evaluation_mode() -> None:
    nlp = trained_nlp()
    networks = [shim.network for node in tagger_of(nlp).model.walk() for shim in node.shims]
    modes = together(lambda i: (by_call(nlp, i), [network.training for network in networks])[1])
    assert not any(any(mode) for mode in modes)


def test_the_network_says_where_it_is_and_not_the_thread() -> None:
    # thinc's device is set per thread: in any thread but the one that asked for the GPU, it is the
    # CPU. Here it is a device that may not exist, while the networks are on the CPU.
    nlp, roles = trained_nlp(), srl_data.trained_nlp()
    expected = by_call(nlp, 0)

    def elsewhere() -> tuple[str, Any, int]:
        set_current_ops(MPSOps())
        found = by_call(nlp, 0)
        return get_torch_default_device().type, found, len(roles(given_doc(roles, 1))._.frames)

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(elsewhere).result() == ("mps", expected, 3)
