"""Damaged or forged models: none of their code runs, and nothing is left half loaded."""

from __future__ import annotations

import gc
import hashlib
import io
import json
import pickle
import re
import struct
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
import srsly
import torch
from catalogue import RegistryError
from spacy.language import Language
from thinc.api import Config
from torch import nn

from spacy_psa.models.loading import _check_finite
from spacy_psa.models.network_checks import difference, saved_tensors, tensor_difference
from spacy_psa.models.network_shim import NetworkShim
from spacy_psa.pipeline.storage import check_bytes, check_folder
from tests.pipeline import srl_data as roles
from tests.pipeline.conftest import (
    HASH,
    NAME,
    annotation,
    initialized_nlp,
    make_docs,
    make_nlp,
    tagger_of,
    tiny_model,
    weights,
)

from .mutate_model import REFUSED as IS_REFUSED
from .mutate_model import SAME, THEIRS, limited, run

ROOT = Path(__file__).parents[2]
REFUSED = r"P311.*psa_tagger.*\[P(202|203|210|309|314|420|423|434)\]"


class Payload:
    """Writes a file when unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


@cache
def saved() -> bytes:
    """The component's bytes, without its checksum."""
    entries = srsly.msgpack_loads(tagger_of(initialized_nlp()).to_bytes(exclude=["vocab"]))
    del entries["model.sha256"]
    return srsly.msgpack_dumps(entries)


def changed_model(change: Callable[[dict[str, Any]], Any]) -> bytes:
    """The component's bytes with a changed model."""
    entries = srsly.msgpack_loads(saved())
    model = srsly.msgpack_loads(entries["model"])
    result = change(model)
    model = model if result is None else result
    entries["model"] = model if isinstance(model, bytes) else srsly.msgpack_dumps(model)
    return srsly.msgpack_dumps(entries)


def changed_network(change: Callable[[dict[str, Any]], Any], node: int = 2) -> bytes:
    """The component's bytes with a changed network of one layer, by default the labeler."""

    def change_shim(model: dict[str, Any]) -> None:
        message = srsly.msgpack_loads(model["shims"][node][0])
        change(message)
        model["shims"][node][0] = srsly.msgpack_dumps(message)

    return changed_model(change_shim)


def changed_settings(**values: Any) -> bytes:
    """The component's bytes with changed settings."""
    entries = srsly.msgpack_loads(saved())
    entries["cfg"] = json.dumps({**json.loads(entries["cfg"]), **values})
    return srsly.msgpack_dumps(entries)


def changed_header(change: Callable[[dict[str, Any]], None]) -> Callable[[dict[str, Any]], None]:
    """Change the header of a network's tensors."""

    def change_state(message: dict[str, Any]) -> None:
        state = message["state"]
        (length,) = struct.unpack("<Q", state[:8])
        header = json.loads(state[8 : 8 + length])
        change(header)
        data = json.dumps(header).encode()
        message["state"] = struct.pack("<Q", len(data)) + data + state[8 + length :]

    return change_state


def assert_refused(data: bytes, match: str = REFUSED) -> None:
    """Load into a new component and into one with weights. Neither may change."""
    for make in (empty, initialized):
        with limited(), pytest.raises(ValueError, match=match):
            tagger_of(make()).from_bytes(data)
        assert contents(make()) == first_contents(make)
        assert gc.isenabled()


def contents(nlp: Language) -> bytes:
    return srsly.msgpack_dumps([tagger_of(nlp).cfg, tagger_of(nlp).model.to_bytes()])


@cache
def first_contents(make: Callable[[], Language]) -> bytes:
    """What such a pipeline has at first."""
    return contents(make.__wrapped__())


@cache
def empty() -> Language:
    """A pipeline without weights. Tests share it and must not change it."""
    return make_nlp()


@cache
def initialized() -> Language:
    """A pipeline with weights. Tests share it and must not change it."""
    return initialized_nlp(seed=3)


def test_what_is_not_changed_is_loaded() -> None:
    nlp = make_nlp()
    tagger_of(nlp).from_bytes(saved())
    expected = weights(initialized_nlp())
    for name, value in weights(nlp).items():
        np.testing.assert_array_equal(value, expected[name])


