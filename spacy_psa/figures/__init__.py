"""Charts and pages. A leaf: it knows nothing of components, corpora or scores."""

from typing import TYPE_CHECKING

from ..exports import exports

if TYPE_CHECKING:
    from .charts import bar_plot as bar_plot
    from .charts import interval_plot as interval_plot
    from .charts import line_plot as line_plot
    from .heat_maps import heat_map as heat_map
    from .images import stack as stack

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "charts": ["bar_plot", "interval_plot", "line_plot"],
        "heat_maps": ["heat_map"],
        "images": ["stack"],
    },
)
