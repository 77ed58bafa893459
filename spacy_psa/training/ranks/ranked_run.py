"""A training run of several processes, the ranks. Each makes the same calls in the same order.

They begin with the weights of rank 0, but draw their own random numbers. Then they do what a
`TrainingRun` does, but for the methods that are overridden: what the loop gets for the pipeline is
a `RankedPipeline`; rank 0 alone reads the checkpoint and writes files, and it writes the random
states of all ranks.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from spacy.language import Language
from torch import Tensor

from ...errors import Errors
from ..checkpoint import Checkpoint
from ..random_state import RandomState, restore_device
from ..replay import ReplayedPipeline, Scores
from ..run import Info, TrainingRun
from ..state import read_state, write_state
from .group import Group
from .ranked_pipeline import RankedPipeline, evaluated_together

# Settings of [training] that rank 0 alone needs
OF_FIRST = ("logger", "before_to_disk")


class RankedRun(TrainingRun):
    """A training run of which this process is one rank. Rank 0 writes what is written.

    nlp (Language): The initialized pipeline.
    output (Path): The folder for the saved pipelines and the checkpoint, which only rank 0 needs.
    group (Group): The ranks.
    **settings: See `TrainingRun`.
    RAISES (ValueError): If the ranks do not have the same pipeline and settings.
    """

    def __init__(self, nlp: Language, output: Path, *, group: Group, **settings: Any) -> None:
        if not group.is_first:
            settings["keep_epochs"] = ()
        super().__init__(nlp, output, **settings)
        self.group = group
        self.evaluated = evaluated_together(nlp, group)
        self.stream_start = RandomState.from_dict(group.share(self.stream_start.to_dict()))
        self.stream_start.restore()  # without a seed, each process has begun elsewhere
        self._share_state()
        self._draw_apart()

    def _share_state(self) -> None:
        """Begin with the weights of rank 0, even without a seed."""
        tensors, rest = read_state(self.nlp, self.optimizer, [])
        # Other sections have paths, which may differ between machines
        training = self.config["training"].items()
        found = {
            "settings in [training]": {k: v for k, v in training if k not in OF_FIRST},
            "options --checkpoint-every": self.checkpoint_every,
            "labels": rest["labels"],
            "layers": [(k, t.shape) for k, t in tensors.items() if k.startswith("weights/")],
        }
        expected = self.group.share(found)
        for what, own in found.items():
            if own != expected[what]:
                rank = self.group.place.rank
                raise ValueError(Errors.P524.format(rank=rank, what=what))
        shared, rest = self.group.share_tensors(tensors), self.group.share(rest)
        if not self.group.is_first:
            write_state(self.nlp, self.optimizer, [], shared, rest)

    def _draw_apart(self) -> None:
        """Let each rank draw numbers of its own, e.g. for dropout, that follow from the state of
        rank 0. Python's own numbers stay the same on all of them: with these, spaCy's parsers
        choose the length of what they learn from, for a whole batch."""
        seeds = np.random.randint(2**31 - 1, size=2)
        if not self.group.is_first:
            drawn, for_torch = np.random.SeedSequence(
                [*map(int, seeds), self.group.place.rank]
            ).generate_state(2)
            np.random.seed(drawn)
            torch.manual_seed(int(for_torch))

    def _make_pipeline(self, evaluate: Callable[[], Scores]) -> ReplayedPipeline:
        scores = self.saved.scores if self.saved else []
        return RankedPipeline(
            self.nlp,
            evaluate,
            self.T["before_update"],
            scores,
            frozen=self.frozen,
            group=self.group,
        )

    def _prepare_output(self) -> None:
        if self.group.is_first:
            super()._prepare_output()

    def _make_logger(self) -> tuple[Callable[[Info | None], None], Callable[[], None]]:
        if self.group.is_first:
            return super()._make_logger()
        return lambda info: None, lambda: None

    def _read_tensors(self) -> dict[str, Tensor]:
        tensors = super()._read_tensors() if self.group.is_first else {}
        return self.group.share_tensors(tensors)

    def _restore_random(self, saved: Checkpoint) -> None:
        rank, others = self.group.place.rank, saved.others
        if len(others) + 1 == self.group.place.size and rank > 0:
            RandomState.from_dict(others[rank - 1]["random"]).restore()
            restore_device(others[rank - 1]["device"])
            return
        super()._restore_random(saved)
        if len(others) + 1 != self.group.place.size:
            self._draw_apart()

    def _random_states(self) -> list[dict[str, Any]]:
        """Those of all ranks, on rank 0."""
        return [state for [state] in self.group.collect(super()._random_states())]

    def _save_pipeline(self, is_best: bool) -> None:
        if self.group.is_first:
            super()._save_pipeline(is_best)

    def _write_checkpoint(self, checkpoint: Checkpoint, tensors: dict[str, Tensor]) -> None:
        if self.group.is_first:
            super()._write_checkpoint(checkpoint, tensors)