# Code


def torch_file(value: Any) -> bytes:
    file_ = io.BytesIO()
    torch.save(value, file_)
    return file_.getvalue()


def npz_file(value: Any) -> bytes:
    file_ = io.BytesIO()
    np.savez(file_, values=np.array([value], dtype=object))
    return file_.getvalue()


def npy_file(value: Any) -> bytes:
    file_ = io.BytesIO()
    np.save(file_, np.array([value], dtype=object))
    return file_.getvalue()


PICKLES: dict[str, Callable[[Any], bytes]] = {
    "pickle": pickle.dumps,
    "torch": torch_file,
    "npz": npz_file,
    "npy": npy_file,
    "old pickle": lambda value: pickle.dumps(value, protocol=0),
}


@pytest.mark.parametrize("kind", PICKLES)
def test_pickles_are_not_opened(kind: str, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    data = PICKLES[kind](Payload(trace))
    header = struct.pack("<Q", len(data)) + data
    array = {b"nd": True, b"type": "|O", b"kind": b"O", b"shape": [1], b"data": data}
    array_message = srsly.msgpack_dumps({"config": array, "state": None})
    for hostile in (
        changed_model(lambda model: data),
        changed_model(lambda model: model["shims"][2].__setitem__(0, data)),
        changed_model(lambda model: model["shims"][2].__setitem__(0, array_message)),
        changed_model(lambda model: model["attrs"][0].__setitem__("max_length", data)),
        changed_network(lambda message: message.update(state=data)),
        changed_network(lambda message: message.update(state=header + message["state"])),
        srsly.msgpack_dumps({**srsly.msgpack_loads(saved()), "cfg": data}),
    ):
        assert_refused(hostile, "P311")
    assert not trace.exists()


def test_a_config_names_only_what_is_registered(tmp_path: Path) -> None:
    initialized_nlp().to_disk(tmp_path)
    path = tmp_path / "config.cfg"
    text = path.read_text(encoding="utf8")
    path.write_text(text.replace("spacy_psa.CRF.v1", "os.getcwd"), encoding="utf8")
    with pytest.raises(RegistryError, match=r"os\.getcwd"):
        spacy.load(tmp_path)


# Sizes


@pytest.mark.parametrize(
    "change",
    [
        lambda header: next(iter(header.values())).update(shape=[2**40]),
        lambda header: next(iter(header.values())).update(shape=[2**40, 2**40]),
        lambda header: next(iter(header.values())).update(data_offsets=[0, 2**50]),
        lambda header: next(iter(header.values())).update(data_offsets=[-8, 0]),
        lambda header: next(iter(header.values())).update(dtype="F4096"),
        lambda header: header.update(more={"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}),
        lambda header: header.pop(next(iter(header))),
        lambda header: header.clear(),
    ],
)
def test_headers_that_do_not_fit_are_refused(change: Callable) -> None:
    assert_refused(changed_network(changed_header(change)))


@pytest.mark.parametrize("length", [0, 1, 2**40, 2**63 - 1, 2**64 - 1])
def test_a_header_of_any_length_is_refused(length: int) -> None:
    def change(message: dict[str, Any]) -> None:
        message["state"] = struct.pack("<Q", length) + message["state"][8:]

    assert_refused(changed_network(change))


@pytest.mark.parametrize("value", [10**9, 2**62, 2**70, 0, -1, 1.5, "9", None, True, [9]])
@pytest.mark.parametrize("name", ["n_labels", "input_width"])
def test_sizes_of_a_network_are_compared_before_there_is_memory(name: str, value: Any) -> None:
    def change(message: dict[str, Any]) -> None:
        # msgpack cannot represent larger numbers
        message["config"][name] = min(value, 2**64 - 1) if type(value) is int else value

    assert_refused(changed_network(change), r"P311.*P203")


@pytest.mark.parametrize(
    ("section", "name", "value"),
    [
        ("encoder.recurrent", "hidden_width", 10**9),
        ("encoder.recurrent", "depth", 10**9),
        ("encoder.first_fusion.bias", "max_distance", 10**9),
        ("tok2vec.characters", "width", 10**9),
        ("tok2vec.characters", "embedding_width", 10**9),
    ],
)
def test_sizes_in_a_config_are_compared_before_there_is_memory(
    section: str, name: str, value: int, tmp_path: Path
) -> None:
    initialized_nlp().to_disk(tmp_path)
    config = Config().from_disk(tmp_path / "config.cfg")
    place = config["components"][NAME]["model"]
    for part in section.split("."):
        place = place[part]
    place[name] = value
    config.to_disk(tmp_path / "config.cfg")
    with limited(), pytest.raises(ValueError, match=r"P311.*P203"):
        spacy.load(tmp_path)


@pytest.mark.parametrize("name", ["max_length", "tok2vec__min_freq", "tok2vec__width"])
def test_numbers_that_no_file_can_hold_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"P210.*less than 2\^63"):
        make_nlp(model=tiny_model(**{name: 10**20}))


def test_a_network_of_a_billion_layers_is_not_even_begun() -> None:
    class Deep(nn.Module):
        def __init__(self, depth: int) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(depth))

    shim = NetworkShim(Deep)
    shim.build(depth=3)
    message = srsly.msgpack_loads(shim.to_bytes())
    message["config"]["depth"] = 10**9
    with limited(), pytest.raises(ValueError, match=r"P203.*far more than 18 numbers in 6 tensors"):
        shim.from_bytes(srsly.msgpack_dumps(message))


def configs() -> list[Path]:
    return sorted((ROOT / "configs").glob("*.cfg"))


@pytest.mark.parametrize("path", configs(), ids=lambda path: path.stem)
def test_every_network_can_be_compared_without_memory(path: Path) -> None:
    config = Config().from_disk(path, interpolate=False)
    found = 0
    for component in config["components"].values():
        if not component.get("factory", "").startswith("psa_"):
            continue
        # The network that is compared does not contain the tok2vec
        model = component["model"] | {"tok2vec": {"@architectures": "spacy_psa.WordCharEmbed.v1"}}
        resolved = spacy.registry.resolve({"model": model}, validate=True)["model"]
        shim = resolved.get_ref("network").shims[0]
        with torch.device("meta"):
            network = shim._make(input_width=20, n_labels=7)
        tensors = saved_tensors(network)
        assert all(tensor.is_meta for tensor in tensors.values())
        assert difference(shim._make, {"input_width": 20, "n_labels": 7}, tensors) is None
        assert "shape" in difference(shim._make, {"input_width": 21, "n_labels": 7}, tensors)
        found += 1
    assert found


def test_networks_without_memory_have_the_shapes_of_real_ones() -> None:
    tagger = tagger_of(initialized_nlp())
    for node in tagger.model.walk():
        for shim in node.shims:
            with torch.device("meta"):
                network = shim._make(**shim.cfg)
            assert tensor_difference(saved_tensors(network), saved_tensors(shim.network)) is None


def test_a_network_that_needs_numbers_to_be_made_is_made() -> None:
    class Scaled(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(width) / torch.ones(width).sum().item())

    shim = NetworkShim(Scaled)
    shim.build(width=4)
    loaded = NetworkShim(Scaled).from_bytes(shim.to_bytes())
    assert torch.equal(loaded.network.weight, shim.network.weight)


# Messages


@pytest.mark.parametrize(
    "bomb",
    [
        b"\x91" * 100_000 + b"\xc0",
        b"\x81\xa1a" * 100_000 + b"\xc0",
        b"\x91" * 900 + b"\xc0",
        b"\xdd\xff\xff\xff\xff",
        b"\xdf\xff\xff\xff\xff",
        b"\xc6\xff\xff\xff\xff",
        b"\xdb\xff\xff\xff\xff",
        b"\xc9\xff\xff\xff\xff\x01",
        b"\xdd\x00\x01\x00\x00" + b"\xdd\x00\x00\xff\xff" * 1000,
        b"\xd9\x04\xff\xff\xff\xff",
        b"\xc1",
    ],
    ids=lambda bomb: bomb[:5].hex() + str(len(bomb)),
)
def test_bombs_of_msgpack_are_refused(bomb: bytes) -> None:
    assert_refused(changed_model(lambda model: bomb), "P311.*P202")
    assert_refused(changed_model(lambda model: model["shims"][2].__setitem__(0, bomb)), "P311")
    assert_refused(bomb, "P311")


def test_garbage_collection_goes_on_after_an_error() -> None:
    # srsly disables it, and enables it again only on success
    with pytest.raises(ValueError, match="P202"):
        NetworkShim(nn.Linear).from_bytes(b"\xc1")
    assert gc.isenabled()


@pytest.mark.parametrize(
    "change",
    [
        lambda model: model["nodes"].pop(),
        lambda model: model["nodes"].append(model["nodes"][0]),
        lambda model: model["attrs"].pop(),
        lambda model: model.update(shims=3),
        lambda model: model.pop("params"),
        lambda model: model["nodes"].__setitem__(0, []),
        lambda model: model["nodes"][0].pop("dims"),
        lambda model: model["nodes"][0].update(name=3),
        lambda model: model["nodes"][0]["dims"].update(nO=10),
        lambda model: model["nodes"][0]["dims"].update(nO=-9),
        lambda model: model["nodes"][0]["dims"].update(nO="9"),
        lambda model: model["nodes"][0]["dims"].update(new=9),
        lambda model: model["nodes"][1]["dims"].update(nO=9),
        lambda model: model["nodes"][2]["dims"].update(nI=9),
        lambda model: model["nodes"][0]["refs"].update(network=99),
        lambda model: model["nodes"][0]["refs"].update(network=-1),
        lambda model: model["nodes"][0]["refs"].update(network=None),
        lambda model: model["nodes"][0]["refs"].update(other=1),
        lambda model: model["attrs"][0].update(max_length=srsly.msgpack_dumps(0)),
        lambda model: model["attrs"][0].update(max_length=srsly.msgpack_dumps("512")),
        lambda model: model["attrs"][0].update(max_length=srsly.msgpack_dumps(1.5)),
        lambda model: model["attrs"][0].update(max_length=srsly.msgpack_dumps(None)),
        lambda model: model["attrs"][0].update(overlap=srsly.msgpack_dumps(-1)),
        lambda model: model["attrs"][0].update(overlap=b"\xc1"),
        lambda model: model["attrs"][0].update(overlap=64),
        lambda model: model["attrs"][0].update(other=srsly.msgpack_dumps(1)),
        lambda model: model["attrs"][1].update(observe=srsly.msgpack_dumps("x")),
        lambda model: model["params"][0].update(W=np.zeros(2, dtype="f")),
        lambda model: model["params"][2].update(W=None),
        lambda model: model["shims"][2].clear(),
        lambda model: model["shims"][2].append(b""),
        lambda model: model["shims"][2].__setitem__(0, "text"),
        lambda model: model["shims"].reverse(),
    ],
)
def test_layers_that_are_not_those_of_the_model_are_refused(change: Callable) -> None:
    assert_refused(changed_model(lambda model: change(model) and None))


@pytest.mark.parametrize("node", [1, 2])
def test_a_network_without_its_weights_is_refused(node: int) -> None:
    data = changed_network(lambda message: message.update(state=None), node=node)
    assert_refused(data, r"P311.*P203.*the weights of the network are missing")


@pytest.mark.parametrize(
    "values",
    [
        {"words": 3},
        {"words": [1, 2]},
        {"words": ["a"]},
        {"characters": "abc"},
        {"characters": [["a"]]},
        {"width": 10**9},
        {"has_vectors": 1},
        {"more": 1},
    ],
)
def test_words_and_characters_are_checked(values: dict[str, Any]) -> None:
    data = changed_network(lambda message: message["config"].update(values), node=1)
    assert_refused(data, r"P311.*P203")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_weights_that_are_not_finite_are_refused(value: float) -> None:
    def change(message: dict[str, Any]) -> None:
        message["state"] = message["state"][:-4] + struct.pack("<f", value)

    assert_refused(changed_network(change), r"P311.*P420.*1 of \d+ numbers")


def test_large_weights_are_finite() -> None:
    shim = NetworkShim(nn.Linear)
    shim.build(in_features=100, out_features=100)
    with torch.no_grad():
        shim.network.weight.fill_(3e38)
    _check_finite("weight", shim.network.weight)


@pytest.mark.parametrize(
    ("node", "change"),
    [
        ("hashembed", lambda params, _: params.update(E=params["E"][:-1])),
        ("hashembed", lambda params, _: params.update(E=params["E"].astype("i4"))),
        ("hashembed", lambda params, _: params.update(E=None)),
        ("hashembed", lambda params, _: params.clear()),
        ("hashembed", lambda params, _: params.update(E=params["E"] * np.nan)),
        ("hashembed", lambda _, dims: dims.update(nV=10**9)),
        ("maxout", lambda params, _: params.update(W=params["W"].reshape(-1))),
        ("maxout", lambda _, dims: dims.update(nI=7)),
        ("layernorm", lambda params, _: params.update(G="text")),
    ],
)
def test_parameters_of_spacys_embeddings_are_checked(node: str, change: Callable) -> None:
    nlp = initialized_nlp(model=tiny_model(tok2vec=HASH))
    entries = srsly.msgpack_loads(tagger_of(nlp).to_bytes(exclude=["vocab"]))
    model = srsly.msgpack_loads(entries["model"])
    i = next(i for i, info in enumerate(model["nodes"]) if info["name"] == node)
    change(model["params"][i], model["nodes"][i]["dims"])
    entries["model"] = srsly.msgpack_dumps(model)
    del entries["model.sha256"]
    loaded = make_nlp(model=tiny_model(tok2vec=HASH))
    with limited(), pytest.raises(ValueError, match=r"P311.*\[P(203|420)\]"):
        tagger_of(loaded).from_bytes(srsly.msgpack_dumps(entries))


# Settings


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("labels", value) for value in (3, None, "NN", {}, [1], ["A", "A"], [""], [["A"]])),
        *(("labels", value) for value in ([], ["\ud800"], [str(i) for i in range(10)])),
        *(("temperature", value) for value in ("1", None, 0, -1.0, 1e-40, 1e39, True, [1.0])),
        *(("threshold", value) for value in (-0.1, 1.1, "0.5", [0.5], True, {"NN": 2}, {"XX": 1})),
        *(("label_smoothing", value) for value in (-0.1, 1.0, None, "0", True)),
        *(("label_weights", value) for value in (1, [], {"NN": 0}, {"NN": -1}, {"NN": "1"})),
        *(("max_grad_norm", value) for value in (0, -1, "5", True)),
        *(("probabilities", value) for value in (None, 1, "true")),
        *(("overwrite", value) for value in (None, 0, "false")),
        *(("allow_space", value) for value in (None, 1)),
        *(("constrain_training", value) for value in (None, 1)),
        *(("target", value) for value in (None, 1, "pos", "nothing", ["tag"], {})),
        *(("spans_key", value) for value in (None, 1, ["sc"])),
        *(("set_separator", value) for value in (1, "", "a", ["|"])),
        *(("other", value) for value in (None, 1)),
    ],
)
def test_settings_that_cannot_be_are_refused(name: str, value: Any) -> None:
    assert_refused(changed_settings(**{name: value}), r"P311.*\[P\d{3}\]")


