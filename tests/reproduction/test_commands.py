"""The printed commands train as the papers do: their settings, copied by hand from the papers."""

from __future__ import annotations

import re
import shlex
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from spacy_psa.cli import _reproduction_runs
from spacy_psa.cli._reproduction_runs import (
    FACTORIES,
    TAGGER,
    Plan,
    change,
    make_system,
)
from spacy_psa.cli.reproduce import parse_options
from spacy_psa.reproduction.paper_tables import commands
from spacy_psa.reproduction.papers import Listing, PaperTable, read_papers

from ..training.runs import write_corpora

PAPERS = read_papers()
TRAINED = [table for table in PAPERS.tables if table.rows]


class Said(NamedTuple):
    """How a paper trains, None where it does not say.

    where (str): Page or section.
    rate (Optional[float]): The initial learning rate.
    decay (Optional[float]): What it is divided by grows by this much per epoch.
    momentum (Optional[float]): That of SGD.
    batch (int): Sentences in a batch; tokens for semantic roles.
    clip (Optional[float]): The norm of gradients.
    dropout (Optional[float]): On the input of the first BiLSTM, of residuals for DeepAtt.
    width (Optional[int]): The hidden size.
    characters (Optional[int]): The width of a word's characters.
    averages (bool): Whether weights are averaged.
    argmax (bool): Whether spans are read from the best tags, valid or not.
    summed (bool): Whether the loss of a batch is a sum.
    """

    where: str
    rate: float | None
    decay: float | None
    momentum: float | None
    batch: int
    clip: float | None
    dropout: float | None
    width: int | None
    characters: int | None
    averages: bool = False
    argmax: bool = False
    summed: bool = False


PSA = Said("section 5.2", 0.015, 0.05, 0.9, 10, 5.0, 0.55, 300, 100, averages=True)
# Appendix A has LAN's settings, section 5.3 the width. The decay of parts of speech is in the
# README of its code, which sums the loss of a batch. Section 4.2: 'argmax'.
LAN = Said("section 5.3 and code", 0.01, 0.05, 0.9, 10, 5.0, 0.5, 400, 50, argmax=True, summed=True)
REFINEMENT = Said("section 4.2", 0.1, 0.075, 0.15, 10, 5.0, 0.5, 600, 100)
DEEPATT = Said("'Settings' and 'Learning'", 1.0, None, None, 4096, 1.0, 0.2, 200, None)
SETTINGS: dict[tuple[str, str], Said] = {
    # Section 5.2: 0.01 for parts of speech
    **{(paper, "wsj"): PSA._replace(rate=0.01) for paper in ("psa", "psa-arxiv")},
    **{
        (paper, corpus): PSA
        for paper in ("psa", "psa-arxiv")
        for corpus in ("conll2000", "conll2003", "ontonotes")
    },
    ("lan", "ontonotes"): LAN,
    **{
        ("lan", corpus): LAN._replace(decay=0.035)
        for corpus in PAPERS.corpora
        if corpus in ("wsj", "ccgbank") or corpus.startswith("ud-")
    },
    **{("refinement", corpus): REFINEMENT for corpus in ("conll2003", "ontonotes", "wsj", "ud-en")},
    # 'for Chinese experiments without contextual word representations 0.05'
    ("refinement", "ontonotes-zh"): REFINEMENT._replace(rate=0.05),
    ("refinement", "ontonotes4-zh"): REFINEMENT._replace(rate=0.05),
    # '4096 tokens for the CoNLL-2005 dataset and 8192 tokens for the CoNLL-2012 dataset'
    ("deepatt", "conll2005"): DEEPATT,
    ("deepatt", "conll2012-srl"): DEEPATT._replace(batch=8192),
}
# PSA 5.3.1 and 5.3.2, 'rerun 5 times'; LAN 5.2, 'five times'; refinement 4.3, '4 times'; DeepAtt's
# 'Results', 'ensembling 5 models'
SEEDS = {"psa": 5, "psa-arxiv": 5, "lan": 5, "refinement": 4, "deepatt": 5}
# PSA 5.2; LAN 5.2; refinement 4.2; DeepAtt's 'Word Embedding': width and name
VECTORS = {"en": "vectors/glove-100", "zh": "vectors/fasttext-300-zh"}
# The folders of `psa reproduce` in commands: place, system, seeds. A star would match more than the
# digits of a run: deepatt-[0-4]-* is deepatt-4-layers-0-…, too
RUN = r"training/reproduce/([\w-]+)/([\w-]+?)-(\d|\[\d-\d\])-\?{8}(?=[/ ])"
WIDTHS = ("200", "400", "600", "800")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    write_corpora(folder)
    return folder


@pytest.fixture(scope="module", autouse=True)
def once() -> Any:
    """Fill the config of each system only once: it takes longer than the rest."""
    made = _reproduction_runs.make_config
    with pytest.MonkeyPatch.context() as patch:
        known = cache(
            lambda system, target, corpus: made(
                system, target, name="config.cfg", recipe="paper", corpus=corpus
            )
        )
        patch.setattr(
            _reproduction_runs,
            "make_config",
            lambda system, target, *, corpus, **rest: known(system, target, corpus),
        )
        yield


def read(command: str) -> dict[str, str]:
    """The options of a command."""
    words = shlex.split(command)
    assert words[:5] == ["python", "-m", "spacy", "psa", "reproduce"]
    return dict(zip(words[5::2], words[6::2], strict=True))


