"""The loss and the step of a student, against definitions."""

from __future__ import annotations

import pytest
import spacy
import torch
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from spacy_psa.inference import LinearChain, Potentials
from spacy_psa.inference.edge_marginals import cross_entropy, pair_marginals
from spacy_psa.pipeline.teaching import Teaching, teach, teachings

from ..inference.brute_force import random_potentials
from ..pipeline import srl_data
from ..pipeline.conftest import (
    NAME,
    annotation,
    initialized_nlp,
    make_adam,
    make_docs,
    make_examples,
    tagger_of,
    tiny_model,
    trained_nlp,
)


def lessons_of(nlp: Language, **settings: float) -> list[Example]:
    """Examples with what a trained tagger says of them."""
    teacher = tagger_of(trained_nlp())
    docs = make_docs(nlp)
    chain = teacher.queries.as_teacher(docs)
    examples = []
    for doc, said in zip(docs, teachings(chain, teacher.tags, [1] * 3), strict=True):
        reference = Doc(nlp.vocab, words=[token.text for token in doc])
        given = Teaching(said.tags, said.lengths, said.edges, **settings)
        teach(reference, NAME, given)
        examples.append(Example(doc, reference))
    return examples


@pytest.mark.parametrize("temperature", [1.0, 2.0])
@pytest.mark.parametrize("gold", [0.0, 0.25, 1.0])
def test_the_loss_is_mixed_where_there_is_annotation(gold: float, temperature: float) -> None:
    nlp = initialized_nlp()
    tagger = tagger_of(nlp)
    taught = lessons_of(nlp, gold=gold, temperature=temperature)
    annotated = make_examples(nlp)
    for i in (0, 2):
        for token, tag in zip(taught[i].reference, annotated[i].reference, strict=True):
            token.tag_ = tag.tag_
    docs = [eg.predicted for eg in taught]
    potentials = tagger.model.predict(docs)
    loss, gradient = tagger.get_loss(taught, potentials)
    nll = tagger.get_loss(annotated, potentials)[0]
    chain = LinearChain(potentials.tempered(temperature))
    teacher = tagger_of(trained_nlp())
    edges = pair_marginals(teacher.queries.as_teacher(docs), mass=0.999, most=64)
    entropy = temperature**2 * cross_entropy(edges, chain)
    ids = torch.tensor([tagger.tags.index(t.tag_) for eg in annotated for t in eg.reference])
    each = -LinearChain(potentials).log_prob(ids)
    assert float(each.detach().mean()) == pytest.approx(nll, abs=1e-5)
    expected = gold * each + (1.0 - gold) * entropy
    expected[1] = entropy[1]
    assert loss == pytest.approx(float(expected.mean().detach()), abs=1e-5)
    assert gradient.emissions.shape == potentials.emissions.shape


def test_examples_with_and_without_a_teacher_in_one_batch() -> None:
    nlp = initialized_nlp()
    tagger, examples = tagger_of(nlp), make_examples(nlp)
    taught = lessons_of(nlp)
    potentials = tagger.model.predict([eg.predicted for eg in examples])
    mixed = tagger.get_loss([examples[0], taught[1], examples[2]], potentials)[0]
    parts = [potentials.select([i]) for i in range(3)]
    alone = [
        tagger.get_loss([eg], part)[0]
        for eg, part in zip([examples[0], taught[1], examples[2]], parts, strict=True)
    ]
    assert mixed == pytest.approx(sum(alone) / 3, abs=1e-5)


@pytest.mark.parametrize("target", ["tag", "ents"])
def test_a_student_learns_what_its_teacher_says(target: str) -> None:
    teacher, student = trained_nlp(target), initialized_nlp(target, seed=1)
    examples = [Example(*pair) for pair in zip(make_docs(student), make_docs(student), strict=True)]
    optimizer, losses = make_adam(), []
    for _ in range(30):
        pipe = tagger_of(student)
        losses.append(pipe.distill(tagger_of(teacher), examples, sgd=optimizer)[NAME])
    assert losses[-1] < 0.1 * losses[0]
    found, expected = (
        [annotation(doc) for doc in nlp.pipe(make_docs(nlp))] for nlp in (student, teacher)
    )
    assert found == expected


def test_a_softmax_learns_from_a_chain() -> None:
    student = spacy.blank("xx")
    model = {**tiny_model(), "decoder": {"@architectures": "spacy_psa.Softmax.v1"}}
    student.add_pipe(NAME, config={"target": "tag", "model": model})
    student.initialize(lambda: make_examples(student))
    teacher, optimizer = tagger_of(trained_nlp()), make_adam()
    examples = [Example(*pair) for pair in zip(make_docs(student), make_docs(student), strict=True)]
    losses = [tagger_of(student).distill(teacher, examples, sgd=optimizer)[NAME] for _ in range(25)]
    assert losses[-1] < 0.2 * losses[0]


