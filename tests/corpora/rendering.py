"""Write the annotation of corpora as short texts."""

from collections.abc import Iterable
from pathlib import Path

from spacy.tokens import DocBin
from spacy.vocab import Vocab

from spacy_psa.corpora.sentence import Sentence


def render(sentences: Iterable[Sentence]) -> str:
    """Write sentences as `[Ann/NNP]PER (ran/VBD)VP | …`: tags, entities and chunks."""
    return " | ".join(map(_render, sentences))


def render_docbin(path: Path, chunks_key: str = "chunks") -> str:
    """Write the Docs of a .spacy file as `render` does."""
    sentences = []
    for doc in DocBin().from_disk(path).get_docs(Vocab()):
        chunks = doc.spans.get(chunks_key, [])
        sentences.append(
            Sentence(
                words=[token.text for token in doc],
                tags=[token.tag_ for token in doc],
                lemmas=[token.lemma_ for token in doc],
                ents=[(ent.start, ent.end, ent.label_) for ent in doc.ents],
                chunks=[(span.start, span.end, span.label_) for span in chunks],
            )
        )
    return render(sentences)


def _render(sentence: Sentence) -> str:
    pieces = list(sentence.words)
    for mark, layer in (("=", sentence.lemmas), ("/", sentence.tags)):
        if layer is not None:
            pieces = [f"{p}{mark}{v}" if v else p for p, v in zip(pieces, layer, strict=True)]
    for left, right, spans in (("[", "]", sentence.ents), ("(", ")", sentence.chunks)):
        for start, end, label in spans or ():
            pieces[start] = left + pieces[start]
            pieces[end - 1] += right + label
    return " ".join(pieces)
