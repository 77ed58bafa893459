import numpy as np
import pytest
import torch

from spacy_psa.inference import BACKENDS, Constraints, LinearChain, Potentials

from .brute_force import BruteForce, random_potentials

FIELDS = [
    ("transitions", "start", "end"),
    ("transitions",),
    ("start",),
    ("transitions", "end"),
    ("transitions", "start", "end", "pairwise"),
    ("pairwise",),
    (),
]
SHAPES = [
    (3, (4, 1, 0, 2)),
    (1, (3, 0, 1)),
    (2, (5, 5, 5)),
    (4, (1, 1)),
    (3, (0, 0)),
    (3, ()),
    (5, (2, 3)),
]

all_fields = pytest.mark.parametrize("fields", FIELDS, ids=lambda f: "+".join(f) or "softmax")
some_fields = pytest.mark.parametrize(
    "fields",
    [(), ("transitions", "start"), ("end", "pairwise")],
    ids=["softmax", "chain", "pairwise"],
)
all_shapes = pytest.mark.parametrize("n_labels,lengths", SHAPES)
all_backends = pytest.mark.parametrize("backend", sorted(BACKENDS))


def assert_close(actual: torch.Tensor, expected: np.ndarray) -> None:
    np.testing.assert_allclose(actual.detach().numpy(), expected, rtol=1e-9, atol=1e-11)


@pytest.fixture
def labels_of():
    def draw(potentials: Potentials, lowest: int = 0, seed: int = 5) -> torch.Tensor:
        generator = torch.Generator().manual_seed(seed)
        shape = (potentials.n_tokens,)
        return torch.randint(lowest, potentials.n_labels, shape, generator=generator)

    return draw


@all_backends
@all_fields
@all_shapes
class TestAgainstEnumeration:
    def test_log_partition(self, backend, fields, n_labels, lengths):
        potentials = random_potentials(n_labels, lengths, fields=fields)
        chain = LinearChain(potentials, backend=backend)
        assert_close(chain.log_partition, BruteForce(potentials).log_partition)

    def test_log_prob_of_complete_labels(self, backend, fields, n_labels, lengths, labels_of):
        potentials = random_potentials(n_labels, lengths, fields=fields)
        labels = labels_of(potentials)
        chain = LinearChain(potentials, backend=backend)
        assert_close(chain.log_prob(labels), BruteForce(potentials).log_prob(labels.numpy()))

    def test_log_prob_sums_over_unknown_labels(self, backend, fields, n_labels, lengths, labels_of):
        potentials = random_potentials(n_labels, lengths, fields=fields)
        labels = labels_of(potentials, lowest=-1)
        chain = LinearChain(potentials, backend=backend)
        assert_close(chain.log_prob(labels), BruteForce(potentials).log_prob(labels.numpy()))

    def test_log_prob_of_sets_of_labels(self, backend, fields, n_labels, lengths):
        potentials = random_potentials(n_labels, lengths, fields=fields)
        generator = torch.Generator().manual_seed(7)
        allowed = torch.rand(potentials.n_tokens, n_labels, generator=generator) < 0.6
        allowed[:, -1] = True
        chain = LinearChain(potentials, backend=backend)
        assert_close(
            chain.log_prob_of(allowed), BruteForce(potentials).log_prob_of(allowed.numpy())
        )

    def test_marginals(self, backend, fields, n_labels, lengths):
        potentials = random_potentials(n_labels, lengths, fields=fields)
        chain = LinearChain(potentials, backend=backend)
        assert_close(chain.marginals, BruteForce(potentials).marginals)

    def test_expected_counts(self, backend, fields, n_labels, lengths):
        potentials = random_potentials(n_labels, lengths, fields=fields)
        counts = LinearChain(potentials, backend=backend).expected_counts()
        for actual, expected in zip(counts, BruteForce(potentials).expected_counts, strict=True):
            assert_close(actual, expected)


@all_fields
@all_shapes
@pytest.mark.parametrize("scale", [1.5, 0], ids=["continuous", "ties"])
def test_argmax_and_max_score_against_enumeration(fields, n_labels, lengths, scale):
    potentials = random_potentials(n_labels, lengths, fields=fields, scale=scale)
    chain = LinearChain(potentials)
    expected = BruteForce(potentials)
    assert chain.argmax.tolist() == expected.argmax.tolist()
    assert_close(chain.max_score, expected.max_score)


