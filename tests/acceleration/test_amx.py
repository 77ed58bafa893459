"""oneDNN computes networks in bfloat16 without AMX, if there is still time to say so."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest
import torch
from torch import nn

from spacy_psa.acceleration import amx
from spacy_psa.acceleration.reduced_precision import reduce_precision

WARNED = "[W012]"
SCRIPT = """
import os, sys, torch
from torch import nn
from spacy_psa.acceleration.bfloat16 import BFloat16Linear
from spacy_psa.acceleration.reduced_precision import reduce_precision

if "late" in sys.argv:
    torch.ops.mkldnn._linear_pointwise(torch.ones(64, 64), torch.ones(64, 64), None, "none", [], "")
reduce_precision(nn.Linear(2, 2), "bf16")
torch.manual_seed(0)
layer, x = BFloat16Linear(nn.Linear(300, 600)), torch.randn(2048, 300)
with torch.no_grad():
    print(torch.equal(layer(x[:64]), layer(x)[:64]), [n for n in os.environ if "CPU_ISA" in n])
"""


@pytest.fixture(autouse=True)
def on_a_processor_with_amx(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in amx.VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: True)
    monkeypatch.setattr(amx, "has_amx", lambda: True)


@pytest.mark.parametrize("is_used", [False, True])
def test_warns_if_it_is_too_late(
    is_used: bool, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    monkeypatch.setattr(amx, "_is_used", lambda: is_used)
    reduce_precision(nn.Linear(2, 2), "bf16")
    assert [WARNED in str(w.message) for w in recwarn] == [True] * is_used
    assert all("ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16" in str(w.message) for w in recwarn)


@pytest.mark.parametrize("name", amx.VARIABLES)
def test_leaves_the_users_choice(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(amx, "_is_used", lambda: pytest.fail("not to be asked"))
    monkeypatch.setenv(name, "DEFAULT")
    reduce_precision(nn.Linear(2, 2), "bf16")
    assert os.environ[name] == "DEFAULT"


@pytest.mark.parametrize(
    ("where", "missing"), [(torch.backends.mkldnn, "is_available"), (amx, "has_amx")]
)
def test_other_processors_are_left_alone(
    where: Any, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(amx, "_is_used", lambda: pytest.fail("not to be asked"))
    monkeypatch.setattr(where, missing, lambda: False)
    reduce_precision(nn.Linear(2, 2), "bf16")


def test_networks_in_full_precision_may_use_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(amx, "_is_used", lambda: pytest.fail("not to be asked"))
    reduce_precision(nn.Linear(2, 2), "fp32")


def test_the_variable_is_set_only_while_it_is_read() -> None:
    amx._is_used.cache_clear()
    amx._is_used()
    assert not any(name in os.environ for name in amx.VARIABLES)


@pytest.mark.parametrize("late", [False, True])
def test_rows_do_not_depend_on_others(late: bool) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *["late"] * late],
        capture_output=True,
        text=True,
        check=True,
        env={name: value for name, value in os.environ.items() if name not in amx.VARIABLES},
    )
    has_amx = getattr(torch.cpu, "_is_amx_tile_supported", bool)()
    assert done.stdout == f"{not (late and has_amx)} []\n"
    assert (WARNED in done.stderr) == (late and has_amx)
