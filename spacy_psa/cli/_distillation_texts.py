"""The texts that `psa distill` reads, in the student's tokens."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import Errors
from ..terminal import msg
from ._docbins import read_docs
from ._predictions import words_alone
from ._tasks import read_texts

if TYPE_CHECKING:
    from spacy.language import Language
    from thinc.api import Config

    from ..distillation.filling import Settings, Text
    from ..distillation.teachers import Teacher

# Development sentences that show how certain a teacher is of what it knows
N_KNOWN = 200


@dataclass(frozen=True)
class Sources:
    """What the teachers are asked about.

    tokenizer (Language): A pipeline that divides texts into the student's tokens.
    texts (Sequence[str]): The files of texts.
    gold (Optional[Path]): The file of annotated texts.
    words (bool): Whether the texts are tokens apart by blanks.
    limit (Optional[int]): The number of texts to read, without the annotated ones.
    select (Optional[int]): The number of them to choose.
    chooser (Teacher): Whose uncertainty they are chosen by.
    """

    tokenizer: Language
    texts: Sequence[str]
    gold: Path | None
    words: bool
    limit: int | None
    select: int | None
    chooser: Teacher


def student_tokenizer(config: Config, words: bool) -> Language:
    """A pipeline that does nothing but divide texts into the student's tokens."""
    from spacy.lang.en import English
    from spacy.tokens import Doc
    from spacy.util import get_lang_class

    settings = config.interpolate()["nlp"]
    language: type[Language] = get_lang_class(settings.get("lang", English.lang))
    block = {key: settings[key] for key in ("lang", "tokenizer") if key in settings}
    nlp = language.from_config({"nlp": {**block, "pipeline": []}})
    if words:
        nlp.tokenizer = lambda text: Doc(nlp.vocab, words=text.split())
    return nlp


def own_tokenizer(nlp: Language) -> dict[str, Any] | None:
    """The settings of a tokenizer, if they are not spaCy's."""
    settings = nlp.config["nlp"]["tokenizer"]
    return None if settings == {"@tokenizers": "spacy.Tokenizer.v1"} else settings


def gather_texts(sources: Sources, settings: Settings) -> list[Text]:
    """Read the texts, choose some of them, and add those with annotation."""
    from ..distillation.filling import most_uncertain

    found = list(islice(_unlabeled_texts(sources), sources.limit))
    if sources.select is not None:
        n_texts, chooser = len(found), sources.chooser
        found = most_uncertain(chooser, found, sources.select, settings)
        msg.good(f"Chose {len(found)} of {n_texts} texts by the uncertainty of {chooser.path}")
    if sources.gold is not None:
        found += _annotated_texts(sources.gold, sources.tokenizer)
    if not found:
        paths = ", ".join([*sources.texts, *([str(sources.gold)] if sources.gold else [])])
        problem = f"no text in {paths} has tokens" if paths else "no file is given"
        raise ValueError(Errors.P535.format(problem=problem))
    return found


def _unlabeled_texts(sources: Sources) -> Iterator[Text]:
    from ..distillation.filling import Text, predicates_of, words_of

    nlp = sources.tokenizer
    for path in sources.texts:
        if path.endswith(".spacy"):
            docs = [doc for doc in read_docs(Path(path), nlp.vocab) if len(doc)]
            for doc, bare in zip(docs, words_alone(docs, nlp.vocab), strict=True):
                yield Text(bare, words_of(doc), predicates=predicates_of(doc))
        else:
            for doc, _ in read_texts(path, nlp):
                yield Text(doc, words_of(doc) if sources.words else doc.text)


def _annotated_texts(path: Path, nlp: Language) -> Iterator[Text]:
    from ..distillation.filling import Text, predicates_of, words_of

    for doc in read_docs(path, nlp.vocab):
        yield Text(doc, words_of(doc), is_gold=True, predicates=predicates_of(doc))


def known_texts(config: Config, nlp: Language) -> tuple[str, list[Text]]:
    """The file of the development data, and texts of it."""
    from ..training.corpora import corpus_files

    for path in corpus_files(config.interpolate(), "dev_corpus"):
        if path.is_file() and path.suffix == ".spacy":
            return str(path), list(islice(_annotated_texts(path, nlp), N_KNOWN))
    return "", []


def checksum_of_files(paths: Sequence[str]) -> str:
    from ..disk import sha256_of

    digest = hashlib.sha256()
    for path in paths:
        if not Path(path).is_file():
            raise ValueError(Errors.P109.format(path=path))
        digest.update(f"{sha256_of(Path(path))}\n".encode())
    return digest.hexdigest()
