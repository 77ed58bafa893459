"""The most memory that a process held."""

import resource
import sys
from pathlib import Path

MIB = 1 << 20


def peak() -> float:
    """RETURNS (float): The peak resident set size of this process so far, in MiB."""
    status = Path("/proc/self/status")
    if status.is_file():
        # In a new process, getrusage starts from the value of the parent
        (line,) = (x for x in status.read_text().splitlines() if x.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size / MIB if sys.platform == "darwin" else size / 1024
