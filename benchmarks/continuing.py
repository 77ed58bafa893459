"""Twenty new examples for a trained pipeline: what it learns from them, and what it forgets.

    python -m spacy psa convert wnut17train.conll train.spacy
    python -m spacy psa convert emerging.dev.conll dev.spacy
    python -m benchmarks.continuing --train train.spacy --dev dev.spacy --vectors vectors/en

A pipeline is trained on the sentences without entities of one type (`--label`), which it therefore
does not know. Training then goes on from it with a few sentences that have such entities, each time
from the same pipeline and for the same number of updates:

- `new`: on the new sentences alone.
- `replay`: each batch also has sentences of the earlier training data.
- `rehearsal`: each update is followed by `nlp.rehearse` with earlier texts, unannotated.

F1 is measured on the whole development set, of the earlier types and of the new one.
"""

import argparse
import json
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import spacy
import torch
from spacy.language import Language
from spacy.scorer import PRFScore
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.util import fix_random_seed
from thinc.api import Adam

from .machine import describe_machine

RESULTS = Path(__file__).parent / "results"
NAME = "psa_tagger"
WAYS = {
    "new": "each update is on ten of the new sentences.",
    "replay": "each batch also has ten sentences of the earlier training data.",
    "rehearsal": "each update is followed by `nlp.rehearse` with ten earlier texts, without their "
    "annotation.",
}
TITLE = "Training on with twenty examples"
BATCH = 10
REPORTED = (10, 25, 50, 100)


