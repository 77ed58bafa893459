"""Readers of published formats, which become Docs."""

from typing import TYPE_CHECKING

from ..exports import exports

if TYPE_CHECKING:
    from .readers import create_conll2000_reader as create_conll2000_reader
    from .readers import create_conll2002_reader as create_conll2002_reader
    from .readers import create_conll2003_reader as create_conll2003_reader
    from .readers import create_conllu_reader as create_conllu_reader
    from .readers import create_iob_reader as create_iob_reader
    from .readers import create_offsets_reader as create_offsets_reader
    from .readers import create_tagged_reader as create_tagged_reader
    from .treebank_readers import create_ccgbank_reader as create_ccgbank_reader
    from .treebank_readers import create_conll2005_reader as create_conll2005_reader
    from .treebank_readers import create_conll2012_reader as create_conll2012_reader
    from .treebank_readers import create_frame_corpus as create_frame_corpus
    from .treebank_readers import create_ontonotes_reader as create_ontonotes_reader
    from .treebank_readers import create_ptb_reader as create_ptb_reader

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "readers": [
            "create_conll2000_reader",
            "create_conll2002_reader",
            "create_conll2003_reader",
            "create_conllu_reader",
            "create_iob_reader",
            "create_offsets_reader",
            "create_tagged_reader",
        ],
        "treebank_readers": [
            "create_ccgbank_reader",
            "create_conll2005_reader",
            "create_conll2012_reader",
            "create_frame_corpus",
            "create_ontonotes_reader",
            "create_ptb_reader",
        ],
    },
)
