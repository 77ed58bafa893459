"""A transformer with random weights, whose subwords are letters."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

WIDTH = 16


def write_transformer(folder: Path, words: Iterable[str], **settings: Any) -> Path:
    """Write a transformer, or skip the test if spacy-transformers is not installed.

    folder (Path): The folder to write to.
    words (Iterable[str]): The words whose letters it knows.
    **settings: Settings of its config.
    RETURNS (Path): The folder.
    """
    pytest.importorskip("spacy_transformers", reason="spacy-transformers is not installed")
    import transformers

    letters = sorted({letter for word in words for letter in word.lower()})
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{c}" for c in letters)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(pieces), "utf8")
    config = transformers.BertConfig(
        vocab_size=len(pieces),
        hidden_size=WIDTH,
        num_attention_heads=2,
        intermediate_size=16,
        **{"num_hidden_layers": 1, "max_position_embeddings": 128, **settings},
    )
    transformers.set_seed(0)
    transformers.BertModel(config).save_pretrained(folder)
    tokenizer = transformers.BertTokenizerFast(
        str(folder / "vocab.txt"), model_max_length=config.max_position_embeddings
    )
    tokenizer.save_pretrained(folder)
    return folder
