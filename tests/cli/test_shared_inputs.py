"""`psa init-config` for components on a transformer or a shared tok2vec."""

from __future__ import annotations

import inspect
import json
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example
from spacy.util import load_model_from_config, registry, resolve_dot_names
from spacy.vocab import Vocab
from thinc.api import Adam, Config

from spacy_psa.annotation.propositions import get_frames
from spacy_psa.cli import _transformers
from spacy_psa.cli._assembly import RECIPES
from spacy_psa.cli._configs import make_config
from spacy_psa.cli._shared_inputs import MAX_DROPOUT, Inputs
from spacy_psa.cli._templates import names
from spacy_psa.cli._training_files import check_precision, check_training_files
from spacy_psa.cli.quantize import make_ensemble

from ..pipeline import srl_data
from ..tiny_transformer import write_transformer
from .commands import plain, run, succeed
from .test_init_config import DIFFERENT, SCORES, blocks

WORDS = ["Ann", "saw", "New", "York"]
ENCODERS = {
    "none": None,
    "bilstm": "spacy_psa.BiLSTM.v1",
    "psa": "spacy_psa.PSAEncoder.v1",
}


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A transformer that reads 64 subwords at once."""
    folder = tmp_path_factory.mktemp("bert")
    settings = {"num_hidden_layers": 5, "max_position_embeddings": 64}
    return write_transformer(folder, WORDS, **settings)


def config_of(system: str, task: str, transformer: Path | None = None, **settings: Any) -> Config:
    """Make a config."""
    name = None if transformer is None else str(transformer)
    shared = {key: settings.pop(key) for key in ("freeze", "encoder", "raw") if key in settings}
    text = make_config(system, task, name="x.cfg", inputs=Inputs(name, **shared), **settings)
    return Config().from_str(text, interpolate=False)


def encoder_of(config: Config, name: str = "psa_tagger") -> dict[str, Any] | None:
    """The encoder of a component."""
    return config["components"][name]["model"]["encoder"]


def make_examples(nlp: Language) -> list[Example]:
    """One annotated sentence, with everything that taggers learn."""
    doc = Doc(nlp.vocab, words=WORDS, tags=["NNP", "VBD", "NNP", "NNP"])
    doc.ents = [Span(doc, 0, 1, "PER"), Span(doc, 2, 4, "LOC")]
    for key in ("chunks", "places"):
        doc.spans[key] = [Span(doc, 2, 4, "X")]
    return [Example(Doc(nlp.vocab, words=WORDS), doc)]


def learn(
    config: Config,
    steps: int = 60,
    make: Callable[[Language], list[Example]] = make_examples,
    scores: Sequence[str] = (),
) -> tuple[Language, list[Example]]:
    """Train a small pipeline at a high rate, on a transformer with the optimizer of its config,
    until these scores are 1, if there are any.
    """
    for _, _, block in blocks(config["components"]):
        if "hidden_width" in block:
            block["hidden_width"] = 32
    if "transformer" in config["components"]:
        config["training"]["optimizer"]["learn_rate"] = 0.01
    else:
        config["training"]["optimizer"] = {"@optimizers": "Adam.v1", "learn_rate": 0.01}
    nlp = load_model_from_config(config, auto_fill=True)
    examples = make(nlp)
    training = config["training"]
    # As `spacy train` initializes a pipeline
    with nlp.select_pipes(disable=training["frozen_components"]):
        nlp.initialize(lambda: examples)
    (optimizer,) = resolve_dot_names(config.interpolate(), ["training.optimizer"])
    for i in range(1, steps + 1):
        nlp.update(
            examples,
            sgd=optimizer,
            exclude=training["frozen_components"],
            annotates=training["annotating_components"],
        )
        if scores and i % 10 == 0:
            found = nlp.evaluate(make(nlp))
            if all(found[score] == 1.0 for score in scores):
                break
    return nlp, make(nlp)


@pytest.mark.parametrize("task", ["ents", "spans", "tag"])
@pytest.mark.parametrize("system", names("systems"))
def test_every_system_and_task_stands_on_a_transformer(bert: Path, system: str, task: str) -> None:
    config = config_of(system, task, bert)
    assert config["nlp"]["pipeline"] == ["transformer", "psa_tagger"]
    tok2vec = config["components"]["psa_tagger"]["model"]["tok2vec"]
    assert tok2vec["@architectures"] == "spacy-transformers.TransformerListener.v1"
    assert config["training"]["score_weights"][SCORES[task]] == 1.0
    assert config["components"]["transformer"]["model"]["name"] == str(bert)


@pytest.mark.parametrize(("system", "task"), DIFFERENT)
def test_a_system_on_a_transformer_can_be_built(bert: Path, system: str, task: str) -> None:
    config = config_of(system, task, bert)
    assert load_model_from_config(config, auto_fill=True).pipe_names == config["nlp"]["pipeline"]


@pytest.mark.parametrize("system", names("systems"))
def test_dropout_is_low_on_a_transformer(bert: Path, system: str) -> None:
    encoder = {"encoder": encoder_of(config_of(system, "ents", bert))}
    rates = [v for _, _, block in blocks(encoder) for k, v in block.items() if "dropout" in k]
    assert rates and max(rates) <= MAX_DROPOUT


@pytest.mark.parametrize("system", names("roles"))
def test_roles_on_a_transformer(bert: Path, system: str) -> None:
    config = config_of(system, "roles", bert)
    assert config["nlp"]["pipeline"] == ["transformer", "psa_srl"]
    model = config["components"]["psa_srl"]["model"]
    assert model["tok2vec"]["@architectures"] == "spacy-transformers.TransformerListener.v1"
    assert config["training"]["batcher"]["@batchers"] == "spacy_psa.batch_by_propositions.v1"
    assert config["corpora"]["train"]["@readers"] == "spacy_psa.FrameCorpus.v1"
    training = config["training"]
    assert training["max_steps"] == training["optimizer"]["learn_rate"]["total_steps"]
    load_model_from_config(config, auto_fill=True)


def test_roles_have_the_network_that_learns_soon_unless_the_paper_is_asked_for(bert: Path) -> None:
    def chosen(system: str, **options: str) -> tuple[int, str, float]:
        text = make_config(system, "roles", name="x.cfg", inputs=Inputs(str(bert)), **options)
        config = Config().from_str(text)
        encoder = config["components"]["psa_srl"]["model"]["encoder"]
        factor = config["training"]["optimizer"]["groups"]["transformer"]["factor"]
        return encoder["depth"], encoder["sublayer"]["@architectures"].split(".")[1], factor

    assert chosen("deepatt") == chosen("deepatt-small") == (4, "RecurrentSublayer", 0.1)
    assert chosen("deepatt", recipe="paper") == (10, "FeedForwardSublayer", 0.1)


@pytest.mark.parametrize("freeze", [False, True])
def test_roles_are_learned_and_combined(bert: Path, tmp_path: Path, freeze: bool) -> None:
    config = config_of("bilstm-crf-small", "roles", bert, encoder="bilstm", freeze=freeze)
    nlp, examples = learn(config, make=srl_data.make_examples, scores=["srl_f"])
    assert nlp.evaluate(examples)["srl_f"] > 0.8
    nlp.to_disk(tmp_path / "one")
    make_ensemble([tmp_path / "one", tmp_path / "one"]).to_disk(tmp_path / "both")
    both = spacy.load(tmp_path / "both")
    assert both.pipe_names == ["psa_srl"], "each model has its own transformer"
    assert both.evaluate(examples)["srl_f"] > 0.8


def test_a_component_gets_a_transformer_of_its_own(bert: Path, tmp_path: Path) -> None:
    nlp, examples = learn(config_of("psa", "tag ents", bert, encoder="none"), steps=20)

    def predicted() -> list[list[tuple[str, str]]]:
        texts = ["Ann saw New York", "", " \n ", "York saw", "Ann " * 50]
        return [[(t.tag_, t.ent_type_) for t in doc] for doc in nlp.pipe(texts)]

    before = predicted()
    assert [len(doc) for doc in before] == [4, 0, 1, 2, 50]
    nlp.replace_listeners("transformer", "psa_ents", ["model.tok2vec"])
    assert predicted() == before
    losses = nlp.update(examples, sgd=Adam(0.001))
    assert losses["psa_ents"] >= 0.0
    nlp.to_disk(tmp_path)
    before, nlp = predicted(), spacy.load(tmp_path)
    assert predicted() == before


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("task", ["ents", "roles"])
def test_the_encoder_is_chosen(bert: Path, encoder: str, task: str) -> None:
    system, name = ("lan", "psa_tagger") if task == "ents" else ("deepatt", "psa_srl")
    found = encoder_of(config_of(system, task, bert, encoder=encoder), name)
    assert (found and found["@architectures"]) == ENCODERS[encoder]


def test_roles_without_an_encoder_are_read_in_marked_copies(bert: Path, tmp_path: Path) -> None:
    config = config_of("bilstm-crf", "roles", bert, encoder="none")
    assert config["nlp"]["pipeline"] == ["psa_srl"] and "transformer" not in config["components"]
    model = config["components"]["psa_srl"]["model"]
    assert model["@architectures"] == "spacy_psa.MarkedRoleLabeler.v1"
    assert model["tok2vec"]["name"] == str(bert) and model["tok2vec"]["get_spans"]["window"] == 16
    group = config["training"]["optimizer"]["groups"]["transformer"]
    assert group == {"parameters": ["hf-pytorch/*"], "factor": 0.15}
    assert config["training"]["max_steps"] == 2000
    assert config["training"]["batcher"]["@batchers"] == "spacy_psa.batch_by_propositions.v1"
    group["factor"] = 1.0
    nlp, examples = learn(config, 100, make=srl_data.make_examples, scores=["srl_f"])
    assert nlp.evaluate(examples)["srl_f"] > 0.8
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    assert loaded.evaluate(examples) | {"speed": 0} == nlp.evaluate(examples) | {"speed": 0}


@pytest.mark.parametrize("freeze", [False, True])
def test_something_must_know_the_predicate(bert: Path, freeze: bool) -> None:
    transformer = bert if freeze else None
    with pytest.raises(ValueError, match=r"P199.*--encoder bilstm.*--transformer"):
        config_of("deepatt", "roles", transformer, encoder="none", freeze=freeze)


def test_an_encoder_without_a_transformer() -> None:
    config = config_of("psa", "tag", encoder="bilstm")
    assert encoder_of(config)["@architectures"] == "spacy_psa.BiLSTM.v1"
    assert config["nlp"]["pipeline"] == ["psa_tagger"]
    assert config["components"]["psa_tagger"]["model"]["tok2vec"]["characters"] is not None


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize(("system", "encoder"), [("bilstm-crf", "bilstm"), ("psa", "psa")])
def test_an_encoder_has_the_settings_of_the_recipe(system: str, encoder: str, recipe: str) -> None:
    own = config_of(system, "ents", recipe=recipe)
    assert config_of(system, "ents", recipe=recipe, encoder=encoder) == own


def test_comments_are_about_the_encoder_that_was_chosen() -> None:
    inputs = Inputs(encoder="bilstm")
    text = make_config("deepatt", "roles", name="x.cfg", recipe="paper", inputs=inputs)
    assert "# The encoder of bilstm-crf and the decoder of deepatt." in text
    assert "10 layers" not in text and "'Learning' of the paper" in text
    (dropout,) = re.findall(r"(.*)\ninput_dropout", text)
    assert dropout == "depth = 1"


@pytest.mark.parametrize("freeze", [False, True])
def test_learns_what_it_is_told_to(bert: Path, freeze: bool) -> None:
    config = config_of("psa", "ents", bert, encoder="none", freeze=freeze)
    optimizer = config["training"]["optimizer"]
    assert ("transformer" in (optimizer["groups"] or {})) is not freeze
    nlp, examples = learn(config, scores=["ents_f"])
    assert nlp.evaluate(examples)["ents_f"] == 1.0
    tuned = nlp.get_pipe("transformer").model.transformer.state_dict()
    fresh = spacy.blank("xx")
    model = config["components"]["transformer"]["model"]
    fresh.add_pipe("transformer", config={"model": model})
    fresh.initialize()
    kept = fresh.get_pipe("transformer").model.transformer.state_dict()
    name = next(key for key in kept if "query.weight" in key)
    assert bool((tuned[name] == kept[name]).all()) is freeze


@pytest.mark.parametrize("on_transformer", [False, True])
def test_several_components_share_what_they_stand_on(bert: Path, on_transformer: bool) -> None:
    transformer = bert if on_transformer else None
    config = config_of("bilstm-crf", "tag ents spans spans:places", transformer)
    upstream = "transformer" if on_transformer else "tok2vec"
    components = ["psa_tag", "psa_ents", "psa_spans", "psa_places"]
    assert config["nlp"]["pipeline"] == [upstream, *components]
    assert [config["components"][name]["target"] for name in components] == [
        "tag",
        "ents",
        "spans",
        "spans",
    ]
    keys = [config["components"][name]["spans_key"] for name in components[2:]]
    assert keys == ["chunks", "places"]
    # Batches of as many tokens, and so of few or many sentences
    reductions = {config["components"][name]["loss_reduction"] for name in components}
    assert reductions == {"sum" if on_transformer else "mean"}
    weights = {k: v for k, v in config["training"]["score_weights"].items() if v}
    wanted = ["tag_acc", "ents_f", "spans_chunks_f", "spans_places_f"]
    assert weights == dict.fromkeys(wanted, 0.25)
    assert "psa_tagger" not in config["components"]
    nlp, examples = learn(config, scores=wanted)
    scores = nlp.evaluate(examples)
    assert [scores[score] for score in wanted] == [1.0] * 4


def test_comments_follow_a_component_to_its_name(bert: Path) -> None:
    text = make_config("psa", "tag ents", name="x.cfg", inputs=Inputs(str(bert)))
    lines = text.splitlines()
    place = lines.index("[components.psa_ents.model.encoder.first_fusion.bias]")
    assert lines[place + 2] == "# k and r in the paper, both 10"
    assert max(map(len, lines)) <= max(100, len(str(bert)) + 20)


@pytest.mark.parametrize("on_transformer", [False, True])
def test_raw_text_is_cut_into_sentences(bert: Path, on_transformer: bool) -> None:
    transformer = bert if on_transformer else None
    config = config_of("bilstm-crf", "ents", transformer, raw=True)
    assert config["nlp"]["pipeline"][0] == "sentencizer"
    assert config["training"]["annotating_components"] == ["sentencizer"]
    assert config["training"]["batcher"]["@batchers"] == "spacy.batch_by_padded.v1"
    assert config["components"]["psa_tagger"]["loss_reduction"] == "sum"
    assert config["corpora"]["train"]["@readers"] == "spacy.Corpus.v1"
    weights = config["training"]["score_weights"]
    assert weights["sents_f"] is None and weights["ents_f"] == 1.0
    nlp, _ = learn(config, steps=1)
    assert len(list(nlp("Ann saw York . Ann saw .").sents)) == 2


def test_raw_text_for_several_targets() -> None:
    components = config_of("psa", "tag ents", raw=True)["components"]
    listeners = [components[name]["model"]["tok2vec"] for name in ("psa_tag", "psa_ents")]
    assert {listener["width"] for listener in listeners} == {200}


def test_a_group_of_spans_can_be_the_only_target() -> None:
    config = config_of("psa", "spans:places")
    assert config["nlp"]["pipeline"] == ["psa_tagger"]
    assert config["components"]["psa_tagger"]["spans_key"] == "places"
    assert config["training"]["score_weights"]["spans_places_f"] == 1.0


def test_windows_fit_the_transformer(bert: Path) -> None:
    model = config_of("psa", "ents", bert)["components"]["transformer"]["model"]
    assert model["tokenizer_config"]["model_max_length"] == 64
    assert (model["get_spans"]["window"], model["get_spans"]["stride"]) == (16, 12)


def test_settings_for_a_gpu(bert: Path) -> None:
    config = config_of("psa", "ents", bert, gpu=True)
    assert config["components"]["transformer"]["model"]["mixed_precision"] is True
    model = config["components"]["psa_tagger"]["model"]
    assert (model["mixed_precision"], model["cuda_graphs"]) == ("bf16", False)
    assert config["training"]["accumulate_gradient"] == 1


def test_a_small_corpus_has_enough_updates(bert: Path, tmp_path: Path) -> None:
    docs = [Doc(Vocab(), words=WORDS)] * 30
    DocBin(docs=docs).to_disk(tmp_path / "train.spacy")
    corpus = tmp_path / "train.spacy"
    text = make_config("psa", "ents", name="x.cfg", corpus=corpus, inputs=Inputs(str(bert)))
    training = Config().from_str(text)["training"]
    assert training["max_steps"] == training["optimizer"]["learn_rate"]["total_steps"] == 800
    assert training["eval_frequency"] == 50
    said = " ".join(text.replace("\n# ", " ").split())
    assert "Ten epochs, and at least 800 updates: here 800 epochs max_steps = 800" in said
    assert "An epoch has 1 update(s): 30 Docs of train.spacy. eval_frequency = 50" in said
    assert "A tenth of the training warmup_steps = 80" in said


@pytest.mark.parametrize(
    ("encoder", "n", "updates", "every"),
    [(None, 4, 801, 89), (None, 20_000, 2700, 300), ("none", 4, 800, 100)],
)
def test_roles_have_as_many_epochs_for_any_number_of_propositions(
    bert: Path, tmp_path: Path, encoder: str | None, n: int, updates: int, every: int
) -> None:
    (example,) = srl_data.make_examples(spacy.blank("en"))[:1]
    docs = [example.reference] * (n // len(get_frames(example.reference)))
    inputs = Inputs(str(bert), encoder=encoder)
    corpus = tmp_path / "train.spacy"
    text = make_config("deepatt", "roles", name="x.cfg", corpus=corpus, docs=docs, inputs=inputs)
    training = Config().from_str(text)["training"]
    rate = training["optimizer"]["learn_rate"]
    assert (training["max_steps"], training["eval_frequency"]) == (updates, every)
    assert (rate["total_steps"], rate["warmup_steps"]) == (updates, updates // 10)
    assert f"{n:,} propositions of train.spacy" in text.replace("\n# ", " ")


def test_components_share_an_embedding_of_the_width_of_the_vectors(tmp_path: Path) -> None:
    nlp = spacy.blank("xx")
    nlp.vocab.set_vector("Ann", np.ones(7, dtype="f"))
    nlp.to_disk(tmp_path)

    def shared(targets: str, **options: str) -> tuple[Any, list[int]]:
        text = make_config("bilstm-crf", targets, name="x.cfg", **options)
        components = Config().from_str(text, interpolate=False)["components"]
        model = components.pop("tok2vec")["model"]
        return model, [block["model"]["tok2vec"]["width"] for block in components.values()]

    assert shared("tag ents")[1] == [200, 200]
    model, widths = shared("tag pos")
    assert (model["word_dropout"], widths) == (0.1, [400, 400])
    model, widths = shared("tag pos", vectors=str(tmp_path))
    assert (model["word_dropout"], widths) == (0.0, [107, 107])
    with pytest.raises(ValueError, match=r"P198.*--characters.*shared"):
        shared("tag ents", characters="cnn")


@pytest.mark.parametrize("task", ["ents", "tag ents", "roles"])
def test_every_argument_of_every_block_is_there(bert: Path, task: str) -> None:
    settings = {"encoder": "none"} if task == "roles" else {}
    system = "deepatt" if task == "roles" else "psa"
    for kind, name, section in blocks(config_of(system, task, bert, **settings)):
        parameters = inspect.signature(registry.get(kind, name)).parameters.values()
        variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        expected = {p.name for p in parameters if p.kind not in variable}
        assert expected <= set(section), name


def test_the_command_trains_without_vectors(bert: Path) -> None:
    text = make_config("psa", "ents", name="x.cfg", inputs=Inputs(str(bert)))
    assert "--paths.train train.spacy --paths.dev dev.spacy\n" in text
    assert "Training as in" not in text and "averag" not in text.replace("use_averages", "")


@pytest.mark.parametrize(
    ("encoder", "about"),
    [
        ("none", "The decoder of bilstm-crf, without an encoder."),
        ("psa", "The encoder of psa and the decoder of bilstm-crf."),
        (None, "The encoder and decoder of bilstm-crf."),
    ],
)
def test_the_comments_are_about_the_network_that_is_there(
    bert: Path, encoder: str | None, about: str
) -> None:
    options = {"name": "x.cfg", "inputs": Inputs(str(bert), encoder=encoder)}
    text = make_config("bilstm-crf", "tag ents", **options)
    assert text.count(f"# {about}\n") == 1 and "over words and characters" not in text


def test_any_spans_key_makes_the_name_of_a_component() -> None:
    text = make_config("psa", "spans:a.b/ü tag", name="x.cfg")
    nlp = load_model_from_config(Config().from_str(text), auto_fill=True)
    assert nlp.pipe_names == ["tok2vec", "psa_a_b_ü", "psa_tag"]
    assert nlp.get_pipe("psa_a_b_ü").cfg["spans_key"] == "a.b/ü"


def test_the_comments_on_roles_are_about_what_is_there(bert: Path) -> None:
    text = make_config("deepatt", "roles", name="x.cfg", inputs=Inputs(str(bert)))
    assert "Predicates are given" in text and "Adadelta" not in text and "GloVe" not in text
    assert "Concatenated with vectors of width 100" not in text
    inputs = Inputs(str(bert), encoder="none")
    lines = make_config("deepatt", "roles", name="x.cfg", inputs=inputs).splitlines()
    place = lines.index("[components.psa_srl.model.tok2vec.get_spans]")
    assert lines[place - 1].startswith("# is at most a fourth")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "tag roles"], "P189.*tag"),
        (["--target", "ents spans:ents"], "P167.*'ents spans:ents'.*there are psa_ents"),
        (["--target", "spans:a.b spans:a/b"], "P167.*there are psa_a_b"),
        (["--target", "spans:"], "P190.*--target spans:.*'spans'"),
        (["--target", "pos spns"], "P190.*spns.*'spans'"),
        (["--target", "ents", "--encoder", "lstm"], "P190.*--encoder lstm.*'bilstm'"),
        (["--target", "ents", "--encoder", ""], "P190.*--encoder"),
        (["--target", "ents", "--transformer", "{bert}", "--recipe", "bset"], "P190.*'best'"),
        (["--target", "ents", "--freeze"], "P200.*--transformer"),
        (["--target", "ents", "--transformer", "{bert}", "--vectors", "v"], "P198.*--vectors"),
        (
            ["--target", "ents", "--transformer", "{bert}", "--characters", "cnn"],
            "P198.*--characters",
        ),
        (["--target", "ents", "--transformer", "{empty}"], "P196.*has no config.json, but nothing"),
        (["--target", "ents", "--transformer", "{bare}"], "P196.*but notes.txt.*save_pretrained"),
        (["--target", "ents", "--transformer", "{broken}"], "P197.*broken"),
        (["--target", "ents", "--transformer", "{alone}"], "P196.*no tokenizer: tokenizer.json or"),
        (
            ["--target", "ents", "--transformer", "{light}"],
            "P196.*it has no weights.*, but config.json",
        ),
        (["--target", "ents", "--transformer", "{cut}"], "P196.*cut.*model.safetensors is damaged"),
        (
            ["--target", "ents", "--transformer", "{parts}"],
            "P196.*of its 2 files of weights, model-00002-of-00002.safetensors is not there",
        ),
        (["--target", "ents", "--transformer", "{index}"], "P196.*index.json is damaged"),
    ],
)
def test_what_does_not_go_together_or_is_not_there(
    bert: Path, tmp_path: Path, options: list[str], message: str
) -> None:
    made = ("empty", "bare", "broken", "alone", "light")
    copies = {name: tmp_path / name for name in ("cut", "parts", "index")}
    folders = {"bert": bert, **copies, **{name: tmp_path / name for name in made}}
    for name in made:
        folders[name].mkdir()
    for name in ("alone", "light"):
        shutil.copy(bert / "config.json", folders[name])
    for name in ("alone", "broken"):
        shutil.copy(bert / "model.safetensors", folders[name])
    for folder in copies.values():
        shutil.copytree(bert, folder)
    (folders["cut"] / "model.safetensors").write_bytes(b"version https://git-lfs.github.com/spec/")
    parts = [f"model-0000{i}-of-00002.safetensors" for i in (1, 2)]
    (folders["parts"] / "model.safetensors").rename(folders["parts"] / parts[0])
    index = {"weight_map": dict(zip("ab", parts, strict=True))}
    (folders["parts"] / "model.safetensors.index.json").write_text(json.dumps(index))
    (folders["index"] / "model.safetensors").rename(
        folders["index"] / "model.safetensors.index.json"
    )
    (folders["index"] / "model.safetensors.index.json").write_text("[]")
    (folders["bare"] / "notes.txt").write_text("")
    (folders["broken"] / "config.json").write_text("{")
    filled = [option.format(**folders) for option in options]
    result = run("psa", "init-config", tmp_path / "x.cfg", "--system", "psa", *filled)
    assert result.exit_code == 1
    printed = " ".join(plain(result.output).split())
    assert re.search(message, printed) and "protobuf" not in printed
    assert not (tmp_path / "x.cfg").exists()


def test_an_index_of_other_weights_may_lack_files(bert: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(bert, tmp_path / "bert")
    index = folder / "pytorch_model.bin.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "pytorch_model-00001-of-00002.bin"}}))
    options = ["--system", "psa", "--target", "ents", "--transformer", folder]
    succeed("psa", "init-config", tmp_path / "x.cfg", *options)


@pytest.mark.parametrize("pattern", ["*.safetensors", "*vocab*|tokenizer*"])
def test_what_a_transformer_lacks_is_named_before_training(
    bert: Path, tmp_path: Path, pattern: str
) -> None:
    folder = shutil.copytree(bert, tmp_path / "bert")
    DocBin(docs=[Doc(Vocab(), words=WORDS)]).to_disk(tmp_path / "train.spacy")
    config = config_of("psa", "ents", folder)
    config["paths"].update(train=str(tmp_path / "train.spacy"), dev=str(tmp_path / "train.spacy"))
    check_training_files(config)
    for path in [path for part in pattern.split("|") for path in folder.glob(part)]:
        path.unlink()
    missing = "weights" if "safe" in pattern else "tokenizer"
    with pytest.raises(ValueError, match=rf"P196.*bert.*it has no {missing}"):
        check_training_files(config)


def test_a_name_that_cannot_be_downloaded(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str, **_: bool) -> None:
        raise OSError(f"We couldn't connect to load {name}.\nCheck your internet connection.")

    monkeypatch.setattr(_transformers, "_hub_answers", lambda: True)
    monkeypatch.setattr(sys.modules["transformers"].AutoConfig, "from_pretrained", fail)
    with pytest.raises(
        ValueError, match=r"P197.*'tiny-bert'.*couldn't connect to load tiny-bert\)\. Check"
    ):
        config_of("psa", "ents", Path("tiny-bert"))


@pytest.mark.parametrize(
    ("architecture", "wrap"),
    [
        ("spacy-transformers.TransformerModel.v3", lambda model: model),
        ("spacy-transformers.Tok2VecTransformer.v3", lambda model: {"tok2vec": model}),
    ],
)
def test_a_hub_that_does_not_answer_is_not_asked_for_files(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    architecture: str,
    wrap: Callable[[dict[str, str]], dict[str, Any]],
) -> None:
    asked = []

    def load(name: str, **options: bool) -> None:
        asked.append(options)
        raise OSError("not there")

    def refuse(*_: object, **__: object) -> None:
        raise OSError("no route")

    hub = pytest.importorskip("huggingface_hub.utils")
    session = type("Session", (), {"head": refuse})
    monkeypatch.setattr(hub, "get_session", session)
    monkeypatch.setattr(sys.modules["transformers"].AutoConfig, "from_pretrained", load)
    with pytest.raises(ValueError, match=r"P197.*not in the cache.*does not answer"):
        config_of("psa", "ents", Path("tiny-bert"))
    assert asked == [{"local_files_only": True}]
    model = {"@architectures": architecture, "name": "tiny-bert"}
    settings = {"components": {"x": {"factory": "x", "model": wrap(model)}}}
    files = {"train": tmp_path / "train.spacy", "dev": tmp_path / "dev.spacy"}
    for path in files.values():
        DocBin().to_disk(path)
    reader = {"@readers": "spacy.Corpus.v1"}
    settings["corpora"] = {part: {**reader, "path": str(path)} for part, path in files.items()}
    with pytest.raises(ValueError, match=r"P197.*tiny-bert"):
        check_training_files(Config(settings))


@pytest.mark.parametrize("target", ["ents", "roles"])
def test_mixed_precision_of_a_transformer_needs_a_gpu(
    bert: Path, tmp_path: Path, target: str
) -> None:
    text = make_config(
        "bilstm-crf", target, name="x.cfg", inputs=Inputs(str(bert), encoder="none"), gpu=True
    )
    (tmp_path / "x.cfg").write_text(text, encoding="utf8")
    result = run("psa", "train", tmp_path / "x.cfg", "--output", tmp_path / "out")
    assert result.exit_code == 1 and not (tmp_path / "out").exists()
    message = " ".join(plain(result.output).split())
    section = "transformer.model" if target == "ents" else "psa_srl.model.tok2vec"
    assert f"[P474] The transformer in [components.{section}]" in message
    settings = Config().from_str(text)
    check_precision(settings, 0)
    settings["training"]["frozen_components"] = list(settings["components"])
    check_precision(settings, -1)


def test_without_spacy_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_transformers, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"P195.*pip install spacy-transformers"):
        config_of("psa", "ents", Path("tiny-bert"))


def test_the_command_says_what_it_wrote(bert: Path, tmp_path: Path) -> None:
    options = ("--system", "psa", "--target", "tag ents", "--transformer", bert, "--raw")
    output = succeed("psa", "init-config", tmp_path / "x.cfg", *options)
    assert "Wrote config of psa for tag ents" in output
    # Measured without a transformer
    assert "Which system" not in output


def test_a_workflow_without_vectors_leaves_the_variable_null(tmp_path: Path) -> None:
    path = tmp_path / "x.cfg"
    succeed(
        *("psa", "init-config", path, "--system", "bilstm-crf", "--target", "tag ents"),
        "-v",
        "null",
    )
    config = Config().from_disk(path, interpolate=False)
    assert config["paths"]["vectors"] is None
    widths = [config["components"][n]["model"]["tok2vec"]["width"] for n in ("psa_tag", "psa_ents")]
    assert widths == [200, 200]
