"""Figures of models, predictions and training runs."""

from typing import TYPE_CHECKING

from ..exports import exports

if TYPE_CHECKING:
    from .activations import Inspection as Inspection
    from .activations import inspecting as inspecting
    from .attention import Insight as Insight
    from .attention import look_inside as look_inside
    from .diagram import draw_model as draw_model
    from .label_map import LabelMap as LabelMap
    from .label_map import LabelVectors as LabelVectors
    from .label_map import label_vectors as label_vectors
    from .label_map import map_labels as map_labels
    from .lattice import Lattice as Lattice
    from .lattice import draw_lattice as draw_lattice
    from .lattice import make_lattice as make_lattice

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "activations": ["Inspection", "inspecting"],
        "attention": ["Insight", "look_inside"],
        "diagram": ["draw_model"],
        "label_map": ["LabelMap", "LabelVectors", "label_vectors", "map_labels"],
        "lattice": ["Lattice", "draw_lattice", "make_lattice"],
    },
)
