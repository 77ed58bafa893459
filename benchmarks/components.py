"""Speed of whole components, from `Doc` to `Doc`, compared with spaCy's and other toolkits'.

    OMP_NUM_THREADS=2 python -m benchmarks.components --data corpus/conll2000 --vectors vectors/en

All learn the chunks of the same sentences: spaCy's `tagger` as BILUO tags and `ner` as entities,
both with the default network of `add_pipe` (HashEmbedCNN); ours as spans, with the networks of
`psa init-config`. Installed toolkits (stanza, flair, NCRF++) learn tags or spans with the network
of `bilstm-crf`, in their own implementation: see `benchmarks.toolkits`. Training is timed in
batches of 10 and 32 sentences; tagging is timed with `nlp.pipe` and one document at a time, on
sentences not tagged before, since representations of words are cached. All runs are interleaved
(A B C A B C …) in one process. A figure is the number of sentences per second relative to the
peer's, as the ratio of medians; higher is faster. Wall time requires an idle machine: on a busy
one, choose `--clock processor`, which counts the time of all threads.

Two shares of the time are measured separately: what a component spends outside its network, and
what the network's matrix multiplications and LSTMs take alone, at their shapes. A system could only
be faster by the remaining time, unless it computed less. See `benchmarks.products`.

    python -m benchmarks.components … --hidden 300

uses BiLSTMs of 150 units in each direction, as in the configs of `psa init-config`, in our systems
and the toolkits.

    python -m benchmarks.components … --labels 425 --systems bilstm-crf lan

learns a tag set of this size instead, built from chunk tags and words: the cost of a label does not
depend on what it means. Cui and Zhang (2019) compare BiLSTM-LAN with the BiLSTM-CRF of NCRF++ for
45 and for 425 labels (table 4). `ner` and toolkits that only learn spans are skipped.

    python -m benchmarks.components … --precision bf16 --systems bilstm-crf psa

adds a second version of each of our systems: trained in mixed precision
(`mixed_precision = "bf16"`), and tagging in bfloat16, as after `psa quantize`.

    python -m benchmarks.components … --device cuda --on-cpu bilstm-crf psa

runs all systems on a GPU, with the settings of `psa init-config --gpu`, and these on the CPU, too.
"""

import statistics
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.training.initialize import load_vectors_into_model
from thinc.api import fix_random_seed
from tqdm import tqdm

from spacy_psa.acceleration.reduced_precision import FULL, REDUCTIONS
from spacy_psa.models.network_shim import reduce_pipeline

from .chunks import read, tag_words
from .components_page import HIDDEN, NAME, PEERS, draw, to_markdown
from .pipelines import Contender, Trainer, load_system, tagging
from .products import seconds_of_products
from .report import describe_run, make_parser, write
from .systems import only_words
from .timing import make_clock, measure, on_cpu, use_device
from .toolkits import TOOLKITS, installed, make_toolkit, versions

SYSTEMS = ("bilstm-crf", "bilstm-softmax", "psa", "lan", "refinement", "vaswani", "deepatt")
BATCHES = (10, 32)
ALONE = 200  # sentences tagged one at a time
ON_CPU = "{}, CPU"
OF_TAGS = ("tagger", "ncrfpp")  # peers that can learn arbitrary tags
Pipelines = dict[str, Language]
Actions = dict[str, Callable[[], None]]


