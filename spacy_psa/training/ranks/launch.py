"""Start the ranks of one machine, by the launcher of torchrun."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence

from ...errors import Errors
from .place import NUMBERS

# Which it handles, and goes on handling
SIGNALS = [
    getattr(signal, name)
    for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT")
    if hasattr(signal, name)
]
LAUNCHER_LOGGERS = ("torch.distributed.launcher", "torch.distributed.elastic")


def check_workers(n: int) -> None:
    """Check that processes can be started here.

    n (int): The number of processes.
    RAISES (ValueError): If it is less than 1, or if this is one of several processes already.
    """
    if n < 1:
        raise ValueError(Errors.P526.format(n=n))
    found = [name for name in NUMBERS if os.environ.get(name)]
    if found:
        raise ValueError(Errors.P525.format(names=", ".join(found)))


def launch(n: int, arguments: Sequence[str]) -> None:
    """Run Python in several processes of this machine, with torchrun's variables, until all have
    ended. If one fails, the others are ended as well.

    n (int): The number of processes.
    arguments (Sequence[str]): The arguments of Python.
    RAISES (ValueError): If a process was killed.
    RAISES (SystemExit): If a process failed, which has said why.
    """
    import logging

    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    for name in LAUNCHER_LOGGERS:
        # It logs how it ends the others
        logging.getLogger(name).setLevel(logging.CRITICAL)
    # All cores, shared out, unless the user has said otherwise
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // n)))
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=n,
        run_id="psa",
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        local_addr="127.0.0.1",
        max_restarts=0,
        monitor_interval=0.1,
    )
    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        elastic_launch(config, sys.executable)(*arguments)
    except SignalException as error:
        raise SystemExit(128 + error.sigval) from error
    except ChildFailedError as error:
        # Those that were ended because another had failed have SIGTERM
        codes = {rank: failure.exitcode for rank, failure in error.failures.items()}
        killed = [(r, -c) for r, c in codes.items() if c < 0 and -c != signal.SIGTERM]
        if not killed:
            raise SystemExit(1) from error
        rank, number = killed[0]
        how = f"was killed by {signal.Signals(number).name}"
        raise ValueError(Errors.P527.format(rank=rank, how=how)) from error
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
