"""Compile all kernels as they are launched, for a GPU that need not be present.

    python -m tests.inference.triton.compile_all 80 90

The interpreter is lenient: a variable whose shape changes in a loop works there, but not on a GPU.
Every launch is intercepted and compiled for the types of its arguments.
"""

from __future__ import annotations

import sys
from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime.jit import JITFunction

from spacy_psa.acceleration.cuda.operations import fused_scores
from spacy_psa.inference import Potentials
from spacy_psa.inference.engines.max_product import viterbi_fused
from spacy_psa.inference.engines.triton.backend import FusedRecursion
from spacy_psa.inference.engines.triton.launching import add_one

TYPES = {
    torch.float16: "fp16",
    torch.bfloat16: "bf16",
    torch.float32: "fp32",
    torch.float64: "fp64",
    torch.int32: "i32",
    torch.int64: "i64",
}
compiled: set[tuple[Any, ...]] = set()
targets: list[GPUTarget] = []


def catch(kernel: JITFunction, grid: tuple[int, ...]) -> Any:
    """A replacement for launching a kernel that compiles it instead."""

    def launch(
        *arguments: Any, num_warps: int = 4, enable_fp_fusion: bool, **constants: Any
    ) -> None:
        names = kernel.arg_names
        types = {}
        for parameter, value in zip(kernel.params, arguments, strict=False):
            if isinstance(value, torch.Tensor):
                types[parameter.name] = f"*{TYPES[value.dtype]}"
            elif value == 1 and not parameter.do_not_specialize:
                constants[parameter.name] = value  # as in Triton
            else:
                types[parameter.name] = "i32"
        assert set(types) | set(constants) == set(names), (kernel.__name__, names)
        key = (kernel.__name__, num_warps, *types.values(), *constants.values())
        if key in compiled:
            return
        compiled.add(key)
        source = ASTSource(
            fn=kernel,
            signature={**types, **dict.fromkeys(constants, "constexpr")},
            constexprs={(names.index(name),): value for name, value in constants.items()},
        )
        for target in targets:
            options = {"num_warps": num_warps, "enable_fp_fusion": enable_fp_fusion}
            binary = triton.compile(source, target=target, options=options)
            assert binary.asm["cubin"], key
            print(kernel.__name__, target.arch, binary.metadata.shared, *key[1:])

    return launch


def launch_all() -> None:
    """Launch all kernels as in use: with one or several tiles of labels, in several types."""
    add_one(torch.ones(3))
    for n_labels, dtype, computed, has_pairwise in (
        (9, torch.float32, torch.float32, False),
        (45, torch.bfloat16, torch.float32, True),
        (425, torch.float32, torch.float32, False),
        (9, torch.float64, torch.float64, True),
        (1, torch.float32, torch.float32, True),
    ):
        potentials = Potentials(
            torch.zeros(5, n_labels, dtype=dtype),
            (3, 2),
            transitions=torch.zeros(n_labels, n_labels, dtype=dtype),
            pairwise=torch.zeros(5, n_labels, n_labels, dtype=dtype) if has_pairwise else None,
        )
        arguments = (*potentials.fields(), potentials.lengths, computed)
        recursion = FusedRecursion(*arguments, both_sides=True)
        recursion.gradient(torch.ones(5, dtype=computed), pairs=True)
        recursion.derivative(torch.ones(5, n_labels), pairs=True)
        viterbi_fused(potentials)
    for dtype in (torch.float32, torch.float16, torch.float64):
        tensors = [torch.zeros(shape, dtype=dtype) for shape in ((2, 3, 4), (2, 3, 4), (4,))]
        leaves = [tensor.requires_grad_() for tensor in tensors]
        fused_scores(*leaves, torch.tensor([3, 2])).sum().backward()


if __name__ == "__main__":
    targets += [GPUTarget("cuda", int(capability), 32) for capability in sys.argv[1:]]
    JITFunction.__getitem__ = catch  # type: ignore[method-assign]
    launch_all()
