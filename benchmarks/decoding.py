"""The effect of constraints on trained pipelines: the same weights, decoded with and without.

    python -m benchmarks.decoding TEST.spacy NAME=PIPELINE…

Each pipeline has a `psa_tagger` for entities or chunks. Scores are spaCy's, in percent; invalid
counts the sentences whose best tag sequence is not valid BIOES.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Corpus

from spacy_psa.annotation.span_targets import SCHEME
from spacy_psa.figures.tables import Table
from spacy_psa.pipeline.tagger import PSATagger

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    """Decode both ways, and write a table."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="test data")
    parser.add_argument("pipelines", nargs="+", metavar="NAME=PIPELINE")
    parser.add_argument("--output", type=Path, default=RESULTS / "decoding.json")
    arguments = parser.parse_args()
    found = {}
    for named in arguments.pipelines:
        name, _, path = named.partition("=")
        found[name] = measure(Path(path), arguments.data)
    told = {"data": arguments.data.name, "systems": found}
    arguments.output.write_text(json.dumps(told, indent=2) + "\n", encoding="utf8")
    arguments.output.with_suffix(".md").write_text(page(told), encoding="utf8")


def page(told: dict[str, Any]) -> str:
    """Describe the results in a table."""
    rows = [
        [
            name,
            f"{of['steps']}",
            f"{of['true']:.2f}",
            f"{of['false']:.2f}",
            f"{of['invalid']} of {of['sentences']}",
        ]
        for name, of in told["systems"].items()
    ]
    header = ["system", "updates", "F1, constrained", "F1, argmax", "invalid sequences"]
    seeds = ", ".join(sorted({str(of["seed"]) for of in told["systems"].values()}))
    note = (
        f"Data: `{told['data']}`. One training of each system (seed {seeds}), so differences "
        "between systems say little; the two scores of a row are of the same weights.\n"
    )
    return f"{Table('Decoding with and without constraints', header, rows).to_markdown()}\n{note}"


def measure(path: Path, data: Path) -> dict[str, Any]:
    """Score a pipeline with and without constraints.

    path (Path): The pipeline.
    data (Path): The test data.
    RETURNS (Dict[str, Any]): How it was trained, F1 by setting, and the number of sequences that
        are not valid.
    """
    nlp = spacy.load(path)
    (pipe,) = (pipe for _, pipe in nlp.pipeline if isinstance(pipe, PSATagger))
    examples = list(Corpus(data)(nlp))
    score = next(name for name, weight in pipe.target.score_weights.items() if weight)
    training = nlp.config.interpolate()["training"]
    found: dict[str, Any] = {"seed": training["seed"], "steps": training["max_steps"]}
    for constrained in (True, False):
        pipe.cfg["constrain_decoding"] = constrained
        found[json.dumps(constrained)] = 100 * nlp.evaluate(examples)[score]
    docs = [eg.reference for eg in examples]
    return {**found, "sentences": len(docs), "invalid": sum(is_invalid(nlp, pipe, d) for d in docs)}


def is_invalid(nlp: Language, pipe: PSATagger, doc: Doc) -> bool:
    """Whether the best of all tag sequences is not valid BIOES."""
    words = Doc(nlp.vocab, words=[token.text for token in doc])
    best = pipe.distribution([words]).argmax.tolist()
    return bool(SCHEME.problems([pipe.tags[i] for i in best]))


if __name__ == "__main__":
    main()