def main() -> None:
    """Train, and write `continuing.json` and `continuing.md`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--train", type=Path, required=True, metavar="FILE.spacy")
    parser.add_argument("--dev", type=Path, required=True, metavar="FILE.spacy")
    parser.add_argument("--vectors", help="pipeline with pretrained vectors")
    parser.add_argument("--label", default="location", help="type of entity that is new")
    parser.add_argument("--examples", type=int, default=20, help="number of new sentences")
    parser.add_argument("--epochs", type=int, default=5, help="epochs of the first training")
    parser.add_argument("--width", type=int, default=200, help="hidden width")
    parser.add_argument("--seeds", type=int, default=3, help="samples of new sentences")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    nlp = make_nlp(arguments.vectors, arguments.width)
    train, dev = (read(nlp, path) for path in (arguments.train, arguments.dev))
    old = [doc for doc in train if not has(doc, arguments.label)]
    new = [doc for doc in train if has(doc, arguments.label)]
    fix_random_seed(0)
    nlp.initialize(lambda: examples(old))
    train_first(nlp, old, epochs=arguments.epochs)
    trained = nlp.to_bytes()
    results: dict[str, Any] = {
        "machine": describe_machine(),
        "data": arguments.train.stem,
        "label": arguments.label,
        "examples": arguments.examples,
        "sentences": len(old),
        "epochs": arguments.epochs,
        "width": arguments.width,
        "seeds": arguments.seeds,
        "before": measure(nlp, dev, arguments.label),
        "after": {way: [] for way in WAYS},
    }
    for seed in range(arguments.seeds):
        chosen = random.Random(seed).sample(new, arguments.examples)
        for way in WAYS:
            nlp = make_nlp(arguments.vectors, arguments.width).from_bytes(trained)
            found = go_on(nlp, way, chosen, old, dev, arguments.label, seed)
            results["after"][way].append(found)
            save(results, arguments.output)
    print((arguments.output / "continuing.md").read_text(encoding="utf8"))


def make_nlp(vectors: str | None, width: int) -> Language:
    """Make a pipeline with a BiLSTM-CRF of some width."""
    nlp = spacy.blank("en") if vectors is None else spacy.load(vectors)
    embed: dict[str, Any] = {
        "@architectures": "spacy_psa.WordCharEmbed.v1",
        "dropout": 0.2,
        "characters": {"@architectures": "spacy_psa.CharacterBiLSTM.v1", "width": 50},
    }
    encoder = {
        "@architectures": "spacy_psa.BiLSTM.v1",
        "hidden_width": width,
        "input_dropout": 0.3,
        "output_dropout": 0.3,
    }
    model = {
        "@architectures": "spacy_psa.SequenceLabeler.v1",
        "tok2vec": embed,
        "encoder": encoder,
        "decoder": {"@architectures": "spacy_psa.CRF.v1"},
    }
    nlp.add_pipe(NAME, config={"target": "ents", "model": model})
    return nlp


def read(nlp: Language, path: Path) -> list[Doc]:
    """Read the sentences of a corpus, each as a document."""
    docs = DocBin().from_disk(path).get_docs(nlp.vocab)
    return [
        sent.as_doc()
        for doc in docs
        for sent in (doc.sents if doc.has_annotation("SENT_START") else [doc[:]])
    ]


def has(doc: Doc, label: str) -> bool:
    """Whether a document has an entity of a type."""
    return any(ent.label_ == label for ent in doc.ents)


def examples(docs: Iterable[Doc]) -> list[Example]:
    """Pair documents with copies of their words alone."""
    return [
        Example(Doc(doc.vocab, [t.text for t in doc], [bool(t.whitespace_) for t in doc]), doc)
        for doc in docs
    ]


def train_first(nlp: Language, docs: Sequence[Doc], *, epochs: int) -> None:
    """Train a new pipeline."""
    numbers, optimizer = random.Random(0), Adam(0.001, L2=0.0, grad_clip=0.0)
    for _ in range(epochs):
        order = numbers.sample(docs, len(docs))
        for start in range(0, len(order), BATCH):
            nlp.update(examples(order[start : start + BATCH]), sgd=optimizer)


def go_on(
    nlp: Language,
    way: str,
    new: Sequence[Doc],
    old: Sequence[Doc],
    dev: Sequence[Doc],
    label: str,
    seed: int,
) -> dict[str, Any]:
    """Go on from a trained pipeline, and measure it after the numbers of updates in `REPORTED`."""
    fix_random_seed(seed)
    numbers, optimizer = (
        random.Random(seed),
        nlp.resume_training(sgd=Adam(0.001, L2=0.0, grad_clip=0.0)),
    )
    found = {}
    for step in range(1, max(REPORTED) + 1):
        batch = numbers.sample(new, BATCH)
        earlier = numbers.sample(old, BATCH)
        nlp.update(examples([*batch, *earlier] if way == "replay" else batch), sgd=optimizer)
        if way == "rehearsal":
            nlp.rehearse(examples(earlier), sgd=optimizer)
        if step in REPORTED:
            found[str(step)] = measure(nlp, dev, label)
    return found


def measure(nlp: Language, docs: Sequence[Doc], label: str) -> dict[str, float]:
    """RETURNS (Dict[str, float]): F1 of the `new` type and of all `old` ones, in percent."""
    counts = {"new": PRFScore(), "old": PRFScore()}
    for doc, gold in zip(nlp.pipe(eg.predicted for eg in examples(docs)), docs, strict=True):
        for kind, count in counts.items():
            found, annotated = (
                {
                    (e.start, e.end, e.label_)
                    for e in d.ents
                    if (e.label_ == label) == (kind == "new")
                }
                for d in (doc, gold)
            )
            count.score_set(found, annotated)
    return {kind: round(100 * count.fscore, 2) for kind, count in counts.items()}


def save(results: dict[str, Any], output: Path) -> None:
    """Write the results so far."""
    output.mkdir(parents=True, exist_ok=True)
    text = json.dumps(results, indent=2) + "\n"
    (output / "continuing.json").write_text(text, encoding="utf8")
    (output / "continuing.md").write_text(to_markdown(results), encoding="utf8")


def to_markdown(results: dict[str, Any]) -> str:
    """RETURNS (str): The results as a page."""
    label, before = results["label"], results["before"]
    lines = [
        f"# {TITLE}",
        "",
        "Generated by `python -m benchmarks.continuing`: a BiLSTM-CRF of width "
        f"{results['width']}, trained for {results['epochs']} epochs (Adam, 0.001) on the "
        f"{results['sentences']:,} sentences of {results['data']} without the type '{label}', and "
        "then on "
        f"{results['examples']} sentences with it. F1 on the development set, of the earlier types "
        f"and of '{label}'; means of {results['seeds']} samples of sentences, and the lowest and "
        "highest.",
        "",
        f"| way | updates | earlier types | '{label}' |",
        "| --- | ---: | ---: | ---: |",
        f"| before | 0 | {before['old']:.2f} | {before['new']:.2f} |",
    ]
    for way, runs in results["after"].items():
        for step in runs[0] if runs else ():
            old, new = (_describe([run[step][kind] for run in runs]) for kind in ("old", "new"))
            lines.append(f"| {way} | {step} | {old} | {new} |")
    lines += ["", *(f"- `{way}`: {text}" for way, text in WAYS.items())]
    return "\n".join(lines) + "\n"


def _describe(values: Sequence[float]) -> str:
    return f"{mean(values):.2f} ({min(values):.2f} to {max(values):.2f})"


if __name__ == "__main__":
    main()
