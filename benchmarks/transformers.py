"""Components on a pretrained transformer that is trained with them, ours and spaCy's.

    python -m benchmarks.transformers TRANSFORMER --data corpora --runs runs

trains each system on each corpus with the training of `psa init-config --transformer`, the same for
all: a CRF directly on the transformer's vectors (`crf`), a BiLSTM-CRF (`bilstm-crf`), PSA (`psa`),
and spaCy's `ner` or `tagger` (`spacy`). `corpora` has a folder for each corpus, with train.spacy,
dev.spacy and test.spacy as written by `psa convert`. Every training has a process and a file of
results of its own; those that are there already are left out, so a run that was stopped goes on.
Test scores are those of the weights with the best score on the development set. What is kept of the
predictions are the numbers of units in each sentence, for tests of significance.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import spacy
import torch
from spacy.scorer import Scorer
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example
from thinc.api import Config, require_gpu

from spacy_psa.cli._configs import make_config
from spacy_psa.cli._shared_inputs import Inputs

from .cells import add_arguments, run_process, write_result
from .machine import describe_machine
from .recipes_cell import pack_units
from .transformers_page import RESULTS, write_guide, write_page

# The target of each corpus, and its score
CORPORA = {"wnut17": "ents", "ncbi": "ents", "conll2000": "spans", "ewt": "tag"}
SCORES = {"ents": "ents_f", "spans": "spans_chunks_f", "tag": "tag_acc"}
SYSTEMS = {"crf": "none", "bilstm-crf": "bilstm", "psa": "psa", "spacy": None}
OURS = "psa_tagger"
LISTENER: dict[str, Any] = {
    "@architectures": "spacy-transformers.TransformerListener.v1",
    "grad_factor": 1.0,
    "pooling": {"@layers": "reduce_mean.v1"},
}
NER: dict[str, Any] = {
    "@architectures": "spacy.TransitionBasedParser.v2",
    "state_type": "ner",
    "extra_state_tokens": False,
    "hidden_width": 64,
    "maxout_pieces": 2,
    "use_upper": False,
}
EVALUATIONS = 8


def main() -> None:
    """Train what has no results yet, and write the page of all results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("transformer", help="folder or name of the transformer")
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--runs", type=Path, required=True, help="folder for trained pipelines")
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=list(CORPORA))
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--updates", type=int, default=800, help="number of updates")
    parser.add_argument("--limit", type=int, default=0, help="training sentences; 0 for all")
    parser.add_argument("--rates", nargs="+", type=float, default=[1e-3], help="of the components")
    parser.add_argument("--factor", type=float, default=0.05, help="transformer's rate / theirs")
    add_arguments(parser, RESULTS, seconds=3600)
    parser.add_argument("--jobs", type=int, default=1, help="trainings at a time, a thread each")
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--bf16", action="store_true", help="train the transformer in it on a CPU")
    arguments = parser.parse_args()
    if arguments.cell is not None:
        run_cell(arguments, arguments.cell)
        return
    run = partial(run_process, "transformers", arguments, sys.argv[1:])
    planned = list(cells(arguments))
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for line in pool.map(run, map(name_of, planned), planned):
            print(line, flush=True)
    write_page(arguments.output)
    if arguments.output == RESULTS:
        write_guide()


