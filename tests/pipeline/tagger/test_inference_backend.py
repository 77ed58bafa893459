"""The component's `inference_backend` setting."""

from __future__ import annotations

import pytest
from spacy.util import load_model_from_config
from thinc.api import Config

from spacy_psa.inference import BACKENDS, LinearChain

from ..conftest import initialized_nlp, make_adam, make_examples, make_nlp, tagger_of


def losses_of_training(**settings: str) -> list[float]:
    nlp = initialized_nlp("ents", **settings)
    optimizer = make_adam()
    return [nlp.update(make_examples(nlp), sgd=optimizer)["psa_tagger"] for _ in range(3)]


@pytest.mark.parametrize("backend", sorted(BACKENDS))
def test_training_is_the_same_with_every_backend(backend: str) -> None:
    assert losses_of_training(inference_backend=backend) == pytest.approx(
        losses_of_training(), rel=1e-4
    )


@pytest.mark.parametrize("backend", [None, "logspace"])
def test_the_backend_is_used_for_the_loss_and_for_rehearsal(
    backend: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = []
    original = LinearChain.__init__

    def record(self: LinearChain, *args: object, **settings: object) -> None:
        used.append(settings.get("backend"))
        original(self, *args, **settings)

    nlp = initialized_nlp(inference_backend=backend)
    examples = make_examples(nlp)
    nlp.resume_training()
    monkeypatch.setattr(LinearChain, "__init__", record)
    nlp.update(examples)
    nlp.rehearse(examples)
    assert used == [backend] * 3


def test_an_unknown_backend_is_refused_by_its_name() -> None:
    with pytest.raises(ValueError, match=r"P100.*'magic'.*logspace, scaled"):
        make_nlp(inference_backend="magic")


def test_it_is_a_setting_of_the_pipeline_and_not_of_the_saved_component() -> None:
    nlp = initialized_nlp(inference_backend="scan")
    config = Config().from_str(nlp.config.to_str())
    assert config["components"]["psa_tagger"]["inference_backend"] == "scan"
    assert tagger_of(load_model_from_config(config)).inference_backend == "scan"
    other = make_nlp(inference_backend="logspace")
    other.from_bytes(nlp.to_bytes())
    assert tagger_of(other).inference_backend == "logspace"