@pytest.mark.parametrize("cfg", ["", "[]", "3", "null", "[1]", "{", '{"labels": NaN}', "[" * 9999])
def test_settings_that_are_no_object_are_refused(cfg: str) -> None:
    data = srsly.msgpack_dumps({**srsly.msgpack_loads(saved()), "cfg": cfg})
    assert_refused(data, "P311")


def test_settings_of_earlier_versions_have_their_defaults() -> None:
    entries = srsly.msgpack_loads(saved())
    labels = json.loads(entries["cfg"])["labels"]
    nlp = make_nlp()
    tagger_of(nlp).from_bytes(
        srsly.msgpack_dumps({**entries, "cfg": json.dumps({"labels": labels})})
    )
    assert tagger_of(nlp).cfg["temperature"] == 1.0


@pytest.mark.parametrize(
    "values", [{"labels": ["A0"]}, {"labels": 3}, {"label_smoothing": 1.5}, {"max_grad_norm": "1"}]
)
def test_settings_of_semantic_roles_are_checked(values: dict[str, Any]) -> None:
    nlp = roles.initialized_nlp()
    entries = srsly.msgpack_loads(roles.srl_of(nlp).to_bytes())
    entries["cfg"] = json.dumps({**json.loads(entries["cfg"]), **values})
    with pytest.raises(ValueError, match=r"P311.*psa_srl.*\[P(210|309)\]"):
        roles.srl_of(roles.make_nlp()).from_bytes(srsly.msgpack_dumps(entries))