def cells(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """What to train, with the first seed of everything first."""
    for seed in range(arguments.seeds):
        for corpus in arguments.corpora:
            for system in arguments.systems:
                for rate in arguments.rates:
                    yield {
                        "corpus": corpus,
                        "system": system,
                        "seed": seed,
                        "updates": arguments.updates,
                        "limit": arguments.limit,
                        "rate": rate,
                        "factor": arguments.factor,
                        **({"precision": "bf16"} if arguments.bf16 else {}),
                    }


def name_of(cell: dict[str, Any]) -> str:
    """RETURNS (str): The name of a training."""
    rates = f"{cell['rate']:g}x{cell['factor']:g}"
    size = f"{cell['limit'] or 'all'}-{cell['updates']}"
    precision = f"-{cell['precision']}" if "precision" in cell else ""
    return f"{cell['corpus']}-{cell['system']}-{size}-{rates}{precision}-{cell['seed']}"


def run_cell(arguments: argparse.Namespace, cell: dict[str, Any]) -> None:
    """Train and evaluate one system, and write its results."""
    from spacy.training.initialize import init_nlp
    from spacy.training.loop import train

    torch.set_num_threads(1)
    if arguments.gpu:
        require_gpu(0)
    folder, data = arguments.runs / name_of(cell), arguments.data / cell["corpus"]
    if CORPORA[cell["corpus"]] == "spans":
        data = with_entities(data, folder / "data")
    config = config_of(arguments, cell, data)
    start = time.perf_counter()
    nlp = init_nlp(config, use_gpu=0 if arguments.gpu else -1)
    if arguments.bf16:
        use_bfloat16(nlp)
    begun = time.perf_counter()
    train(nlp, folder, use_gpu=0 if arguments.gpu else -1)
    seconds = time.perf_counter() - begun
    nlp = spacy.load(folder / "model-best")
    target = CORPORA[cell["corpus"]]
    dev, _ = evaluate(nlp, read(nlp, data / "dev.spacy"), target)
    test_docs = read(nlp, data / "test.spacy")
    test, duration = evaluate(nlp, test_docs, target)
    DocBin(docs=[eg.predicted for eg in test_docs]).to_disk(folder / "test.spacy")
    result = {
        **cell,
        "dev": dev,
        "test": test,
        "units": pack_units(test_docs, score_of(nlp, target)),
        "seconds": round(seconds, 1),
        "setup_seconds": round(begun - start, 1),
        "words_per_second": round(sum(len(eg.predicted) for eg in test_docs) / duration),
        "transformer": Path(arguments.transformer).name,
        "machine": machine(arguments.gpu),
    }
    write_result(arguments.output / f"{name_of(cell)}.json", result)
    print(f"{name_of(cell)}: dev {dev:.2f}, test {test:.2f}, {seconds:.0f} s", flush=True)


def use_bfloat16(nlp: spacy.Language) -> None:
    """Let the transformer of a pipeline multiply matrices in bfloat16 while it is trained, as mixed
    precision does on a GPU. Predictions and all other layers stay in full precision.

    nlp (Language): The pipeline.
    """
    pipe: Any = nlp.get_pipe("transformer")
    network = pipe.model.transformer
    forward = network.forward

    def in_bfloat16(*arguments: Any, **settings: Any) -> Any:
        with torch.autocast("cpu", torch.bfloat16, enabled=network.training):
            output = forward(*arguments, **settings)
        for name, value in output.items():
            output[name] = value.float() if torch.is_tensor(value) else value
        return output

    network.forward = in_bfloat16


def config_of(arguments: argparse.Namespace, cell: dict[str, Any], data: Path) -> Config:
    """Make the config of `psa init-config`, with the length and the rates to compare."""
    target, encoder = CORPORA[cell["corpus"]], SYSTEMS[cell["system"]]
    text = make_config(
        "bilstm-crf",
        target,
        name="x.cfg",
        corpus=data / "train.spacy",
        inputs=Inputs(arguments.transformer, encoder=encoder),
        gpu=arguments.gpu,
    )
    config = Config().from_str(text, interpolate=False)
    updates = cell["updates"]
    training = config["training"]
    training.update(max_steps=updates, eval_frequency=max(1, updates // EVALUATIONS))
    training["optimizer"]["learn_rate"].update(
        initial_rate=cell["rate"], warmup_steps=updates // 10, total_steps=updates
    )
    training["optimizer"]["groups"]["transformer"]["factor"] = cell["factor"]
    training["logger"]["progress_bar"] = None
    config["system"]["seed"] = cell["seed"]
    config["paths"]["dev"] = str(data / "dev.spacy")
    config["corpora"]["train"]["limit"] = cell["limit"]
    if cell["system"] == "spacy":
        with_spacy(config, target)
    return config.interpolate()


def with_spacy(config: Config, target: str) -> None:
    """Replace our component with spaCy's. Its `ner` learns chunks as entities."""
    factory = "tagger" if target == "tag" else "ner"
    model: dict[str, Any] = {"@architectures": "spacy.Tagger.v2", "tok2vec": LISTENER}
    if factory == "ner":
        model = {**NER, "tok2vec": LISTENER}
        config["training"]["score_weights"] = {"ents_f": 1.0}
    del config["components"][OURS]
    config["components"][factory] = {"factory": factory, "model": model}
    config["nlp"]["pipeline"] = ["transformer", factory]


def with_entities(data: Path, folder: Path) -> Path:
    """Copy a corpus of chunks, which become entities too.

    data (Path): The folder of the corpus.
    folder (Path): The folder to write to.
    RETURNS (Path): The same.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("train.spacy", "dev.spacy", "test.spacy"):
        docs = list(DocBin().from_disk(data / name).get_docs(spacy.blank("en").vocab))
        for doc in docs:
            doc.ents = [Span(doc, s.start, s.end, s.label_) for s in doc.spans["chunks"]]
        DocBin(docs=docs).to_disk(folder / name)
    return folder


def read(nlp: spacy.Language, path: Path) -> list[Example]:
    """Read annotated sentences."""
    docs = DocBin().from_disk(path).get_docs(nlp.vocab)
    return [
        Example(Doc(nlp.vocab, [t.text for t in doc], [bool(t.whitespace_) for t in doc]), doc)
        for doc in docs
    ]


def evaluate(nlp: spacy.Language, examples: list[Example], target: str) -> tuple[float, float]:
    """Predict, and score in percent.

    nlp (Language): The pipeline.
    examples (List[Example]): The sentences; receive the predictions.
    target (str): The target.
    RETURNS (Tuple[float, float]): The score, and the seconds of the prediction.
    """
    start = time.perf_counter()
    docs = list(nlp.pipe([eg.predicted for eg in examples]))
    seconds = time.perf_counter() - start
    for example, doc in zip(examples, docs, strict=True):
        example.predicted = doc
    return 100.0 * Scorer(nlp).score(examples)[score_of(nlp, target)], seconds


def score_of(nlp: spacy.Language, target: str) -> str:
    """RETURNS (str): The score of a target. spaCy's `ner` learns chunks as entities."""
    score = SCORES[target]
    return "ents_f" if score == "spans_chunks_f" and OURS not in nlp.pipe_names else score


def machine(gpu: bool) -> dict[str, Any]:
    """RETURNS (Dict[str, Any]): What was computed on."""
    if gpu:
        return {**describe_machine(), "gpu": torch.cuda.get_device_name()}
    return {**describe_machine(), "threads": 1}


if __name__ == "__main__":
    main()
