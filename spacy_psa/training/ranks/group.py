"""The processes that train together, and what they tell each other."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import Tensor

from ...errors import Errors
from .place import Place

if TYPE_CHECKING:
    from torch.distributed import Work

ValueT = TypeVar("ValueT")


class Group:
    """The group of processes that this one belongs to. Each method must be called by all of them,
    in the same order.

    place (Place): The place of this process.
    timeout (float): The seconds that it waits for another one.
    """

    def __init__(self, place: Place, timeout: float) -> None:
        self.place = place
        self._timeout = timeout

    @property
    def is_first(self) -> bool:
        """Whether this is rank 0, the only one that writes."""
        return self.place.rank == 0

    def begin_sum(self, value: float) -> Callable[[], float]:
        """Start to add up a number, and go on without waiting for the others.

        value (float): The number of this rank.
        RETURNS (Callable[[], float]): Waits for the sum and returns it.
        """
        total = torch.tensor([value], dtype=torch.float64)
        with self._peer_errors():
            work: Work | None = _distributed().all_reduce(total, async_op=True)

        def wait() -> float:
            with self._peer_errors():
                if work is not None:
                    work.wait()
            return total.item()

        return wait

    def sum(self, values: Sequence[float]) -> list[float]:
        """RETURNS (List[float]): The sums of numbers over all ranks, in float64."""
        total = torch.tensor(values, dtype=torch.float64)
        self.sum_tensor(total)
        return total.tolist()

    def sum_tensor(self, tensor: Tensor) -> None:
        """Add up a tensor over all ranks, in place. All ranks get the same bits.

        tensor (Tensor): The tensor.
        """
        with self._peer_errors():
            _distributed().all_reduce(tensor)

    def share(self, value: ValueT) -> ValueT:
        """RETURNS: The value of rank 0."""
        values = [value if self.is_first else None]
        with self._peer_errors():
            _distributed().broadcast_object_list(values, device=torch.device("cpu"))
        return values[0]  # type: ignore[return-value]

    def share_tensors(self, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        """Copy the tensors of rank 0 to all ranks, without pickling them.

        tensors (Dict[str, Tensor]): Those of rank 0; the others' are ignored.
        RETURNS (Dict[str, Tensor]): The tensors of rank 0, on the CPU.
        """
        kinds = self.share([(name, t.shape, t.dtype) for name, t in tensors.items()])
        shared = {}
        for name, shape, dtype in kinds:
            tensor = tensors[name].cpu() if self.is_first else torch.empty(shape, dtype=dtype)
            if tensor.numel():
                with self._peer_errors():
                    _distributed().broadcast(tensor.contiguous().view(-1).view(torch.uint8), 0)
            shared[name] = tensor
        return shared

    def collect(self, value: ValueT) -> list[ValueT]:
        """RETURNS (List): The values of all ranks on rank 0, and nothing on others."""
        values: list[Any] | None = [None] * self.place.size if self.is_first else None
        with self._peer_errors():
            _distributed().gather_object(value, values)
        return values or []

    def first(self, check: Callable[[], ValueT]) -> ValueT:
        """Let rank 0 check something that the others would find as well. If it raises an error,
        the others end without another message.

        check (Callable): The check.
        RETURNS: What it returned on rank 0.
        RAISES (SystemExit): On other ranks, if it has raised an error on rank 0.
        """
        if not self.is_first:
            passed, value = self.share((False, None))
            if not passed:
                raise SystemExit(1)
            return value  # type: ignore[return-value]
        try:
            found = check()
        except BaseException:
            self.share((False, None))
            raise
        self.share((True, found))
        return found

    def _peer_errors(self) -> AbstractContextManager[None]:
        return _peer_errors(self._timeout)


@contextmanager
def join(place: Place, use_gpu: int, timeout: float) -> Iterator[Group]:
    """Join the other processes: with gloo, and on GPUs with NCCL for all that is on the GPU.

    place (Place): The place of this process.
    use_gpu (int): The number of its GPU, or -1 for the CPU.
    timeout (float): The seconds to wait for another process, which may be frozen or cut off. One
        that ends closes its connections, which is noticed at once.
    YIELDS (Group): The group.
    RAISES (ValueError): If the GPU or NCCL is missing, or the others cannot be reached.
    """
    distributed = _distributed()
    if use_gpu >= 0:
        n = torch.cuda.device_count()
        if use_gpu >= n or not distributed.is_nccl_available():
            raise ValueError(Errors.P522.format(rank=place.rank, gpu=use_gpu, n=n))
    backend = "gloo" if use_gpu < 0 else "cpu:gloo,cuda:nccl"
    with _peer_errors(timeout):
        distributed.init_process_group(
            backend,
            rank=place.rank,
            world_size=place.size,
            timeout=timedelta(seconds=timeout),
        )
    # After an error, the process ends without further words: the others notice that.
    yield Group(place, timeout)
    with _peer_errors(timeout):
        distributed.barrier()  # the connections of others may still pass through this one
    distributed.destroy_process_group()


def _distributed() -> Any:
    """`torch.distributed`, which those who train alone need not have."""
    import torch.distributed

    if not torch.distributed.is_available():
        raise ValueError(Errors.P521.format(problem="this PyTorch has no torch.distributed"))
    return torch.distributed


@contextmanager
def _peer_errors(timeout: float) -> Iterator[None]:
    """RAISES (ValueError): If another rank cannot be reached."""
    try:
        yield
    except RuntimeError as error:  # also `torch.distributed.DistError`, and timeouts
        problem = str(error).strip().partition("\n")[0][:300]
        if re.search(r"time(d )?[\s-]?out", problem, re.IGNORECASE):
            raise ValueError(Errors.P528.format(seconds=timeout, problem=problem)) from error
        raise ValueError(Errors.P521.format(problem=problem)) from error
