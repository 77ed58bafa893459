"""Networks in bfloat16 say so if AMX makes their results depend on the batch."""

from __future__ import annotations

import os
from typing import Any

import pytest
import torch
from torch import nn

from spacy_psa.acceleration import bfloat16
from spacy_psa.acceleration.reduced_precision import reduce_precision

WARNED = "[W012]"


@pytest.fixture(autouse=True)
def on_a_processor_with_amx(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in bfloat16.VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: True)
    monkeypatch.setattr(bfloat16, "has_amx", lambda: True)


@pytest.mark.parametrize("depends", [False, True])
def test_warns_if_results_depend_on_the_batch(
    depends: bool, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    monkeypatch.setattr(bfloat16, "_depends_on_rows", lambda: depends)
    reduce_precision(nn.Linear(2, 2), "bf16")
    assert [WARNED in str(w.message) for w in recwarn] == [True] * depends
    assert all("ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16" in str(w.message) for w in recwarn)


@pytest.mark.parametrize("name", bfloat16.VARIABLES)
def test_leaves_the_users_choice(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bfloat16, "_depends_on_rows", lambda: pytest.fail("not to be asked"))
    monkeypatch.setenv(name, "DEFAULT")
    reduce_precision(nn.Linear(2, 2), "bf16")
    assert os.environ[name] == "DEFAULT"


@pytest.mark.parametrize(
    ("where", "missing"), [(torch.backends.mkldnn, "is_available"), (bfloat16, "has_amx")]
)
def test_other_processors_are_left_alone(
    where: Any, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bfloat16, "_depends_on_rows", lambda: pytest.fail("not to be asked"))
    monkeypatch.setattr(where, missing, lambda: False)
    reduce_precision(nn.Linear(2, 2), "bf16")


def test_networks_in_full_precision_may_use_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bfloat16, "_depends_on_rows", lambda: pytest.fail("not to be asked"))
    reduce_precision(nn.Linear(2, 2), "fp32")


def test_the_environment_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    before = dict(os.environ)
    bfloat16._depends_on_rows.cache_clear()
    reduce_precision(nn.Linear(2, 2), "bf16")
    assert os.environ == before
