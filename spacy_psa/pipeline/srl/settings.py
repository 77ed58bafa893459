"""The settings of `psa_srl`."""

from pathlib import Path

from thinc.api import Config

from ..settings import FLAG, LABELS, MAX_GRAD_NORM, SMOOTHING, Setting

# DeepAtt (Tan et al. 2018), smaller
DEFAULT_SRL_MODEL = Config().from_disk(Path(__file__).with_name("model.cfg"))["model"]
SETTINGS: dict[str, Setting] = {
    "labels": LABELS,
    "allow_space": FLAG,
    "label_smoothing": SMOOTHING,
    "max_grad_norm": MAX_GRAD_NORM,
}
