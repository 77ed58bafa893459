"""When training steps are run as CUDA graphs, and that this changes nothing.

Without a GPU, nothing can be recorded: a stand-in runs the function instead.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from spacy_psa.acceleration.cuda import graphed
from spacy_psa.acceleration.cuda.graphed import FREQUENT, MOST_GRAPHS, STEP
from spacy_psa.acceleration.cuda.recording import fresh_leaves, leave_recording
from spacy_psa.errors import Warnings
from spacy_psa.inference import Potentials
from spacy_psa.layers import (
    PLAIN,
    BiLSTM,
    Chain,
    ContextFusion,
    LabelAttention,
    LabelMarginals,
    LabelRefinement,
    LabelSet,
    PSABias,
    RefiningLayer,
    ResidualNorm,
    using,
)
from spacy_psa.layers.decoders import CRFDecoder
from spacy_psa.layers.deepatt import DeepAtt
from spacy_psa.layers.labeler import SequenceLabelerNetwork
from spacy_psa.layers.mask import SequenceMask
from spacy_psa.models.batches import make_layout

from ..layers.helpers import assert_close, normal, randomized
from .graph_stand_in import StandIn, use_stand_in

WIDTH, LABELS = 6, 3
LENGTHS = [4, 1, 6, 2]


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> type[StandIn]:
    return use_stand_in(monkeypatch)


def make(*, cuda_graphs: bool) -> SequenceLabelerNetwork:
    encoder = Chain(
        WIDTH,
        [
            ContextFusion(WIDTH, bias=PSABias, dropout=0.0),
            BiLSTM(WIDTH, hidden_width=8, input_dropout=0.0, output_dropout=0.0),
        ],
    )
    run = graphed.GraphedBody() if cuda_graphs else None
    network = SequenceLabelerNetwork(encoder, CRFDecoder(8, LABELS), run=run)
    return randomized(network).train()


def run(network: SequenceLabelerNetwork, lengths: list[int], seed: int = 0) -> Potentials:
    x = normal(sum(lengths), WIDTH, seed=seed).requires_grad_()
    return network(x, make_layout(lengths, max_length=512, overlap=64))


def learn(network: SequenceLabelerNetwork, lengths: list[int], seed: int = 0) -> list[Tensor]:
    """The emissions and all gradients, of which there are none afterwards."""
    x = normal(sum(lengths), WIDTH, seed=seed).requires_grad_()
    potentials = network(x, make_layout(lengths, max_length=512, overlap=64))
    potentials.emissions.square().sum().backward()
    gradients = [p.grad for p in network.parameters() if p.grad is not None]
    network.zero_grad()
    return [potentials.emissions.detach(), x.grad, *gradients]


def gradients_of(network: SequenceLabelerNetwork) -> list[Tensor]:
    return [parameter.grad for parameter in network.encoder.parameters()]


def assert_all_close(found: list[Tensor], expected: list[Tensor]) -> None:
    for tensor, wanted in zip(found, expected, strict=True):
        assert_close(tensor, wanted, 1e-10)


def test_emissions_and_gradients_stay_the_same(stand_in: type[StandIn]) -> None:
    network, plain = make(cuda_graphs=True), make(cuda_graphs=False)
    for seed in range(4):
        assert_all_close(learn(network, LENGTHS, seed), learn(plain, LENGTHS, seed))
    assert stand_in.made == 1


def test_only_frequent_shapes_are_recorded(stand_in: type[StandIn]) -> None:
    network = make(cuda_graphs=True)
    for times in range(1, FREQUENT + 2):
        learn(network, LENGTHS)
        assert stand_in.made == (1 if times >= FREQUENT else 0)
    # Of another shape, but padded to the same
    learn(network, [STEP, 3])
    assert stand_in.made == 1
    for _ in range(FREQUENT):
        learn(network, [STEP + 1, 3])
    assert stand_in.made == 2


def test_nothing_is_recorded_in_one_of_several_processes(
    stand_in: type[StandIn], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    network, plain = make(cuda_graphs=True), make(cuda_graphs=False)
    with pytest.warns(UserWarning, match=r"\[W011\].*several processes share the batches"):
        assert_all_close(learn(network, LENGTHS), learn(plain, LENGTHS))
    for _ in range(FREQUENT):
        learn(network, LENGTHS)
    assert stand_in.made == 0


def test_there_is_a_limit_to_what_is_recorded(
    stand_in: type[StandIn], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graphed, "MOST_GRAPHS", 1)
    network, plain = make(cuda_graphs=True), make(cuda_graphs=False)
    for lengths in ([3], [20], [40]):
        for _ in range(FREQUENT + 1):
            assert_all_close(learn(network, lengths), learn(plain, lengths))
    assert stand_in.made == 1 < MOST_GRAPHS


def test_gradients_of_several_batches_are_added_up(stand_in: type[StandIn]) -> None:
    network, plain = make(cuda_graphs=True), make(cuda_graphs=False)
    for each in (network, plain):
        for _ in range(FREQUENT):
            learn(each, LENGTHS)
        for seed in (1, 2, 3):
            run(each, LENGTHS, seed).emissions.square().sum().backward()
    assert stand_in.made == 1
    assert_all_close(
        [p.grad for p in network.encoder.parameters()], [p.grad for p in plain.encoder.parameters()]
    )


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_batches_may_be_read_before_others_have_been_learnt(
    order: tuple[int, int], stand_in: type[StandIn]
) -> None:
    network, plain = make(cuda_graphs=True), make(cuda_graphs=False)
    for each in (network, plain):
        for _ in range(FREQUENT):
            learn(each, LENGTHS)
        read = [run(each, LENGTHS, seed) for seed in (1, 2)]
        for i in order:
            read[i].emissions.square().sum().backward()
    assert_all_close(
        [p.grad for p in network.encoder.parameters()], [p.grad for p in plain.encoder.parameters()]
    )


def test_a_batch_that_is_never_learnt_from_does_not_matter(stand_in: type[StandIn]) -> None:
    network = make(cuda_graphs=True)
    for _ in range(FREQUENT):
        learn(network, LENGTHS)
    assert network.run is not None
    unused = run(network, LENGTHS)
    assert not network.run._is_possible(unused.emissions)
    del unused
    assert network.run._is_possible(normal(1, 1, 1).requires_grad_())


def test_operations_that_are_chosen_are_run_instead_of_what_has_been_recorded(
    stand_in: type[StandIn], monkeypatch: pytest.MonkeyPatch
) -> None:
    network, plain = make(cuda_graphs=True), make(cuda_graphs=False)
    with using(PLAIN):
        for _ in range(FREQUENT + 1):
            learn(network, LENGTHS)
    assert not stand_in.made
    for _ in range(FREQUENT):
        learn(network, LENGTHS)
    assert stand_in.made == 1
    monkeypatch.delattr(StandIn, "forward")
    with using(PLAIN):
        assert_all_close(learn(network, LENGTHS), learn(plain, LENGTHS))


def test_parameters_in_another_place_are_recorded_anew(stand_in: type[StandIn]) -> None:
    network, plain = make(cuda_graphs=True), make(cuda_graphs=False)
    for each in (network, plain):
        for _ in range(FREQUENT):
            learn(each, LENGTHS)
        for parameter in each.parameters():
            parameter.data = parameter.data + 0.5
    for _ in range(FREQUENT):
        assert_all_close(learn(network, LENGTHS), learn(plain, LENGTHS))
    assert stand_in.made == 2


def _evaluate(network: nn.Module) -> None:
    network.eval()


def _hook(network: SequenceLabelerNetwork) -> None:
    network.encoder.encoders[0].register_forward_hook(lambda *_: None)


def test_hooks_are_called_even_if_they_come_late(stand_in: type[StandIn]) -> None:
    network, calls = make(cuda_graphs=True), []
    for _ in range(FREQUENT):
        learn(network, LENGTHS)
    network.encoder.encoders[0].register_forward_hook(lambda *_: calls.append(1))
    learn(network, LENGTHS)
    assert stand_in.made == 1 and calls == [1]


@pytest.mark.parametrize("change", [_evaluate, _hook])
def test_other_runs_are_not_recorded(
    change: Callable[[nn.Module], None], stand_in: type[StandIn]
) -> None:
    network = make(cuda_graphs=True)
    change(network)
    for _ in range(FREQUENT + 1):
        learn(network, LENGTHS)
    assert stand_in.made == 0


def test_what_cannot_be_recorded_is_run_with_one_warning(
    stand_in: type[StandIn], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args):
        raise RuntimeError("called a synchronizing CUDA operation.\nMore.")

    monkeypatch.setattr(graphed, "Recording", fail)
    network, plain = make(cuda_graphs=True), make(cuda_graphs=False)
    with pytest.warns(UserWarning) as caught:
        for seed in range(FREQUENT + 2):
            assert_all_close(learn(network, LENGTHS, seed), learn(plain, LENGTHS, seed))
    reason = "called a synchronizing CUDA operation"
    assert [str(w.message) for w in caught] == [Warnings.W011.format(reason=reason)]


def test_copies_start_without_what_has_been_recorded(stand_in: type[StandIn]) -> None:
    network = make(cuda_graphs=True)
    for _ in range(FREQUENT):
        learn(network, LENGTHS)
    copied = copy.deepcopy(network)
    assert copied.run is not None and not copied.run._graphs
    assert not pickle.loads(pickle.dumps(network.run))._graphs
    expected = learn(network, LENGTHS)
    for parameter in network.parameters():
        parameter.data.zero_()
    assert_all_close(learn(copied, LENGTHS), expected)


def test_without_a_gpu_nothing_is_recorded() -> None:
    network = make(cuda_graphs=True)
    for _ in range(FREQUENT + 1):
        learn(network, LENGTHS)
    assert network.run is not None and not network.run._graphs


def refinement(refine: Callable[[LabelSet], nn.Module]) -> LabelRefinement:
    labels = LabelSet(8, LABELS)
    lstms = [BiLSTM(w, hidden_width=8, input_dropout=0.0, output_dropout=0.0) for w in (WIDTH, 8)]
    layer = RefiningLayer(lstms[0], refine(labels), ResidualNorm(8))
    return LabelRefinement([layer], lstms[1], labels=labels.shared_embeddings, input_dropout=0.0)


ENCODERS: dict[str, Callable[[], nn.Module]] = {
    "psa": lambda: make(cuda_graphs=False).encoder,
    "lan": lambda: refinement(lambda labels: LabelAttention(labels.embeddings(), heads=2)),
    "refinement": lambda: refinement(
        lambda labels: LabelMarginals(labels.embeddings(), labels.transitions())
    ),
    "deepatt": lambda: DeepAtt(
        WIDTH, sublayer=None, positions=None, width=8, depth=2, n_heads=2, residual_dropout=0.0
    ),
}


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("name", ENCODERS)
def test_graphs_give_the_same_emissions_and_gradients(name: str) -> None:
    networks = []
    for cuda_graphs in (True, False):
        encoder = ENCODERS[name]()
        run = graphed.GraphedBody() if cuda_graphs else None
        network = SequenceLabelerNetwork(encoder, CRFDecoder(8, LABELS), run=run)
        network = randomized(network, scale=0.3).float().cuda().train()
        for part in network.modules():
            if hasattr(part, "attention_dropout"):
                part.attention_dropout = 0.0
        networks.append(network)
    layout = [make_layout(lengths, max_length=512, overlap=64) for lengths in (LENGTHS, [20, 3])]
    for step in range(8):
        x = normal(sum(layout[step % 2].lengths), WIDTH, seed=step).float().cuda()
        results = []
        for network in networks:
            leaf = x.clone().requires_grad_()
            emissions = network(leaf, layout[step % 2]).emissions
            emissions.square().sum().backward()
            grads = [p.grad for p in network.parameters() if p.grad is not None]
            results.append([emissions.detach(), leaf.grad, *(g.clone() for g in grads)])
            with torch.no_grad():  # in place, as optimizers do
                for parameter in network.parameters():
                    if parameter.grad is not None:
                        parameter -= 0.01 * parameter.grad.clamp(-1, 1)
            network.zero_grad()
        for found, expected in zip(*results, strict=True):
            torch.testing.assert_close(found, expected, atol=1e-3, rtol=1e-2)
    assert networks[0].run is not None and len(networks[0].run._graphs) == 2


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_each_run_draws_its_own_dropout() -> None:
    encoder = ContextFusion(WIDTH, dropout=0.5)
    network = SequenceLabelerNetwork(encoder, CRFDecoder(WIDTH, LABELS), run=graphed.GraphedBody())
    network = randomized(network).float().cuda().train()
    x = normal(sum(LENGTHS), WIDTH).float().cuda().requires_grad_()
    layout = make_layout(LENGTHS, max_length=512, overlap=64)
    found = []
    for _ in range(4):
        emissions = network(x, layout).emissions
        emissions.sum().backward()
        network.zero_grad()
        found.append(emissions.detach())
    assert network.run is not None and network.run._graphs
    assert not torch.equal(found[-1], found[-2])


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_results_that_are_kept_do_not_prevent_recording() -> None:
    network = randomized(make(cuda_graphs=True)).float().cuda().train()
    x = normal(sum(LENGTHS), WIDTH).float().cuda().requires_grad_()
    layout = make_layout(LENGTHS, max_length=512, overlap=64)
    kept = [network(x, layout).emissions for _ in range(FREQUENT + 1)]
    assert network.run is not None and network.run._graphs
    sum(emissions.sum() for emissions in kept).backward()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_random_numbers_can_be_drawn_after_an_error_while_recording() -> None:
    graph = torch.cuda.CUDAGraph()
    with pytest.raises(RuntimeError), torch.cuda.graph(graph):
        torch.rand(1, device="cuda").item()
    leave_recording(torch.device("cuda", torch.cuda.current_device()))
    assert 0.0 <= torch.rand(1, device="cuda").item() < 1.0


def test_replaced_parameters_share_memory_and_are_put_back() -> None:
    network = make(cuda_graphs=False)
    tied = network.encoder.encoders[0]
    tied.hidden.weight = tied.output.weight
    before = dict(network.named_parameters())
    lstms = [module for module in network.modules() if isinstance(module, nn.LSTM)]
    assert lstms
    x, lengths = normal(2, 4, WIDTH), torch.tensor([4, 2])
    scores = network._decoded(x, lengths)
    expected = torch.autograd.grad(scores.sum(), list(network.encoder.parameters()))
    with pytest.raises(ZeroDivisionError), fresh_leaves(network) as leaf_of:
        for name, parameter in network.named_parameters():
            assert parameter is leaf_of[before[name]] is not before[name]
            assert parameter.data_ptr() == before[name].data_ptr()
        leaves = [leaf_of[before[name]] for name in before if name.startswith("encoder")]
        found = torch.autograd.grad(network._decoded(x, lengths).sum(), leaves)
        assert_all_close(list(found), list(expected))
        assert not any(lstm._weights_have_changed() for lstm in lstms)
        raise ZeroDivisionError
    assert all(p is before[name] for name, p in network.named_parameters())
    # If they had, PyTorch would move them to new memory on a GPU
    assert not any(lstm._weights_have_changed() for lstm in lstms)
    after = torch.autograd.grad(
        network._decoded(x, lengths).sum(), list(network.encoder.parameters())
    )
    assert_all_close(list(after), list(expected))


def test_frozen_parameters_are_left_alone(stand_in: type[StandIn]) -> None:
    network = make(cuda_graphs=True)
    frozen = network.encoder.encoders[0].hidden.weight
    frozen.requires_grad_(False)
    for _ in range(FREQUENT + 1):
        learn(network, LENGTHS)
    assert stand_in.made == 1 and frozen.grad is None


def test_padding_to_a_recorded_shape_keeps_the_sequences() -> None:
    vectors, lengths = normal(3, 5, 2), torch.tensor([5, 2, 4])
    padded, longer = graphed._padded(vectors, lengths)
    assert padded.shape == (STEP, STEP, 2)
    assert torch.equal(padded[:3, :5], vectors)
    assert longer.tolist() == [5, 2, 4] + [1] * (STEP - 3)
    assert SequenceMask(longer, STEP).positions.sum() == 11 + STEP - 3
    full = normal(STEP, STEP, 2), torch.full((STEP,), STEP)
    assert graphed._padded(*full) == full