# Bytes


def test_every_byte_of_the_headers_and_any_other_is_checked(tmp_path: Path) -> None:
    tagger_of(initialized_nlp()).to_disk(tmp_path)
    data = (tmp_path / "model").read_bytes()
    places = set(np.random.default_rng(0).integers(0, len(data), size=300).tolist())
    for match in re.finditer(rb'\{"', data):
        # The length of the header precedes it
        start = match.start() - 8
        (length,) = struct.unpack("<Q", data[start : start + 8])
        if length < len(data):
            places.update(range(start, start + 8 + length))
    assert len(places) > 1000
    digest = hashlib.sha256(data).hexdigest()
    for place in places:
        changed = bytearray(data)
        changed[place] ^= 1 << place % 8
        entries = {"model": bytes(changed), "model.sha256": digest}
        with pytest.raises(ValueError, match=r"P314.*'model'"):
            check_bytes(srsly.msgpack_dumps(entries))
        if place % 97 == 0:
            (tmp_path / "model").write_bytes(changed)
            with pytest.raises(ValueError, match=r"P314.*'model'"):
                check_folder(tmp_path)
    (tmp_path / "model").write_bytes(data)
    check_folder(tmp_path)


def test_bytes_that_no_checksum_protects_are_refused_or_numbers() -> None:
    shim = NetworkShim(nn.Linear)
    shim.build(in_features=2, out_features=3)
    data = shim.to_bytes()
    loaded = 0
    for place in range(len(data)):
        changed = bytearray(data)
        changed[place] ^= 1 << place % 8
        try:
            other = NetworkShim(nn.Linear).from_bytes(bytes(changed))
        except ValueError as error:
            assert str(error)[:6] in ("[P202]", "[P203]")
        else:
            found, expected = saved_tensors(other.network), saved_tensors(shim.network)
            assert tensor_difference(found, expected) is None
            loaded += 1
    # Flipping bits of a number gives another valid number
    assert loaded >= 4 * 9


def test_a_pipeline_says_which_file_is_damaged(tmp_path: Path) -> None:
    initialized_nlp().to_disk(tmp_path)
    path = tmp_path / NAME / "model"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(ValueError, match=rf"P311.*'{NAME}'.*{NAME}: \[P314\].*'model'"):
        spacy.load(tmp_path)
    digest = hashlib.sha256(data).hexdigest()
    path.with_name("model.sha256").write_text(f"{digest}  model\n", encoding="utf8")
    # Changing both goes unnoticed: a checksum is not a signature
    nlp = spacy.load(tmp_path)
    assert [annotation(doc) for doc in nlp.pipe(make_docs(nlp))]


# Mutants


def test_fifty_mutants_load_or_are_refused(tmp_path: Path) -> None:
    tally, problems = run(50, 0, tmp_path, whole=False)
    assert problems == []
    assert sum(tally.values()) == 50
    assert {what.partition(": ")[2] for what in tally} >= {SAME, IS_REFUSED, THEIRS}


@pytest.mark.nightly
def test_a_thousand_mutants_load_or_are_refused(tmp_path: Path) -> None:
    tally, problems = run(1000, 1, tmp_path)
    assert problems == []
    assert sum(tally.values()) == 1000
