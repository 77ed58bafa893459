import itertools
import json
import sys
from types import SimpleNamespace
from typing import NamedTuple

import pytest
import torch

from benchmarks import crf
from benchmarks.crf_peers import PEERS, installed
from benchmarks.machine import describe_machine
from spacy_psa.inference import BACKENDS, LinearChain, Potentials

pytest.importorskip("torchcrf", reason="pytorch-crf is not installed")

from ..figures.reading import marks, texts


@pytest.fixture
def batch():
    torch.manual_seed(1)
    fields = {"transitions": torch.randn(4, 4), "start": torch.randn(4), "end": torch.randn(4)}
    potentials = Potentials(torch.randn(15, 4), (5, 5, 5), **fields)
    return potentials, torch.randint(4, (15,)), torch.randn(15, 4)


@pytest.mark.parametrize("peer", installed())
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("task", ["loss", "marginals"])
def test_all_systems_compute_the_same(batch, backend, task, peer):
    ours = crf.our_tasks(backend, *batch)[task]()
    theirs = PEERS[peer].make(*batch)[task]()
    for found, expected in zip(ours, theirs, strict=True):
        torch.testing.assert_close(found.float(), expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("peer", installed())
def test_all_systems_find_the_same_best_sequences(batch, peer):
    found = PEERS[peer].make(*batch)["viterbi"]()
    assert found.tolist() == LinearChain(batch[0]).argmax.tolist()


class BruteForceCRF:
    """Brute-force stand-in for torch-struct's `LinearChainCRF`. `edges[b, n, later, earlier]` are
    the scores of adjacent labels; marginals and the best sequence have the same layout."""

    def __init__(self, edges):
        n, n_labels = edges.shape[1] + 1, edges.shape[2]
        self.sequences = torch.tensor(list(itertools.product(range(n_labels), repeat=n)))
        one_hot = torch.nn.functional.one_hot(self.sequences, n_labels).to(edges)
        self.parts = one_hot[:, 1:, :, None] * one_hot[:, :-1, None, :]
        self.scores = torch.einsum("snij,bnij->bs", self.parts, edges)
        self.partition = self.scores.logsumexp(1)
        self.marginals = torch.einsum("bs,snij->bnij", self.scores.softmax(1), self.parts)
        self.argmax = self.parts[self.scores.argmax(1)]


class Concatenated(NamedTuple):
    """Stand-in for torchrua's `C`: concatenated sequences."""

    data: torch.Tensor
    token_sizes: torch.Tensor


class BruteForceDecoder(torch.nn.Module):
    """Brute-force stand-in for torchlatent's `CrfDecoder`."""

    def __init__(self, num_targets):
        super().__init__()
        self.transitions = torch.nn.Parameter(torch.zeros(num_targets, num_targets))
        self.head_transitions = torch.nn.Parameter(torch.zeros(num_targets))
        self.last_transitions = torch.nn.Parameter(torch.zeros(num_targets))

    def forward(self, emissions):
        n_labels = emissions.data.shape[1]
        each = emissions.data.split(emissions.token_sizes.tolist())
        found, best, log_z, scores_of = [], [], [], []
        for scores in each:
            sequences = torch.tensor(list(itertools.product(range(n_labels), repeat=len(scores))))
            total = scores[torch.arange(len(scores)), sequences].sum(1)
            total = total + self.transitions[sequences[:, :-1], sequences[:, 1:]].sum(1)
            total = total + self.head_transitions[sequences[:, 0]]
            total = total + self.last_transitions[sequences[:, -1]]
            one_hot = torch.nn.functional.one_hot(sequences, n_labels).to(total)
            found.append(torch.einsum("s,snl->nl", total.softmax(0), one_hot))
            best.append(sequences[total.argmax()])
            log_z.append(total.logsumexp(0))
            scores_of.append(dict(zip(map(tuple, sequences.tolist()), total, strict=True)))

        def log_probs(targets):
            rows = targets.data.split(targets.token_sizes.tolist())
            chosen = [by[tuple(row.tolist())] for by, row in zip(scores_of, rows, strict=True)]
            return torch.stack(chosen) - torch.stack(log_z)

        argmax = emissions._replace(data=torch.cat(best))
        return SimpleNamespace(log_probs=log_probs, marginals=torch.cat(found), argmax=argmax)


def test_torch_struct_gets_the_scores_as_it_wants_them(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch_struct", SimpleNamespace(LinearChainCRF=BruteForceCRF))
    assert_same(PEERS["torch-struct"].make)


def assert_same(make):
    """Check that a peer agrees with our CRF on random scores."""
    torch.manual_seed(2)
    fields = {"transitions": torch.randn(3, 3), "start": torch.randn(3), "end": torch.randn(3)}
    potentials = Potentials(torch.randn(8, 3), (4, 4), **fields)
    batch = (potentials, torch.randint(3, (8,)), torch.randn(8, 3))
    ours, theirs = crf.our_tasks("logspace", *batch), make(*batch)
    for task in ("loss", "marginals"):
        for found, expected in zip(theirs[task](), ours[task](), strict=True):
            torch.testing.assert_close(found, expected.float(), rtol=1e-3, atol=1e-4)
    assert theirs["viterbi"]().tolist() == LinearChain(potentials).argmax.tolist()


def run_main(monkeypatch, folder) -> dict:
    arguments = ["--shapes", "2x3", "1x4", "--labels", "2", "3", "--repeat", "2"]
    monkeypatch.setattr(sys, "argv", ["crf", *arguments, "--output", str(folder)])
    crf.main()
    return json.loads((folder / "crf.json").read_text(encoding="utf8"))


def test_results_have_every_case_and_system(monkeypatch, tmp_path):
    results = run_main(monkeypatch, tmp_path)
    sizes = [(c["sentences"], c["tokens"], c["labels"]) for c in results["cases"]]
    assert sizes == [(2, 3, 2), (2, 3, 3), (1, 4, 2), (1, 4, 3)]
    for case in results["cases"]:
        for task, times in case["milliseconds"].items():
            # "fused" is for GPUs: on a CPU it is another backend, or slow
            ours = ["spacy-psa"] if task == "viterbi" else ["scaled", "logspace"]
            assert list(times) == [*ours, *installed()]
            for time in times.values():
                assert 0 <= time["lowest"] <= time["median"] <= time["highest"]
    assert {"processor", "threads", "torch", "numpy", "pytorch-crf"} <= set(results["machine"])
    table = (tmp_path / "crf.md").read_text(encoding="utf8")
    assert table.count("| 2 × 3 × 3 |") == 3
    image = (tmp_path / "crf.svg").read_text(encoding="utf8")
    assert "spacy-psa, 2 × 3" in texts(image)
    assert sum("spacy-psa, 2 × 3" in name for name in marks(image, "point")) == 2
    assert "\n".join(crf.tables(results)).count("| 2 × 3 × 3 |") == 3


def test_a_gpu_has_all_backends():
    assert crf.our_backends("cuda") == list(BACKENDS)
    assert crf.our_backends("cpu") == ["scaled", "logspace"]
    assert set(crf.MAX_NUMBERS_OURS) == set(BACKENDS)


def test_peers_that_are_not_installed_and_cases_that_do_not_fit_are_left_out(monkeypatch, tmp_path):
    monkeypatch.setattr(crf, "installed", dict)
    monkeypatch.setattr(crf, "MAX_NUMBERS", 50)
    monkeypatch.setattr(crf, "MAX_NUMBERS_OURS", {"scaled": 50, "logspace": 20})
    results = run_main(monkeypatch, tmp_path)
    sizes = [(c["sentences"], c["tokens"], c["labels"]) for c in results["cases"]]
    assert sizes == [(2, 3, 2), (1, 4, 2), (1, 4, 3)]
    shown = [list(case["milliseconds"]["loss"]) for case in results["cases"]]
    assert shown == [["scaled"], ["scaled", "logspace"], ["scaled"]]
    assert "–" in (tmp_path / "crf.md").read_text(encoding="utf8")


def test_ratios_are_those_to_the_last_system():
    times = {"scaled": {"median": 2.0}, "pytorch-crf": {"median": 9.0}}
    case = {"sentences": 1, "tokens": 2, "labels": 3}
    case["milliseconds"] = dict.fromkeys(crf.TASKS, times)
    machine = {**describe_machine(), "threads": 1}
    text = crf.to_markdown(
        {"machine": machine, "clock": "processor", "repetitions": 3, "cases": [case]}
    )
    assert "| 1 × 2 × 3 | 2.00 (4.50) | 9.00 (1.00) |" in text


def test_a_peer_is_left_out_of_cases_beyond_its_limit(monkeypatch, tmp_path):
    # The (tokens, L, L) tensors of the cases have 24, 54, 16 and 36 elements
    monkeypatch.setitem(PEERS, "pytorch-crf", PEERS["pytorch-crf"]._replace(limit=24))
    cases = run_main(monkeypatch, tmp_path)["cases"]
    assert ["pytorch-crf" in case["milliseconds"]["loss"] for case in cases] == [
        True,
        False,
        True,
        False,
    ]


def test_torchlatent_gets_the_scores_as_it_wants_them(monkeypatch):
    modules = {
        "torchlatent.crf": SimpleNamespace(CrfDecoder=BruteForceDecoder),
        "torchrua": SimpleNamespace(C=Concatenated),
    }
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(sys.modules, "torchlatent", SimpleNamespace())
    assert_same(PEERS["torchlatent"].make)
