"""Build the pipeline that the compatibility tests load: `fixture/VERSION`, a few kilobytes.

It must be built with the release whose files it represents, so run this file with that release's
code, from the root of the repository:

    git worktree add ../release TAG
    PYTHONPATH=../release python tests/robustness/make_fixture.py
    git worktree remove ../release

Existing files are kept unless `--force` is given: users cannot rebuild their pipelines either.
"""

from __future__ import annotations

import argparse
import json
import shutil
from importlib.metadata import version
from pathlib import Path
from typing import Any

import spacy
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.util import fix_random_seed
from thinc.api import Adam

from spacy_psa.annotation.propositions import Frame, get_frames, set_frames
from spacy_psa.pipeline.srl.predicates import set_predicates

HERE = Path(__file__).parent
FIXTURES = HERE / "fixture"
SAMPLE = HERE.parents[1] / "assets" / "sample" / "train.conll"
N_SENTENCES, STEPS, DIGITS = 24, 150, 6
# Words, and the indices of the predicates. The second and third sentences have unknown words.
SENTENCES: list[tuple[list[str], list[int]]] = [
    (["Halvorsen", "said", "she", "would", "not", "run", "again", "."], [1, 5]),
    (["Zoë", "said", "that", "1,234", "talks", "had", "been", "upset", "."], [1, 7]),
    (["東京", "…", "!"], []),
    (["said"], [0]),
]


def characters(width: int) -> dict[str, Any]:
    """Build the config section of a small character network."""
    name = "spacy_psa.CharacterBiLSTM.v1"
    return {"@architectures": name, "embedding_width": 3, "width": width}


def words() -> dict[str, Any]:
    """Build the config section of small word embeddings."""
    name = "spacy_psa.WordCharEmbed.v1"
    return {"@architectures": name, "width": 6, "min_freq": 2, "characters": characters(4)}


def fusion() -> dict[str, Any]:
    """Build the config section of a small self-attention layer."""
    bias = {"@architectures": "spacy_psa.PSABias.v1", "window": 3, "max_distance": 4}
    gate = {"@architectures": "spacy_psa.FeatureGate.v1"}
    name = "spacy_psa.ContextFusion.v1"
    return {"@architectures": name, "bias": bias, "gate": gate, "dropout": 0.0}


def tagger_model() -> dict[str, Any]:
    """Build a tiny version of the default model of `psa_tagger`."""
    recurrent = {
        "@architectures": "spacy_psa.BiLSTM.v1",
        "hidden_width": 8,
        "depth": 1,
        "input_dropout": 0.0,
        "output_dropout": 0.0,
    }
    return {
        "@architectures": "spacy_psa.SequenceLabeler.v1",
        "tok2vec": words(),
        "encoder": {
            "@architectures": "spacy_psa.PSAEncoder.v1",
            "first_fusion": fusion(),
            "recurrent": recurrent,
            "second_fusion": fusion(),
        },
        "decoder": {"@architectures": "spacy_psa.CRF.v1"},
    }


def role_model() -> dict[str, Any]:
    """Build a tiny version of the default model of `psa_srl`."""
    sublayer = {
        "@architectures": "spacy_psa.FeedForwardSublayer.v1",
        "hidden_width": 12,
        "dropout": 0.0,
    }
    encoder = {
        "@architectures": "spacy_psa.DeepAtt.v1",
        "sublayer": sublayer,
        "positions": {"@architectures": "spacy_psa.SinusoidalPositions.v1"},
        "width": 8,
        "depth": 2,
        "n_heads": 2,
        "residual_dropout": 0.0,
        "attention_dropout": 0.0,
        "input_dropout": 0.0,
        "scale_input": True,
    }
    return {
        "@architectures": "spacy_psa.RoleLabeler.v1",
        "mask_width": 4,
        "tok2vec": words(),
        "encoder": encoder,
        "decoder": {"@architectures": "spacy_psa.Softmax.v1"},
    }


def make_nlp() -> Language:
    """Build the untrained pipeline."""
    nlp = spacy.blank("xx")
    model = tagger_model()
    nlp.add_pipe("psa_tagger", "tags", config={"target": "tag", "model": model})
    settings = {"target": "spans", "spans_key": "chunks", "probabilities": True}
    nlp.add_pipe("psa_tagger", "chunks", config={**settings, "model": model})
    nlp.add_pipe("psa_srl", "roles", config={"model": role_model(), "probabilities": True})
    return nlp