def main() -> None:
    """Run the benchmark, and write `components.json` and `components.md`, or as in `name_of`."""
    parser = make_parser(__doc__, repeat=5)
    parser.add_argument("--data", type=Path, required=True, help="folder with train.spacy")
    parser.add_argument("--vectors", type=Path, help="pipeline with pretrained vectors")
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=SYSTEMS)
    parser.add_argument(
        "--hidden", type=int, default=HIDDEN, help="BiLSTM width, both directions together"
    )
    parser.add_argument("--sentences", type=int, default=640, help="sentences to train on and tag")
    parser.add_argument("--warm-up", type=int, default=320, help="sentences to train on first")
    parser.add_argument("--labels", type=int, help="size of a tag set to learn instead of chunks")
    parser.add_argument(
        "--precision",
        default=FULL,
        choices=[FULL, *REDUCTIONS],
        help="precision of our systems, in addition to float32",
    )
    parser.add_argument(
        "--on-cpu",
        nargs="+",
        default=[],
        choices=SYSTEMS,
        help="systems to run on the CPU, too, with --device cuda",
    )
    parser.add_argument("--alone", type=int, default=ALONE, help="sentences to tag one by one")
    arguments = parser.parse_args()
    if arguments.on_cpu and arguments.device == "cpu":
        parser.error("--on-cpu needs --device cuda: on the CPU, all systems run")
    if arguments.labels is not None and arguments.labels < 1:
        parser.error(f"--labels must be at least 1, but is {arguments.labels}")
    clock = make_clock(arguments.clock, arguments.device)
    use_device(arguments.device, pipelines=True)
    stream = read(arguments.data / "train.spacy")
    sentences = stream[: arguments.sentences]
    target, peers, toolkits, n_labels = "spans", PEERS, installed(), None
    if arguments.labels is not None:
        for doc in stream:
            tag_words(doc, arguments.labels)
        target = "tag"
        n_labels = len({token.tag_ for doc in sentences for token in doc})
        peers, toolkits = (
            tuple(name for name in names if name in OF_TAGS) for names in (peers, toolkits)
        )
    make = partial(
        make_pipeline,
        docs=sentences,
        vectors=arguments.vectors,
        hidden=arguments.hidden,
        target=target,
        gpu=arguments.device != "cpu",
    )
    pipelines: Pipelines = {name: make(name) for name in (*peers, *arguments.systems)}
    reduced = {}
    if arguments.precision != FULL:
        for name in arguments.systems:
            reduced[f"{name}, {arguments.precision}"] = make(name, precision=arguments.precision)
    pipelines |= reduced
    of_cpu: Pipelines = {}
    if arguments.device != "cpu":
        with on_cpu():
            of_cpu = {ON_CPU.format(name): make(name, gpu=False) for name in arguments.on_cpu}
    ours = [name for name in pipelines if name not in peers]
    contenders: dict[str, Contender] = {
        name: Trainer(nlp, sentences) for name, nlp in pipelines.items()
    }
    for name, nlp in of_cpu.items():
        contenders[name] = OnCPU(nlp, sentences)
    for name in toolkits:
        contenders[name] = make_toolkit(name, sentences, arguments.vectors, arguments.hidden)
    for contender in tqdm(contenders.values(), desc="warm-up"):
        contender.train(BATCHES[1], arguments.warm_up)
    seconds: dict[str, dict[str, float]] = {}
    portions: dict[str, int] = {}
    products: dict[str, dict[str, float]] = {}

    def time(what: str, by_name: Actions) -> None:
        times = seconds[what] = measure(by_name, arguments.repeat, clock, what)
        # A GPU runs asynchronously
        if arguments.device == "cpu":
            products[what] = {
                name: round(
                    seconds_of_products(by_name[name], clock, arguments.repeat) / times[name], 3
                )
                for name in tqdm(ours, desc=f"{what}: products")
            }

    for size in BATCHES:
        trained: Actions = {
            name: partial(contender.train, size, len(sentences))
            for name, contender in contenders.items()
        }
        portions[f"training, {size}"] = len(sentences)
        time(f"training, {size}", trained)
    # After training, since reduced pipelines cannot be trained
    for nlp in reduced.values():
        reduce_pipeline(nlp, arguments.precision)
    for what, whole, portion in (
        ("tagging, pipe", True, len(sentences)),
        ("tagging, one by one", False, arguments.alone),
    ):
        tagged: Actions = {
            name: contender.tagging(stream, whole=whole, portion=portion)
            for name, contender in contenders.items()
        }
        portions[what] = portion
        time(what, tagged)
    results = {
        **describe_run(arguments),
        "sentences": len(sentences),
        "hidden": arguments.hidden,
        "labels": n_labels,
        "precision": arguments.precision,
        "relative to": {
            peer: {
                what: {name: round(times[peer] / times[name], 3) for name in times}
                for what, times in seconds.items()
            }
            for peer in (*PEERS, *TOOLKITS, "bilstm-crf", *of_cpu)
            if peer in contenders
        },
        "tokens per sentence": round(sum(map(len, sentences)) / len(sentences), 1),
        "sentences per second": {
            what: {name: round(portions[what] / times[name], 1) for name in times}
            for what, times in seconds.items()
        },
        "products": products,
        "overhead": {
            name: round(overhead(pipelines[name], sentences, arguments.repeat, clock), 3)
            for name in ours
        },
    }
    results["machine"].update(versions())
    name = name_of(arguments.hidden, arguments.labels, arguments.precision)
    write(arguments.output, name, results, to_markdown(results), draw(results))


