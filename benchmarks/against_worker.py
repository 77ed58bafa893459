"""Trains and tags with one version of the package, a slice at a time. See `benchmarks.against`.

It imports nothing of the benchmarks, since it also runs with an earlier version. Each line of its
input is a command, each line of its output the answer, in JSON.
"""

import gc
import json
import sys
import time
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import spacy
import torch
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Corpus, Example
from spacy.training.initialize import load_vectors_into_model
from spacy.util import load_model_from_config, minibatch, registry
from thinc.api import Config, fix_random_seed, set_gpu_allocator

import spacy_psa

# Sentences in a slice of each figure, and in a batch
SLICES = {
    "training, 10": (40, 10),
    "training, 32": (64, 32),
    "pipe": (256, 256),
    "one by one": (60, 1),
}


def main() -> None:
    """Answer commands: a figure with the seconds of its next slice, "peak" with the memory."""
    system, hidden, data, vectors, limit, device = sys.argv[1:]
    torch.set_num_threads(1)
    on_gpu = device == "cuda"
    if on_gpu:
        set_gpu_allocator("pytorch")
        spacy.require_gpu()
    place = Path(spacy_psa.__file__).parent
    # Earlier commits had the second name
    names = (f"{system}-spans.cfg", f"{system}-chunk.cfg")
    paths = [place.parent / "configs" / name for name in names]
    text = next(path for path in paths if path.exists()).read_text(encoding="utf8")
    nlp = make_pipeline(text, int(hidden), on_gpu)
    docs = [eg.reference for eg in Corpus(Path(data), limit=int(limit))(spacy.blank("en"))]
    if vectors:
        load_vectors_into_model(nlp, Path(vectors), add_strings=True)
    fix_random_seed(0)
    nlp.initialize(lambda: (Example(unlabeled(nlp, doc), doc) for doc in docs))
    slices = {figure: work(nlp, docs, figure) for figure in SLICES}
    gc.collect()
    gc.freeze()
    answer({"package": str(place), "sentences": len(docs)})
    for line in sys.stdin:
        command = json.loads(line)
        if command == "peak":
            # Not that of getrusage, which in a new process starts from the value of the parent
            status = Path("/proc/self/status").read_text(encoding="utf8")
            used = int(status.partition("VmHWM:")[2].split()[0]) << 10
            answer((torch.cuda.max_memory_allocated() if on_gpu else used) / 2**20)
        else:
            answer(seconds(next(slices[command]), on_gpu))


def make_pipeline(text: str, hidden: int, on_gpu: bool) -> Language:
    """Make the pipeline of a config.

    text (str): The config.
    hidden (int): The width of the BiLSTM, both directions together.
    on_gpu (bool): Whether to train with CUDA graphs.
    RETURNS (Language): The pipeline, not initialized.
    """
    config = Config().from_str(text, interpolate=False)
    model = config["components"]["psa_tagger"]["model"]
    model["cuda_graphs"], encoder = on_gpu, model["encoder"]
    for block in [encoder, *(b for b in encoder.values() if isinstance(b, dict))]:
        if block["@architectures"] == "spacy_psa.BiLSTM.v1":
            block["hidden_width"] = hidden
    return load_model_from_config(config.interpolate(), auto_fill=True)


def work(nlp: Language, docs: list[Doc], figure: str) -> Iterator[Callable[[], None]]:
    """Make slices of work, without an end. Each has the sentences after those of the last.

    nlp (Language): The pipeline.
    docs (List[Doc]): The sentences.
    figure (str): A key of `SLICES`.
    YIELDS (Callable[[], None]): What is timed.
    """
    n, size = SLICES[figure]
    optimizer: Any = None
    if figure.startswith("training"):
        config = nlp.config.interpolate()["training"]["optimizer"]
        optimizer = registry.resolve({"optimizer": config})["optimizer"]
    stream = cycle(docs)
    while True:
        gold = list(islice(stream, n))
        made = [unlabeled(nlp, doc) for doc in gold]
        if optimizer is not None:
            examples = [Example(*pair) for pair in zip(made, gold, strict=True)]
            batches = list(minibatch(examples, size))

        def act() -> None:
            if optimizer is not None:
                for batch in batches:  # noqa: B023 - run at once
                    nlp.update(batch, sgd=optimizer, losses={})
            elif size > 1:
                for _ in nlp.pipe(made, batch_size=size):  # noqa: B023 - run at once
                    pass
            else:
                for doc in made:  # noqa: B023 - run at once
                    nlp(doc)

        yield act


def unlabeled(nlp: Language, doc: Doc) -> Doc:
    """RETURNS (Doc): The words of a sentence."""
    return Doc(nlp.vocab, words=[token.text for token in doc])


def seconds(act: Callable[[], None], on_gpu: bool) -> float:
    """RETURNS (float): The processor time of an action; on a GPU, its wall time."""
    fix_random_seed(0)
    gc.collect()
    if not on_gpu:
        start = time.process_time()
        act()
        return time.process_time() - start
    torch.cuda.synchronize()
    start = time.perf_counter()
    act()
    torch.cuda.synchronize()
    return time.perf_counter() - start


def answer(value: Any) -> None:
    """Write an answer."""
    print(json.dumps(value), flush=True)


if __name__ == "__main__":
    main()