@all_fields
def test_score_is_that_of_the_sequence_in_question(fields, labels_of):
    potentials = random_potentials(3, (3, 0, 4), fields=fields)
    labels = labels_of(potentials)
    chain = LinearChain(potentials)
    expected = chain.log_prob(labels) + chain.log_partition
    assert_close(chain.score(labels), expected.numpy())


def test_unknown_everywhere_is_certain():
    potentials = random_potentials(4, (5, 2))
    labels = torch.full((7,), -1)
    assert LinearChain(potentials).log_prob(labels).tolist() == [0.0, 0.0]


def test_softmax_probabilities_without_transitions():
    potentials = random_potentials(4, (3, 2), fields=())
    expected = torch.softmax(potentials.emissions, dim=1)
    assert torch.allclose(LinearChain(potentials).marginals, expected)


@all_backends
@some_fields
def test_constraints_against_enumeration(backend, fields):
    potentials = random_potentials(3, (4, 1, 0, 2), fields=fields)
    constraints = Constraints(
        transitions=np.array([[1, 1, 0], [0, 1, 1], [1, 0, 0]], dtype=bool),
        start=np.array([1, 0, 1], dtype=bool),
        end=np.array([1, 1, 0], dtype=bool),
    )
    chain = LinearChain(potentials, constraints=constraints, backend=backend)
    expected = BruteForce(constraints.apply(potentials))
    assert_close(chain.log_partition, expected.log_partition)
    assert_close(chain.marginals, expected.marginals)
    assert chain.argmax.tolist() == expected.argmax.tolist()


@pytest.mark.parametrize("made_inside", [False, True])
@pytest.mark.parametrize("asked_inside", [False, True])
@pytest.mark.parametrize("leaf", [False, True])
@all_backends
@some_fields
def test_inference_mode_makes_no_difference(backend, fields, leaf, asked_inside, made_inside):
    potentials = random_potentials(3, (4, 1, 0, 2), fields=fields)
    chain = LinearChain(potentials, backend=backend)
    expected = (chain.marginals, *chain.expected_counts())
    with torch.inference_mode(made_inside):
        potentials = potentials.map(torch.clone)
        if leaf:
            potentials = potentials.requires_grad_()
    with torch.inference_mode(asked_inside), torch.set_grad_enabled(not leaf):
        chain = LinearChain(potentials, backend=backend)
        found = (chain.marginals, *chain.expected_counts())
    for actual, wanted in zip(found, expected, strict=True):
        assert not actual.requires_grad
        assert_close(actual, wanted.numpy())


@all_backends
@some_fields
def test_mixed_precision_around_it_makes_no_difference(backend, fields):
    potentials = random_potentials(3, (3, 0, 2), fields=fields, dtype=torch.float32)
    chain = LinearChain(potentials, backend=backend)
    expected = (chain.log_partition, chain.marginals, *chain.expected_counts())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        chain = LinearChain(potentials, backend=backend)
        found = (chain.log_partition, chain.marginals, *chain.expected_counts())
    for actual, wanted in zip(found, expected, strict=True):
        assert actual.dtype == wanted.dtype
        assert_close(actual, wanted.numpy())


class TestTypes:
    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
    @all_backends
    @all_fields
    def test_log_scores_are_float64_and_the_rest_in_the_potentials_type(
        self, dtype, backend, fields, labels_of
    ):
        potentials = random_potentials(3, (2, 3), dtype=dtype, fields=fields).requires_grad_()
        chain = LinearChain(potentials, backend=backend)
        log_prob = chain.log_prob(labels_of(potentials))
        log_prob.sum().backward()
        detached = LinearChain(potentials.detach(), backend=backend)
        assert log_prob.dtype == chain.log_partition.dtype == chain.max_score.dtype == torch.float64
        assert {g.dtype for g in potentials.gradients().values()} == {dtype}
        assert detached.marginals.dtype == dtype
        assert {counts.dtype for counts in detached.expected_counts()} == {dtype}
        assert chain.argmax.dtype == torch.int64

    @all_backends
    def test_float32_scores_lose_nothing(self, backend):
        potentials = random_potentials(3, (4, 2), dtype=torch.float32)
        chain = LinearChain(potentials, backend=backend)
        assert_close(chain.log_partition, BruteForce(potentials).log_partition)

    def test_labels_of_any_integer_type(self, labels_of):
        potentials = random_potentials(3, (4, 2))
        labels = labels_of(potentials)
        chain = LinearChain(potentials)
        assert torch.equal(chain.log_prob(labels.to(torch.int32)), chain.log_prob(labels))

    def test_emissions_need_not_be_contiguous(self):
        potentials = random_potentials(3, (4, 2))
        strided = potentials.emissions.t().contiguous().t()
        chain = LinearChain(Potentials(strided, (4, 2), potentials.transitions))
        same = LinearChain(Potentials(potentials.emissions, (4, 2), potentials.transitions))
        assert torch.equal(chain.log_partition, same.log_partition)


