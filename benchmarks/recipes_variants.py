"""What was tried for the recipe: settings that differ from it, for PSA."""

from typing import Any

_MODEL = "components.psa_tagger.model"
_RECURRENT = f"{_MODEL}.encoder.recurrent"
_RATE = "training.optimizer.learn_rate.initial_rate"


def _dropout(
    embedding: float, recurrent: float, word: float = 0.0, fusion: float = 0.2
) -> dict[str, Any]:
    """Settings of dropout: of the token embedding, around the BiLSTM, of whole words, and of the
    fusion layers.
    """
    return {
        f"{_MODEL}.tok2vec.dropout": embedding,
        f"{_MODEL}.tok2vec.word_dropout": word,
        f"{_RECURRENT}.input_dropout": recurrent,
        f"{_RECURRENT}.output_dropout": recurrent,
        **{f"{_MODEL}.encoder.{part}_fusion.dropout": fusion for part in ("first", "second")},
    }


def _updates(n: int) -> dict[str, Any]:
    """Settings of a training of so many updates."""
    return {
        "training.max_steps": n,
        "training.eval_frequency": n // 10,
        "training.patience": max(3 * n // 10, 300),
        "training.optimizer.learn_rate.warmup_steps": n // 10,
        "training.optimizer.learn_rate.total_steps": n,
    }


def _characters(embedding: int, width: int) -> dict[str, Any]:
    """Settings of the BiLSTM over characters."""
    part = f"{_MODEL}.tok2vec.characters"
    return {f"{part}.embedding_width": embedding, f"{part}.width": width}


def _sgd(rate: float, momentum: float) -> dict[str, Any]:
    """Settings of a training of 3,000 updates by SGD, as the learning rate warms up and decays."""
    optimizer = {
        "@optimizers": "spacy_psa.SGD.v1",
        "momentum": momentum,
        "L2": 0.0,
        "use_averages": True,
        "groups": None,
        "learn_rate": {"@schedules": "warmup_linear.v1", "initial_rate": rate},
    }
    return {"training.optimizer": optimizer, **_updates(3000)}


# By name: what differs in words, and the settings; None for the recipe of the paper
VARIANTS: dict[str, tuple[str, dict[str, Any] | None]] = {
    "paper": ("the paper's training and dropout: SGD, 0.015, 40 epochs", None),
    "rate-0.0005": ("rate 0.0005", {_RATE: 0.0005}),
    "rate-0.001": ("rate 0.001", {_RATE: 0.001}),
    "rate-0.002": ("rate 0.002", {_RATE: 0.002}),
    "rate-0.004": ("rate 0.004", {_RATE: 0.004}),
    "updates-300": ("300 updates", _updates(300)),
    "updates-360": ("360 updates", _updates(360)),
    "updates-600": ("600 updates", _updates(600)),
    "updates-1000": ("1,000 updates", _updates(1000)),
    "updates-1760": ("1,760 updates", _updates(1760)),
    "batch-8": ("batches of 8", {"training.batcher.size": 8}),
    "batch-32": ("batches of 32", {"training.batcher.size": 32}),
    "no-dropout": ("no dropout", _dropout(0.0, 0.0, fusion=0.0)),
    "less-dropout": ("dropout 0.1 and 0.2 (embedding, BiLSTM)", _dropout(0.1, 0.2)),
    "more-dropout": ("dropout 0.3 and 0.4, words 0.1", _dropout(0.3, 0.4, 0.1)),
    "best-cfg": ("the dropout of best.cfg: 0.4 and 0.4, words 0.15", _dropout(0.4, 0.4, 0.15)),
    "words": ("dropout of whole words 0.1", {f"{_MODEL}.tok2vec.word_dropout": 0.1}),
    "no-words": ("no dropout of whole words", {f"{_MODEL}.tok2vec.word_dropout": 0.0}),
    "variational": ("one mask of dropout for a sentence", {f"{_RECURRENT}.variational": True}),
    "all-words": ("embeddings of words that occur once", {f"{_MODEL}.tok2vec.min_freq": 1}),
    "narrow-characters": (
        "rate 0.002, characters of 30 and 100",
        {_RATE: 0.002, **_characters(30, 100)},
    ),
    "wide-characters": ("characters of 60 and 200", _characters(60, 200)),
    "wider-characters": ("characters of 60 and 300", _characters(60, 300)),
    "wide-dropout": (
        "characters of 60 and 200, dropout 0.4 and 0.4, words 0.15",
        {**_characters(60, 200), **_dropout(0.4, 0.4, 0.15)},
    ),
    "sgd": ("SGD, 0.1, 3,000 updates", _sgd(0.1, 0.0)),
    "sgd-momentum": ("SGD, 0.015, momentum 0.9, 3,000 updates", _sgd(0.015, 0.9)),
    "sgd-dropout": (
        "SGD, 0.1, 3,000 updates, dropout 0.5 and 0.5",
        {**_sgd(0.1, 0.0), **_dropout(0.5, 0.5)},
    ),
    "sgd-wide": (
        "SGD, 0.1, 3,000 updates, BiLSTM of 512, characters of 60 and 200",
        {**_sgd(0.1, 0.0), **_characters(60, 200), f"{_RECURRENT}.hidden_width": 512},
    ),
    "width-200": ("BiLSTM of 200 in both directions", {f"{_RECURRENT}.hidden_width": 200}),
    "width-600": ("BiLSTM of 600 in both directions", {f"{_RECURRENT}.hidden_width": 600}),
    "no-averages": ("weights not averaged", {"training.optimizer.use_averages": False}),
    "no-self": (
        "self-attention without the token itself, as in the paper",
        {f"{_MODEL}.encoder.{part}_fusion.bias.self_mask": True for part in ("first", "second")},
    ),
}
