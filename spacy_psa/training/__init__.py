"""Training as in the papers (optimizers, schedules), with checkpoints and logging."""

from typing import TYPE_CHECKING

from ..exports import exports

if TYPE_CHECKING:
    from .batching import batch_by_propositions as batch_by_propositions
    from .logger import jsonl_logger as jsonl_logger
    from .optimizers import create_adadelta as create_adadelta
    from .optimizers import create_adamw as create_adamw
    from .optimizers import create_sgd as create_sgd
    from .parameter_groups import note_pipeline as note_pipeline
    from .saving import create_atomic_to_disk as create_atomic_to_disk
    from .schedules import halving as halving
    from .schedules import inverse_epoch_decay as inverse_epoch_decay

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "batching": ["batch_by_propositions"],
        "logger": ["jsonl_logger"],
        "optimizers": ["create_adadelta", "create_adamw", "create_sgd"],
        "parameter_groups": ["note_pipeline"],
        "saving": ["create_atomic_to_disk"],
        "schedules": ["halving", "inverse_epoch_decay"],
    },
)