class TestChoiceOfBackend:
    def test_marginals_are_differentiable_by_default(self):
        potentials = random_potentials(3, (4, 2)).requires_grad_()
        (LinearChain(potentials).marginals ** 2).sum().backward()
        assert all(bool(g.any()) for g in potentials.gradients().values())

    @all_backends
    def test_marginals_without_a_gradient(self, backend):
        potentials = random_potentials(3, (4, 2)).requires_grad_()
        with torch.no_grad():
            marginals = LinearChain(potentials, backend=backend).marginals
        assert not marginals.requires_grad
        assert_close(marginals, BruteForce(potentials).marginals)

    def test_scaled_backend_refuses_second_derivatives_of_marginals(self):
        potentials = random_potentials(3, (4, 2)).requires_grad_()
        loss = (LinearChain(potentials, backend="scaled").marginals ** 2).sum()
        (gradient,) = torch.autograd.grad(loss, potentials.transitions, create_graph=True)
        with pytest.raises(ValueError, match="P007"):
            gradient.sum().backward()

    def test_scaled_backend_refuses_second_derivatives(self):
        potentials = random_potentials(3, (4, 2)).requires_grad_()
        log_z = LinearChain(potentials, backend="scaled").log_partition.sum()
        (gradient,) = torch.autograd.grad(log_z, potentials.emissions, create_graph=True)
        with pytest.raises(ValueError, match="P007"):
            gradient.sum().backward()

    @pytest.mark.parametrize("fields", [(), ("transitions",)])
    def test_unknown_backend(self, fields):
        with pytest.raises(ValueError, match=r"P100.*logspace, scaled"):
            LinearChain(random_potentials(3, (2,), fields=fields), backend="magic")


@pytest.mark.parametrize("lengths", [(1, 1), (2,)])
def test_off_the_cpu_scores_are_in_the_type_of_the_emissions(lengths):
    """PyTorch's device without numbers stands in for a GPU without kernels."""
    potentials = random_potentials(3, lengths, fields=("end",), dtype=torch.float32)
    fields = {"end": potentials.end.to("meta", torch.float64)}
    moved = Potentials(potentials.emissions.to("meta"), lengths, **fields)
    assert LinearChain(moved).log_partition.dtype == torch.float32


class TestRefusedLabels:
    @pytest.mark.parametrize(
        "labels",
        [
            torch.zeros(4, dtype=torch.long),
            torch.zeros(5, 1, dtype=torch.long),
            torch.zeros(5),
            torch.zeros(5, dtype=torch.bool),
            torch.full((5,), 3),
            torch.full((5,), -2),
            [0, 1, 2, 0, 1],
        ],
        ids=["too few", "too many axes", "floats", "booleans", "too high", "too low", "a list"],
    )
    def test_labels_that_do_not_fit(self, labels):
        chain = LinearChain(random_potentials(3, (2, 3)))
        with pytest.raises(ValueError, match="P003"):
            chain.log_prob(labels)

    def test_unknown_labels_have_no_score(self):
        with pytest.raises(ValueError, match="P003"):
            LinearChain(random_potentials(3, (2,))).score(torch.tensor([0, -1]))

    @pytest.mark.parametrize(
        "allowed",
        [torch.ones(5, 2, dtype=torch.bool), torch.ones(5, 3)],
        ids=["shape", "type"],
    )
    def test_allowed_labels_that_do_not_fit(self, allowed):
        with pytest.raises(ValueError, match="P003"):
            LinearChain(random_potentials(3, (2, 3))).log_prob_of(allowed)


def test_a_former_backend_is_another_name_for_the_definition():
    potentials = random_potentials(3, (4, 2))
    found = LinearChain(potentials, backend="scan").log_partition
    assert torch.equal(found, LinearChain(potentials, backend="logspace").log_partition)