class OnCPU(Trainer):
    """Trains and applies a pipeline on the CPU, while others run on a GPU. See `Trainer`."""

    def train(self, batch_size: int, limit: int) -> None:
        """Train on the first `limit` examples."""
        with on_cpu():
            super().train(batch_size, limit)

    def tagging(
        self, docs: Sequence[Doc], *, whole: bool, portion: int | None = None
    ) -> Callable[[], None]:
        """Make the function that is timed for tagging. See `Trainer`."""
        tag = super().tagging(docs, whole=whole, portion=portion)

        def tag_on_cpu() -> None:
            with on_cpu():
                tag()

        return tag_on_cpu


def name_of(hidden: int, labels: int | None, precision: str = FULL) -> str:
    """Name the files of results.

    hidden (int): The width of the BiLSTM, both directions together.
    labels (Optional[int]): The size of the tag set that is learned instead of chunks.
    precision (str): The precision of our systems.
    RETURNS (str): The name, including the options that are not defaults.
    """
    unusual = ["labels"] if labels is not None else []
    unusual += [str(hidden)] if hidden != HIDDEN else []
    unusual += [precision] if precision != FULL else []
    return "-".join([NAME, *unusual])


def make_pipeline(
    name: str,
    docs: Sequence[Doc],
    vectors: Path | None,
    hidden: int,
    target: str = "spans",
    precision: str = FULL,
    gpu: bool = False,
) -> Language:
    """Make and initialize a pipeline with one component.

    name (str): A component of spaCy, or a system of `psa init-config`.
    docs (Sequence[Doc]): The documents that provide the labels.
    vectors (Optional[Path]): A pipeline with pretrained vectors.
    hidden (int): The width of the BiLSTM, both directions together.
    target (str): What our systems learn: "spans", or "tag".
    precision (str): The precision of matrix multiplications when training our systems.
    gpu (bool): Whether our systems have the settings for GPUs.
    RETURNS (Language): The pipeline.
    """
    fix_random_seed(0)
    if name in PEERS:
        nlp = spacy.blank("en")
        nlp.add_pipe(name)
    else:
        nlp = load_system(name, target, hidden, None if precision == FULL else precision, gpu=gpu)
    if vectors is not None:
        load_vectors_into_model(nlp, vectors, add_strings=True)
    nlp.initialize(lambda: [Example(only_words(nlp, doc), doc) for doc in docs])
    return nlp


def overhead(nlp: Language, docs: Sequence[Doc], repeat: int, clock: Callable[[], float]) -> float:
    """Measure the share of tagging time that is not spent in the component's `predict`.

    nlp (Language): One of our pipelines.
    docs (Sequence[Doc]): The documents to tag.
    repeat (int): The number of repetitions.
    clock (Callable[[], float]): The clock.
    RETURNS (float): Between 0 and 1. Creating `Doc` objects is included, Viterbi decoding is not.
    """
    pipe: Any = nlp.get_pipe("psa_tagger")
    predict, spent = pipe.predict, 0.0

    def timed(docs: Sequence[Doc]) -> Any:
        nonlocal spent
        start = clock()
        result = predict(docs)
        spent += clock() - start
        return result

    pipe.predict = timed
    shares = []
    try:
        tag = tagging(nlp, docs, whole=True)
        for turn in range(repeat + 1):
            spent, start = 0.0, clock()
            tag()
            if turn:
                shares.append(1 - spent / (clock() - start))
    finally:
        del pipe.predict
    return statistics.median(shares)


if __name__ == "__main__":
    main()
