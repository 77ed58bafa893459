"""Train stanza's tagger of entities or of parts of speech on a cell of the recipes' benchmark."""

import json
import logging
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path

from spacy.tokens import Doc, Span
from spacy.training.iob_utils import doc_to_biluo_tags

from .recipes_training import Annotate, Training, lower_case

MODEL, WORDS = "model.pt", "vectors.txt"


def train(training: Training) -> tuple[Annotate, int]:
    """Train stanza.

    training (Training): The training.
    RETURNS (Tuple[Callable, int]): What annotates sentences, and the updates of the best model.
    """
    folder, form = training.folder, "conllu" if training.tags else "json"
    name = "stanza.models.tagger" if training.tags else "stanza.models.ner_tagger"
    for part, docs in (("train", training.train), ("dev", training.dev)):
        text = to_conllu(docs) if training.tags else _to_json(docs)
        (folder / f"{part}.{form}").write_text(text, encoding="utf8")
    options = {
        "train_file": folder / f"train.{form}",
        "eval_file": folder / f"dev.{form}",
        "shorthand": f"{training.lang}_peer",
        "save_dir": folder,
        "save_name": MODEL,
        "seed": training.seed,
    }
    given = ["--cpu"]
    if training.tags:
        options["lang"] = training.lang
    if training.vectors is None:
        given.append("--no_pretrain")
    else:
        options["wordvec_file"] = folder / WORDS
        with (folder / WORDS).open("w", encoding="utf8") as file:
            for word, vector in lower_case(training.vectors):
                print(word, *vector, file=file)
    given += [text for name, value in options.items() for text in (f"--{name}", str(value))]
    counted = _Steps()
    with training.limit:
        import_module(name).main(given)
    if not (folder / MODEL).exists():
        raise SystemExit("stanza had no time for its first evaluation.")
    return (_tagger if training.tags else _entity_tagger)(given, folder), counted.steps


def _entity_tagger(given: Sequence[str], folder: Path) -> Annotate:
    tagger = import_module("stanza.models.ner_tagger")
    document = import_module("stanza.models.common.doc").Document
    loader = import_module("stanza.models.ner.data").DataLoader
    decode = import_module("stanza.models.ner.utils").decode_from_bioes
    settings, trainer, vocab = tagger.load_model(tagger.parse_args(given), str(folder / MODEL))

    def annotate(docs: Sequence[Doc]) -> None:
        unknown = document([_sentence(doc, ["O"] * len(doc)) for doc in docs])
        batches = loader(unknown, settings["batch_size"], settings, vocab=vocab, evaluation=True)
        tags = [tags for batch in batches for tags in trainer.predict(batch)]
        for doc, found in zip(docs, tags, strict=True):
            spans = [(span["start"], span["end"] + 1, span["type"]) for span in decode(found)]
            doc.set_ents([Span(doc, *span) for span in spans])

    return annotate


def _tagger(given: Sequence[str], folder: Path) -> Annotate:
    def annotate(docs: Sequence[Doc]) -> None:
        source, output = folder / "unknown.conllu", folder / "found.conllu"
        source.write_text(to_conllu(docs), encoding="utf8")
        files = ["--eval_file", str(source), "--output_file", str(output), "--no_gold_labels"]
        import_module("stanza.models.tagger").main([*given, "--mode", "predict", *files])
        lines = output.read_text(encoding="utf8").split("\n")
        # Without comments: a word is a line, however it begins
        tags = [line.split("\t")[3] for line in lines if line.count("\t") == 9]
        for token, tag in zip((token for doc in docs for token in doc), tags, strict=True):
            token.tag_ = tag

    return annotate


class _Steps(logging.Handler):
    """Reads from stanza's log after how many updates its best model was there."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = self.last = 0
        logging.getLogger("stanza").addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage().lower()
        if text.startswith("step "):
            self.last = int(text.split()[1].rstrip(":"))
        elif text.startswith("new best model"):
            self.steps = self.last


def to_conllu(docs: Iterable[Doc]) -> str:
    """RETURNS (str): Sentences in CoNLL-U. Tags are in the fourth column, which stanza's tagger
    learns by itself: it learns the fifth from the fourth. The tree, which it checks, is flat."""
    lines = (
        "".join(
            f"{token.i + 1}\t{token.text}\t_\t{token.tag_ or '_'}\t_\t_\t{min(token.i, 1)}\t"
            f"{'dep' if token.i else 'root'}\t_\t_\n"
            for token in doc
        )
        for doc in docs
    )
    return "\n".join(lines) + "\n"


def _to_json(docs: Iterable[Doc]) -> str:
    return json.dumps([_sentence(doc, _bioes(doc)) for doc in docs])


def _sentence(doc: Doc, tags: Iterable[str]) -> list[dict[str, str]]:
    return [{"text": token.text, "ner": tag} for token, tag in zip(doc, tags, strict=True)]


def _bioes(doc: Doc) -> list[str]:
    letters = {"L": "E", "U": "S"}
    return [letters.get(tag[0], tag[0]) + tag[1:] for tag in doc_to_biluo_tags(doc)]
