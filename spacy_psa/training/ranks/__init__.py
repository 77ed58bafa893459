"""Data-parallel training: several processes, the ranks, take the steps that one would take.

Every rank reads the same corpus and forms the same batches, but computes the gradient of its own
share only (shares.py). Before an update, the gradients of all ranks are added up (gradients.py), so
that all of them take the same step. A loss that is a mean over the batch is weighted by each rank's
part of it (see `Learner`). Only rank 0 writes files.
"""

from .group import Group, join
from .place import Place, find_place
from .ranked_run import RankedRun

__all__ = ["Group", "Place", "RankedRun", "find_place", "join"]
