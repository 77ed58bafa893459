"""Say so if results in bfloat16 depend on the batch, as on processors with AMX.

With this extension of Intel's for matrices, oneDNN sums in an order that depends on the number of
rows: the last digits of a vector depend on the other texts of a batch. Only the user can tell
oneDNN not to use it, by an environment variable.
"""

from __future__ import annotations

import os
from functools import cache

import torch
from torch.nn.functional import linear

from ..errors import Warnings, warn
from ..private_names import has_amx

VARIABLES = "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"
WITHOUT_AMX = "AVX512_CORE_BF16"


def warn_of_amx() -> None:
    """Warn if results depend on the number of rows, unless the user has chosen instructions."""
    is_set = any(name in os.environ for name in VARIABLES)
    if torch.backends.mkldnn.is_available() and has_amx() and not is_set and _depends_on_rows():
        warn(Warnings.W012.format(variable=VARIABLES[0], value=WITHOUT_AMX))


@cache
def _depends_on_rows() -> bool:
    generator = torch.Generator(device="cpu").manual_seed(0)
    rows, weight = (
        torch.randn(n, 300, generator=generator, device="cpu").bfloat16() for n in (2048, 600)
    )
    with torch.inference_mode(), torch.autocast("cpu", enabled=False):
        return not torch.equal(linear(rows[:64], weight), linear(rows, weight)[:64])