def read_sample(nlp: Language) -> list[Example]:
    """Read the first sentences of the sample: tags, chunks, and roles derived from chunks."""
    blocks = SAMPLE.read_text(encoding="utf8").split("\n\n")
    sentences = [block.strip().splitlines() for block in blocks if "-DOCSTART-" not in block]
    examples = []
    for lines in sentences[:N_SENTENCES]:
        forms, tags, chunks, _ = zip(*(line.split(" ") for line in lines), strict=True)
        doc = Doc(nlp.vocab, words=list(forms), tags=list(tags))
        starts = [i for i, chunk in enumerate(chunks) if chunk.startswith("B-")]
        ends = [
            next((j for j in range(i + 1, len(doc)) if chunks[j][0] != "I"), len(doc))
            for i in starts
        ]
        spans = [Span(doc, i, j, chunks[i][2:]) for i, j in zip(starts, ends, strict=True)]
        doc.spans["chunks"] = spans
        set_frames(doc, [frame_of(span, spans) for span in spans if span.label_ == "VP"])
        predicted = Doc(nlp.vocab, words=list(forms))
        set_predicates(predicted, [frame.predicate for frame in get_frames(doc)])
        examples.append(Example(predicted, doc))
    return examples


def frame_of(verb: Span, chunks: list[Span]) -> Frame:
    """Build a frame whose arguments are the noun phrases around a verb phrase."""
    roles = {"A0": "end", "A1": "start"}
    arguments = [(verb.end - 1, verb.end, "V")]
    for role, side in roles.items():
        place = verb.start if role == "A0" else verb.end
        arguments += [
            (span.start, span.end, role)
            for span in chunks
            if span.label_ == "NP" and getattr(span, side) == place
        ]
    return Frame(verb.end - 1, None, None, sorted(arguments))


def predictions(nlp: Language) -> list[dict[str, Any]]:
    """Predict the labels of the sentences, with probabilities."""
    found = []
    for forms, predicates in SENTENCES:
        doc = Doc(nlp.vocab, words=forms)
        set_predicates(doc, predicates)
        marginals = {
            name: nlp.get_pipe(name).marginals([Doc(nlp.vocab, words=forms)])[0]
            for name in ("tags", "chunks")
        }
        doc = nlp(doc)
        frames = [
            [frame.predicate.i, [[s.start, s.end, s.label_] for s in frame.spans]]
            for frame in doc._.frames
        ]
        found.append(
            {
                "words": forms,
                "tags": [token.tag_ for token in doc],
                "chunks": [[s.start, s.end, s.label_] for s in doc.spans["chunks"]],
                "frames": frames,
                "tag_marginals": rounded(marginals["tags"]),
                "chunk_marginals": rounded(marginals["chunks"]),
                "chunk_scores": [round(s._.psa_score, DIGITS) for s in doc.spans["chunks"]],
                "frame_probabilities": [round(f.probability, DIGITS) for f in doc._.frames],
            }
        )
    return found


def rounded(array: Any) -> list[list[float]]:
    """Round an array and convert it to lists, for JSON."""
    return [[round(float(value), DIGITS) for value in row] for row in array]


def main() -> None:
    """Train the pipeline, and save it with its predictions."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--force", action="store_true", help="Replace what is there")
    force = parser.parse_args().force
    release = version("spacy-psa")
    folder = FIXTURES / release
    if folder.exists() and not force:
        parser.error(f"there is a fixture of {release} in {folder}; add --force to replace it")
    fix_random_seed(0)
    nlp = make_nlp()
    examples = read_sample(nlp)
    nlp.initialize(lambda: examples)
    optimizer = Adam(0.02, L2=0.0, grad_clip=0.0, use_averages=False)
    for _ in range(STEPS):
        losses = nlp.update(examples, sgd=optimizer)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    nlp.to_disk(folder / "pipeline")
    text = json.dumps(predictions(nlp), ensure_ascii=False)
    (folder / "predictions.json").write_text(text + "\n", encoding="utf8")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    print(f"Wrote {folder} ({size:,} bytes); losses {losses}")


if __name__ == "__main__":
    main()