def test_roles() -> None:
    teacher, student = srl_data.make_nlp(), srl_data.initialized_nlp()
    teacher.from_bytes(srl_data._trained())
    examples = [
        Example(srl_data.given_doc(student, i), srl_data.given_doc(student, i))
        for i in range(len(srl_data.WORDS))
    ]
    pipe, optimizer = srl_data.srl_of(student), make_adam(0.01)
    losses = [
        pipe.distill(srl_data.srl_of(teacher), examples, sgd=optimizer)[srl_data.NAME]
        for _ in range(40)
    ]
    assert losses[-1] < 0.3 * losses[0]


def test_another_kind_of_teacher() -> None:
    student = initialized_nlp()
    with pytest.raises(ValueError, match="P530"):
        tagger_of(student).distill(srl_data.srl_of(srl_data.make_nlp()), [])
    with pytest.raises(ValueError, match="P530"):
        tagger_of(student).distill(None, [])


def test_a_student_that_rules_out_what_its_teacher_says() -> None:
    teacher = tagger_of(initialized_nlp("ents", constrain_decoding=False))
    student = initialized_nlp("ents", constrain_training=True)
    examples = [Example(doc, doc.copy()) for doc in make_docs(student)]
    before = student.to_bytes()
    with pytest.raises(ValueError, match=r"P540.*'constrain_training' of 'psa_tagger' to false"):
        tagger_of(student).distill(teacher, examples, sgd=make_adam())
    assert student.to_bytes() == before
    docs = make_docs(student)
    chain = teacher.queries.as_teacher(docs)
    for doc, said in zip(docs, teachings(chain, teacher.tags, [1] * 3), strict=True):
        teach(doc, NAME, said)
    taught = [Example(doc.copy(), doc) for doc in docs]
    with pytest.raises(ValueError, match="P540"):
        student.update(taught, sgd=make_adam())


def test_other_labels() -> None:
    student = initialized_nlp("pos")
    docs = make_docs(student)
    examples = [Example(doc, doc.copy()) for doc in docs]
    with pytest.raises(ValueError, match=r"P531.*only the teacher has"):
        tagger_of(student).distill(tagger_of(trained_nlp("tag")), examples)


def test_other_tokens() -> None:
    student = initialized_nlp()
    words = ["Ann", "Lee"]
    example = Example(Doc(student.vocab, words), Doc(student.vocab, ["AnnLee"]))
    with pytest.raises(ValueError, match="P538"):
        tagger_of(student).distill(tagger_of(trained_nlp()), [example])


def test_empty_documents() -> None:
    student = initialized_nlp()
    empty = [Example(Doc(student.vocab), Doc(student.vocab))]
    assert tagger_of(student).distill(tagger_of(trained_nlp()), empty) == {NAME: 0.0}


def test_docs_without_predicates_teach_nothing() -> None:
    student, teacher = srl_data.initialized_nlp(), srl_data.trained_nlp()
    pipe = srl_data.srl_of(student)
    docs = [Doc(student.vocab, words=words) for words in (["Rain", "fell"], [])]
    examples = [Example(doc, doc.copy()) for doc in docs]
    losses = pipe.distill(srl_data.srl_of(teacher), examples, sgd=make_adam(0.01))
    assert losses == {srl_data.NAME: 0.0}


def test_other_sentences_of_the_same_tokens() -> None:
    # One chain of two tokens and one of one become chains of one and of two
    p = random_potentials(3, (2, 1), seed=1)
    teaching = Teaching(("A", "B", "C"), (2, 1), pair_marginals(LinearChain(p)))
    moved = teaching.in_sequences((1, 2)).edges
    marginals = LinearChain(p).marginals.float()
    for token, before in ((0, -1), (1, -1)):
        own = moved.token == token
        assert set(moved.before[own].tolist()) == {before}
        found = torch.zeros(3).index_add(0, moved.after[own], moved.probability[own])
        assert torch.allclose(found, marginals[token], atol=1e-6)
    own = moved.token == 2
    found = torch.zeros(3, 3)
    found[moved.before[own], moved.after[own]] = moved.probability[own]
    assert torch.allclose(found, torch.outer(marginals[1], marginals[2]), atol=1e-6)
    q = Potentials(p.emissions, (1, 2), p.transitions)
    assert bool(torch.isfinite(cross_entropy(moved, LinearChain(q))).all())
    with pytest.raises(ValueError, match="P023"):
        teaching.in_sequences((1, 1))
