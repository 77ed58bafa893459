"""Gradients: copy them, and check those of the loss against finite differences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from spacy.language import Language
from spacy.training import Example

from spacy_psa.inference import Potentials
from spacy_psa.pipeline.tagger import PSATagger

from ..conftest import tagger_of


def assert_gradient_is_that_of_the_loss(
    tagger: PSATagger,
    examples: Sequence[Example],
    potentials: Potentials | None = None,
    step: float = 1e-4,
) -> None:
    """Compare a few numbers of each gradient with central differences, in float64.

    potentials (Optional[Potentials]): Where to compare; by default, the model's output.
    """
    found = potentials or tagger.model.predict([eg.predicted for eg in examples])
    fields = {name: tensor.double() for name, tensor in found.tensors().items()}
    _, gradient = tagger.get_loss(examples, Potentials(lengths=found.lengths, **fields))
    rng = np.random.default_rng(0)
    for name, tensor in fields.items():
        for _ in range(4):
            place = tuple(int(rng.integers(size)) for size in tensor.shape)
            losses = []
            for sign in (1.0, -1.0):
                moved = tensor.clone()
                moved[place] += sign * step
                changed = Potentials(lengths=found.lengths, **{**fields, name: moved})
                losses.append(tagger.get_loss(examples, changed)[0])
            numeric = (losses[0] - losses[1]) / (2 * step)
            assert float(gradient.tensors()[name][place]) == pytest.approx(numeric, abs=1e-6)


def gradients(nlp: Language) -> dict[str, np.ndarray]:
    """Copies of the gradients of all PyTorch parameters that have one."""
    return {
        f"{i}.{name}": parameter.grad.numpy().copy()
        for i, node in enumerate(tagger_of(nlp).model.walk())
        for shim in node.shims
        for name, parameter in shim._model.named_parameters()
        if parameter.grad is not None
    }
