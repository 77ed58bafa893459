"""`psa distill` for semantic roles."""

from __future__ import annotations

from pathlib import Path

import pytest
import spacy
import torch
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab
from thinc.api import Config

from spacy_psa.annotation.propositions import get_frames
from spacy_psa.cli._distillation_texts import known_texts
from spacy_psa.distillation.blocks_on_disk import Cache, read_items
from spacy_psa.inference.edge_marginals import EdgeMarginals
from spacy_psa.pipeline.teaching import Teaching

from ..cli.commands import plain, run, succeed
from ..pipeline import srl_data


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A teacher, annotated sentences, and a config of a student."""
    path = tmp_path_factory.mktemp("roles")
    teacher = srl_data.make_nlp()
    teacher.from_bytes(srl_data._trained())
    teacher.to_disk(path / "teacher")
    docs = [srl_data.gold_doc(teacher, i) for i in range(len(srl_data.WORDS))]
    DocBin(docs=docs, store_user_data=True).to_disk(path / "gold.spacy")
    (path / "texts.txt").write_text("\n".join(" ".join(words) for words in srl_data.WORDS))
    config = Config(srl_data.make_nlp().config)
    corpus = {
        "@readers": "spacy.Corpus.v1",
        "path": str(path / "gold.spacy"),
        "gold_preproc": False,
        "max_length": 0,
        "limit": 0,
        "augmenter": None,
    }
    config["corpora"] = {
        name: {"@readers": "spacy_psa.FrameCorpus.v1", "corpus": corpus, "give_predicates": True}
        for name in ("train", "dev")
    }
    config["training"]["logger"] = {"@loggers": "spacy.ConsoleLogger.v1", "progress_bar": False}
    config["training"]["optimizer"]["learn_rate"] = 0.03
    config.to_disk(path / "student.cfg")
    return path


def test_a_student_learns_the_roles_of_its_teacher(folder: Path, tmp_path: Path) -> None:
    output = succeed(
        *("psa", "distill", folder / "teacher", folder / "student.cfg", "--output", tmp_path),
        *("--texts", folder / "gold.spacy", "--training.max_steps", "60"),
        *("--training.eval_frequency", "30"),
    )
    assert "1 Docs teach nothing" in " ".join(plain(output).split())
    student = spacy.load(tmp_path / "model-best")
    found = [student(srl_data.given_doc(student, i)) for i in range(len(srl_data.WORDS))]
    for doc, frames in zip(found, srl_data.FRAMES, strict=True):
        assert [f.arguments for f in get_frames(doc)] == [f.arguments for f in frames]
    said = [said for _, said in read_items(tmp_path / "teacher", student.vocab, 0.5)]
    assert [len(one.lengths) for one in said if one is not None] == [1, 3, 0, 2]


def test_texts_without_predicates_are_refused(folder: Path, tmp_path: Path) -> None:
    result = run(
        *("psa", "distill", folder / "teacher", folder / "student.cfg", "--output", tmp_path),
        *("--texts", folder / "texts.txt", "--words", "--training.max_steps", "2"),
    )
    assert result.exit_code == 1
    assert "P536" in result.output
    assert not (tmp_path / "teacher").exists()  # better texts need no other folder


def test_a_block_without_predicates_is_one_of_roles(tmp_path: Path) -> None:
    doc, tags = Doc(Vocab(), words=["Rain", "fell"]), ("O", "B-A0", "I-A0")
    nothing = EdgeMarginals(*(torch.zeros(0, dtype=torch.long) for _ in "tba"), torch.zeros(0))
    cache = Cache(tmp_path, {})
    cache.begin()
    cache.write(0, [(doc, Teaching(tags, (), nothing, predicates=()))], {})
    cache.finish({"n_blocks": 1, "tags": tags, "temperature": 1.0})
    [(_, said)] = read_items(tmp_path, doc.vocab, 0.5)
    assert said is not None and said.predicates == ()


def test_development_data_inside_another_reader_are_found(folder: Path) -> None:
    path, texts = known_texts(Config().from_disk(folder / "student.cfg"), spacy.blank("xx"))
    assert path == str(folder / "gold.spacy")
    assert len(texts) == len(srl_data.WORDS)
