"""Speed and accuracy of pipelines in reduced precision.

    OMP_NUM_THREADS=1 python -m benchmarks.quantization RUNS --data corpus/conll2000/test.spacy

RUNS contains trained pipelines <system>-chunk/model-best, which are not modified. Each is loaded
twice, and one copy is reduced as by `psa quantize`. Both tag the same sentences in interleaved runs
(A B A B …) in one process. Speed is the ratio of median processor times, from `Doc` to `Doc`. F1 is
that of conlleval on all sentences, in percent. The last columns are the largest difference between
the emissions of a sentence alone and in a batch.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import spacy
import torch
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from tqdm import tqdm

from spacy_psa.evaluation.layers import make_layer
from spacy_psa.evaluation.sentences import SCORES, count, pair_sentences
from spacy_psa.models.network_shim import reduce_pipeline

from .machine import describe_machine
from .pipelines import tagging
from .systems import RESULTS, only_words
from .timing import CLOCKS, measure

NAME = "quantization"
COMPONENT = "psa_tagger"
SPANS_KEY = "chunks"
ALONE = 64
SIDES = ("full", "reduced")


def main() -> None:
    """Run the benchmark, and write `quantization.json` and `quantization.md`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, help="folder of trained pipelines")
    parser.add_argument("--data", type=Path, required=True, help="a .spacy file with chunks")
    parser.add_argument("--systems", nargs="+", default=["bilstm-crf", "psa"])
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--sentences", type=int, default=512, help="sentences to time")
    parser.add_argument("--repeat", type=int, default=5, help="repetitions")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results")
    arguments = parser.parse_args()
    results: dict[str, Any] = {
        "machine": {**describe_machine(), "threads": torch.get_num_threads()},
        "precision": arguments.precision,
        "repetitions": arguments.repeat,
        "timed": arguments.sentences,
        "systems": {},
    }
    for system in arguments.systems:
        pipelines = {
            side: spacy.load(arguments.runs / f"{system}-chunk" / "model-best") for side in SIDES
        }
        reduce_pipeline(pipelines["reduced"], arguments.precision)
        gold = list(DocBin().from_disk(arguments.data).get_docs(pipelines["full"].vocab))
        results["sentences"] = len(gold)
        timed = gold[: arguments.sentences]
        results["systems"][system] = compare(pipelines, gold, timed, arguments.repeat)
    arguments.output.mkdir(parents=True, exist_ok=True)
    text = json.dumps(results, indent=2) + "\n"
    (arguments.output / f"{NAME}.json").write_text(text, encoding="utf8")
    markdown = to_markdown(results)
    (arguments.output / f"{NAME}.md").write_text(markdown, encoding="utf8")
    print(markdown)


def compare(
    pipelines: dict[str, Language], gold: Sequence[Doc], timed: Sequence[Doc], repeat: int
) -> dict[str, Any]:
    """Compare a pipeline with its copy in reduced precision.

    pipelines (Dict[str, Language]): The two pipelines, by `SIDES`.
    gold (Sequence[Doc]): Sentences with chunks.
    timed (Sequence[Doc]): The sentences to time.
    repeat (int): The number of repetitions.
    RETURNS (Dict[str, Any]): The results.
    """
    clock = CLOCKS["processor"]
    actions = {
        side: tagging(nlp, gold, whole=True, portion=len(timed)) for side, nlp in pipelines.items()
    }
    seconds = measure(actions, repeat, clock)
    singly = {
        side: tagging(nlp, gold, whole=False, portion=ALONE) for side, nlp in pipelines.items()
    }
    one_by_one = measure(singly, repeat, clock)
    predicted = {side: predict(nlp, gold) for side, nlp in pipelines.items()}
    layer = make_layer("spans", SPANS_KEY)
    f1 = {
        side: 100 * float(SCORES["f1"](count(pair_sentences(gold, docs, layer)).sum(0)))
        for side, docs in predicted.items()
    }
    pairs = zip(*predicted.values(), strict=True)
    return {
        "sentences a second": {s: round(len(timed) / t, 1) for s, t in seconds.items()},
        "speed": round(seconds["full"] / seconds["reduced"], 3),
        "speed one by one": round(one_by_one["full"] / one_by_one["reduced"], 3),
        "F1": {side: round(score, 3) for side, score in f1.items()},
        "changed sentences": sum(_chunks(one) != _chunks(other) for one, other in pairs),
        "model bytes": {side: model_bytes(nlp) for side, nlp in pipelines.items()},
        "batch": {side: in_batch(nlp, timed[:ALONE]) for side, nlp in pipelines.items()},
    }


def predict(nlp: Language, gold: Sequence[Doc]) -> list[Doc]:
    """RETURNS (List[Doc]): Copies of documents with a pipeline's predictions."""
    made = (only_words(nlp, doc) for doc in gold)
    return list(tqdm(nlp.pipe(made, batch_size=256), total=len(gold), desc="predicting"))


def model_bytes(nlp: Language) -> int:
    """RETURNS (int): The size of the component's model."""
    pipe: Any = nlp.get_pipe(COMPONENT)
    return len(pipe.model.to_bytes())


def in_batch(nlp: Language, gold: Sequence[Doc]) -> float:
    """Measure how much emissions depend on the other sentences in a batch.

    nlp (Language): The pipeline.
    gold (Sequence[Doc]): The sentences.
    RETURNS (float): The largest absolute difference between a sentence alone and in a batch.
    """
    pipe: Any = nlp.get_pipe(COMPONENT)
    model = pipe.model
    docs = [only_words(nlp, doc) for doc in gold]
    alone = torch.cat([model.predict([doc]).emissions for doc in docs])
    return float((alone - model.predict(docs).emissions).abs().max())


def _chunks(doc: Doc) -> set[tuple[int, int, str]]:
    return {(span.start, span.end, span.label_) for span in doc.spans[SPANS_KEY]}


def to_markdown(results: dict[str, Any]) -> str:
    """Format the results as a page.

    results (Dict[str, Any]): The results.
    RETURNS (str): Markdown.
    """
    machine, precision = results["machine"], results["precision"]
    lines = [
        "# Reduced precision",
        "",
        "Generated by `python -m benchmarks.quantization`.",
        "",
        f"Pipelines as trained and after `psa quantize --precision {precision}`, on "
        f"{machine['processor']}, {machine['threads']} thread(s), PyTorch {machine['torch']}. "
        "'Speed' is the processor time in full precision divided by that in reduced precision "
        f"(medians of {results['repetitions']} repetitions on {results['timed']} sentences). F1 is "
        f"the chunk F1 on all {results['sentences']} sentences of the CoNLL-2000 test set. 'Batch' "
        "is the largest difference between the emissions of a sentence alone and in a batch.",
        "",
        f"| system | speed | one by one | F1, full | F1, {precision} | change | changed sentences "
        f"| model, MB | batch, full | batch, {precision} |",
        "| --- |" + " ---: |" * 9,
    ]
    for system, r in results["systems"].items():
        full, reduced = r["F1"]["full"], r["F1"]["reduced"]
        sizes = " → ".join(f"{r['model bytes'][side] / 1e6:.1f}" for side in SIDES)
        lines.append(
            f"| {system} | {r['speed']:.2f} | {r['speed one by one']:.2f} | {full:.2f} | "
            f"{reduced:.2f} | {reduced - full:+.3f} | {r['changed sentences']} | {sizes} | "
            f"{r['batch']['full']:.1e} | {r['batch']['reduced']:.1e} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
