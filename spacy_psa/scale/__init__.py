"""Bulk annotation: any number of documents, on one machine or many.

`bulk` is what users call, and imports nothing; `file_run` is a run over files, `in_memory`
annotates tables. `inputs` finds files, `blocks` divides them, `reading` reads a block, `annotating`
runs the pipeline, `output_columns` has what it found, `shards` writes that, and `manifest` knows
what is finished. `work` is what a worker does, whoever starts it: `local` or `ray_data`. Only
`schema`, `parquet`, `in_memory` and `ray_data` import pyarrow, which `inputs` needs for zstd and
URIs, too.
"""

from typing import TYPE_CHECKING

from ..exports import exports

if TYPE_CHECKING:
    from .bulk import Summary as Summary
    from .bulk import apply as apply

__all__, __getattr__, __dir__ = exports(__name__, {"bulk": ["Summary", "apply"]})