def found(config: dict[str, Any], target: str) -> dict[str, Any]:
    """What a config says of `Said`."""
    component = FACTORIES.get(target, TAGGER)
    model = config["components"][component]["model"]
    optimizer, encoder = config["training"]["optimizer"], model["encoder"]
    rate = optimizer["learn_rate"]
    words = model["tok2vec"]
    words = words["*"]["words"] if "*" in words else words
    inner = encoder.get("recurrent", encoder)
    inner = encoder["*"]["psa"]["recurrent"] if "*" in encoder else inner
    outer = encoder if encoder.get("input_dropout") else inner
    return {
        "rate": rate.get("initial_rate"),
        "decay": rate.get("decay"),
        "momentum": optimizer.get("momentum"),
        "batch": config["training"]["batcher"]["size"],
        "clip": config["components"][component]["max_grad_norm"],
        "dropout": encoder.get("residual_dropout", outer.get("input_dropout")),
        "width": inner.get("hidden_width", inner.get("width")),
        "characters": (words["characters"] or {}).get("width"),
        "averages": optimizer["use_averages"],
        "argmax": not config["components"][component].get("constrain_decoding", True),
        "summed": config["components"][component].get("loss_reduction") == "sum",
    }


@pytest.mark.parametrize("table", TRAINED, ids=lambda table: f"{table.paper}-{table.number}")
def test_commands_train_as_the_paper_says(table: PaperTable, folder: Path) -> None:
    for command in commands(table, PAPERS):
        options = read(command)
        name, lang = options["--corpus-name"], options.get("--lang", "en")
        seeds = 1 if (table.paper, table.number) == ("deepatt", "3") else SEEDS[table.paper]
        assert options["--seeds"].split() == [str(i) for i in range(seeds)]
        expected = VECTORS.get(lang, f"vectors/polyglot-64-{lang}")
        # 'and 300-dimensional Glove word embeddings for CCG supertagging' (LAN 5.2)
        expected = "vectors/glove-300" if name == "ccgbank" else expected
        assert options["--vectors"] == expected
        target = options["--target"]
        plan = Plan(name, target, folder, folder, vectors=expected, lang=lang)
        for system in options["--systems"].split():
            if system.startswith("vaswani"):
                continue  # the paper is silent
            paper = table.paper
            if system.startswith("lan"):
                paper = "lan"
            said = SETTINGS[paper, name]._asdict()
            if "bert" in system:
                pytest.importorskip("spacy_transformers")
                said["rate"] = 0.1  # 'for all the other experiments we use 0.1'
            config = make_system(plan, system)
            change(config, parse_options(options.get("--options", "")), system)
            # The variants of these sizes are in their names
            sizes = [part.split("x")[0] for part in system.split("-")]
            said["width"] = next((int(s) for s in sizes if s in WIDTHS), said["width"])
            if system == "psa-softmax":
                said["argmax"] = True  # table 9: the best tag of each token
            if system == "psa-three-fusions":
                said["dropout"] = said["width"] = None
            where = said.pop("where")
            assert found(config, target) == said, f"{system} on {name}: {where}"


def test_random_embeddings_differ_by_vectors_alone(folder: Path) -> None:
    plan = Plan("conll2005", "roles", folder, folder, vectors="vectors/glove-100")
    trained, random = make_system(plan, "deepatt"), make_system(plan, "deepatt-random")
    assert trained["initialize"]["vectors"] == "${paths.vectors}"
    assert random["initialize"]["vectors"] is None
    trained["initialize"]["vectors"] = None
    assert trained == random


@pytest.mark.parametrize(
    ("system", "baseline"),
    [
        ("lan", "lan-bilstm-crf"),
        ("lan", "lan-bilstm-softmax"),
        ("refinement", "refinement-bilstm-crf"),
    ],
)
def test_baselines_differ_in_the_network_alone(system: str, baseline: str, folder: Path) -> None:
    plan = Plan("conll2003", "ents", folder, folder)
    one, other = make_system(plan, system), make_system(plan, baseline)
    for part in ("encoder", "decoder"):
        assert one["components"][TAGGER]["model"].pop(part) != other["components"][TAGGER][
            "model"
        ].pop(part)
    assert one == other


def test_listings_read_the_runs_that_commands_write() -> None:
    written: set[tuple[str, str, str]] = set()
    read_runs: set[tuple[str, str, str]] = set()
    for place in PAPERS.contents:
        lines = commands(place, PAPERS) if isinstance(place, PaperTable) else []
        own = place.commands if isinstance(place, Listing) else []
        for line in (*lines, *(line for line in own if " psa reproduce " in line)):
            options = read(line)
            for system, seed in product(options["--systems"].split(), options["--seeds"].split()):
                folder = f"{options['--corpus-name']}-{options['--target']}"
                written.add((folder, system, seed))
        for line in own:
            assert "-*" not in line
            for folder, system, seeds in re.findall(RUN, line):
                low, _, high = seeds.strip("[]").partition("-")
                for seed in range(int(low), int(high or low) + 1):
                    read_runs.add((folder, system, str(seed)))
    assert read_runs and read_runs <= written


def test_between_two_bilstms_there_is_dropout_once(folder: Path) -> None:
    plan = Plan("conll2003", "ents", folder, folder)
    parts = ("first_fusion", "recurrent", "second_fusion")
    for system, pair in (("psa-bilstm-first", parts[:2]), ("psa-bilstm-last", parts[1:])):
        encoder = make_system(plan, system)["components"][TAGGER]["model"]["encoder"]
        lower, upper = (encoder[part] for part in pair)
        assert sorted((lower["output_dropout"], upper["input_dropout"])) == [0.0, 0.55]
        assert (lower["input_dropout"], upper["output_dropout"]) == (0.55, 0.55)


def test_the_command_of_table_6_prints_table_6() -> None:
    (table,) = (t for t in PAPERS.contents if (t.paper, t.number) == ("deepatt", "6"))
    assert all("--confusion" in command for command in table.commands)
