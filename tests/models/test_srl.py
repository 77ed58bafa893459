"""The semantic role model, compared with its equations in plain loops."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_psa.layers.labeler import PredicateMask
from spacy_psa.models.srl import Proposition, propositions

from ..layers.helpers import normal, randomized
from ..pipeline.srl_data import WORDS, given_doc, initialized_nlp, srl_of


def test_the_mask_stands_beside_the_word() -> None:
    mask = randomized(PredicateMask(3, 2))
    x = normal(4, 3)
    tokens, is_predicate = [2, 3, 0, 1], [False, True, True, False]
    found = mask(x, torch.tensor(tokens), torch.tensor(is_predicate))
    for row, (token, mark) in enumerate(zip(tokens, is_predicate, strict=True)):
        wanted = np.concatenate([x[token].numpy(), mask.marks[int(mark)].detach().numpy()])
        np.testing.assert_allclose(found[row].detach().numpy(), wanted, atol=1e-12)


def test_marks_begin_as_in_the_authors_code() -> None:
    torch.manual_seed(0)
    marks = PredicateMask(900, 400).marks  # the width of the words does not matter
    assert marks.std().item() == pytest.approx(400**-0.5, rel=0.1)


def test_the_gradients_of_the_mask_are_right() -> None:
    mask = randomized(PredicateMask(3, 2))
    x = normal(4, 3).requires_grad_()
    tokens, is_predicate = torch.tensor([2, 3, 2]), torch.tensor([False, True, False])

    def function(x: torch.Tensor, marks: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(mask, {"marks": marks}, (x, tokens, is_predicate))

    assert torch.autograd.gradcheck(function, (x, mask.marks.detach().requires_grad_()))


def test_propositions_are_in_their_sentences() -> None:
    doc = Doc(Vocab(), words=list("abcdef"), sent_starts=[True, False, True, True, False, False])
    assert propositions(doc, [5, 0, 2, 3]) == [
        Proposition(5, 3, 6),
        Proposition(0, 0, 2),
        Proposition(2, 2, 3),
        Proposition(3, 3, 6),
    ]
    whole = Doc(Vocab(), words=list("abc"))
    assert propositions(whole, [1]) == [Proposition(1, 0, 3)]
    assert propositions(Doc(Vocab()), []) == []


@pytest.mark.parametrize("predicate", [-1, 3])
def test_predicates_out_of_range_are_refused(predicate: int) -> None:
    with pytest.raises(ValueError, match="P320"):
        propositions(Doc(Vocab(), words=list("abc")), [predicate])


def test_only_the_mask_tells_predicates_apart() -> None:
    nlp = initialized_nlp()
    model = srl_of(nlp).model
    inputs = ([given_doc(nlp, 1)], [[1, 6]])
    first, second = model.predict(inputs).emissions.split(len(WORDS[1]))
    assert not torch.allclose(first, second, atol=1e-3)
    marks = model.get_ref("network").shims[0].network.mask.marks
    marks.data[1] = marks.data[0]
    first, second = model.predict(inputs).emissions.split(len(WORDS[1]))
    torch.testing.assert_close(first, second, rtol=1e-5, atol=1e-5)


def test_all_parameters_get_gradients() -> None:
    nlp = initialized_nlp()
    model = srl_of(nlp).model
    docs = [given_doc(nlp, i) for i in range(len(WORDS))]
    potentials, backprop = model.begin_update((docs, [[1], [1, 6, 7], [], [3, 6]]))
    backprop(type(potentials)(torch.ones_like(potentials.emissions), potentials.lengths))
    for node in model.walk():
        for shim in node.shims:
            for name, parameter in shim.network.named_parameters():
                assert parameter.grad is not None, name
