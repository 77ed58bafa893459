import gzip
import json
import os

import pytest
from spacy.tokens import DocBin
from spacy.vocab import Vocab

from spacy_psa.annotation.schemes import SCHEMES
from spacy_psa.cli.convert import convert
from spacy_psa.corpora.columns import read_columns
from spacy_psa.errors import Errors
from tests.corpora.shared import shared_corpus

from .commands import run as run_spacy

CHUNKS = "He PRP B-NP\nruns VBZ B-VP\n\n! . O\n\nStop VB B-VP\n"
ENTS = "-DOCSTART- -X- O O\n\nEU NNP B-NP B-ORG\ntalks NNS I-NP O\n\nDone VBN O O\n"


@pytest.fixture
def chunks_path(tmp_path):
    path = tmp_path / "train.txt"
    path.write_text(CHUNKS, encoding="utf8")
    return path


@pytest.fixture
def ents_path(tmp_path):
    path = tmp_path / "eng.train"
    path.write_text(ENTS, encoding="utf8")
    return path


def load(path):
    return list(DocBin().from_disk(path).get_docs(Vocab()))


def run(*arguments):
    return run_spacy("psa", "convert", *arguments)


def test_format_is_told_by_the_columns(tmp_path, chunks_path, ents_path):
    convert(chunks_path, tmp_path / "chunks.spacy")
    convert(ents_path, tmp_path / "ents.spacy")
    assert not load(tmp_path / "chunks.spacy")[0].has_annotation("ENT_IOB")
    assert [ent.label_ for ent in load(tmp_path / "ents.spacy")[0].ents] == ["ORG"]


def test_format_that_is_named_must_fit(tmp_path, chunks_path):
    with pytest.raises(ValueError, match="P112"):
        convert(chunks_path, tmp_path / "a.spacy", form="conll2003")


def test_compressed_files_give_the_same(tmp_path, chunks_path):
    packed = tmp_path / "train.txt.gz"
    packed.write_bytes(gzip.compress(CHUNKS.encode()))
    convert(chunks_path, tmp_path / "a.spacy")
    convert(packed, tmp_path / "b.spacy")
    assert (tmp_path / "a.spacy").read_bytes() == (tmp_path / "b.spacy").read_bytes()


def test_sentences_are_grouped(tmp_path, chunks_path, ents_path):
    assert convert(chunks_path, tmp_path / "a.spacy", n_sents=2).docs == 2
    assert convert(ents_path, tmp_path / "b.spacy", n_sents=0).docs == 1
    assert [len(doc) for doc in load(tmp_path / "a.spacy")] == [3, 1]


def test_whole_documents_need_a_format_that_has_them(tmp_path, chunks_path):
    with pytest.raises(ValueError, match=r"P118.*1 or more"):
        convert(chunks_path, tmp_path / "a.spacy", n_sents=0)


def test_chunks_can_have_another_key(tmp_path, chunks_path):
    convert(chunks_path, tmp_path / "a.spacy", chunks_key="np")
    assert list(load(tmp_path / "a.spacy")[0].spans) == ["np"]


def test_stats_count_everything(tmp_path, ents_path):
    convert(ents_path, tmp_path / "a.spacy", stats_path=tmp_path / "stats.json")
    assert json.loads((tmp_path / "stats.json").read_text()) == {
        "docs": 2,
        "documents": 1,
        "sentences": 2,
        "tokens": 3,
        "longest_sentence": 2,
        "labels": {
            "tags": {"NNP": 1, "NNS": 1, "VBN": 1},
            "chunks": {"NP": 1},
            "ents": {"ORG": 1},
        },
    }


def test_summary_is_printed(tmp_path, chunks_path):
    result = run(chunks_path, tmp_path / "a.spacy")
    assert result.exit_code == 0
    rows = [line.split() for line in result.output.splitlines()]
    assert ["sentences", "3"] in rows and ["tokens", "4"] in rows
    assert ["longest", "sentence", "2"] in rows
    assert ["chunks", "3", "2:", "VP,", "NP"] in rows


def test_a_file_without_any_label_is_told(tmp_path):
    path = tmp_path / "texts.jsonl"
    path.write_text('{"text": "Kate lives here.", "spans": []}\n', encoding="utf8")
    result = run(path, tmp_path / "train.spacy", "--format", "offsets")
    assert result.exit_code == 0 and "Next: " not in result.output
    assert "No label was found (ents)" in result.output
    path.write_text(path.read_text() + '{"text": "Kate", "spans": [[0, 4, "PER"]]}\n')
    assert "No label" not in run(path, tmp_path / "a.spacy", "--format", "offsets").output


@pytest.mark.parametrize("target", ["ents", "spans"])
def test_training_data_has_a_next_command(tmp_path, ents_path, chunks_path, target):
    path = ents_path if target == "ents" else chunks_path
    output = run(path, tmp_path / "train.spacy").output
    options = f"--system psa --target {target} --corpus {tmp_path / 'train.spacy'}"
    assert f"Next: python -m spacy psa init-config {target}.cfg {options}" in output.splitlines()
    assert "Next: " not in run(path, tmp_path / "dev.spacy").output


def test_failure_leaves_the_old_output_whole(tmp_path, chunks_path):
    output = tmp_path / "train.spacy"
    convert(chunks_path, output)
    before = output.read_bytes()
    chunks_path.write_text(CHUNKS + "\nbroken line\n", encoding="utf8")
    result = run(chunks_path, output)
    assert result.exit_code == 1
    assert "train.txt, line 8: found 2 columns" in " ".join(result.output.split())
    assert output.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train.spacy", "train.txt"]


def test_failure_while_writing_leaves_the_old_output_whole(tmp_path, chunks_path, monkeypatch):
    output = tmp_path / "train.spacy"
    convert(chunks_path, output)
    before = output.read_bytes()

    def write_half(self, path):
        path.write_bytes(b"half")
        raise OSError("No space left on device")

    monkeypatch.setattr(DocBin, "to_disk", write_half)
    result = run(chunks_path, output)
    assert result.exit_code == 1
    assert "No space left on device" in result.output
    assert output.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train.spacy", "train.txt"]


def test_bugs_are_not_disguised_as_user_errors(tmp_path, chunks_path, monkeypatch):
    def fail(self, path):
        raise ValueError("a bug")

    monkeypatch.setattr(DocBin, "to_disk", fail)
    result = run(chunks_path, tmp_path / "a.spacy")
    assert isinstance(result.exception, ValueError)


def test_output_needs_the_ending_that_spacy_looks_for(tmp_path, chunks_path):
    with pytest.raises(ValueError, match="P120"):
        convert(chunks_path, tmp_path / "train.bin")


def test_unknown_formats_are_errors(tmp_path, chunks_path):
    result = run(chunks_path, tmp_path / "a.spacy", "--format", "tiger")
    assert result.exit_code == 1
    assert Errors.P100[:6] in result.output


def test_folders_of_outputs_are_made(tmp_path, chunks_path):
    convert(chunks_path, tmp_path / "new" / "folder" / "a.spacy")
    assert len(load(tmp_path / "new" / "folder" / "a.spacy")) == 3


def test_published_corpus_gives_back_its_file(tmp_path):
    path = shared_corpus("conll2000") / "test.txt"
    stats = convert(path, tmp_path / "test.spacy")
    assert (stats.sentences, stats.tokens, stats.docs) == (2012, 47377, 2012)
    for rows, doc in zip(read_columns(path), load(tmp_path / "test.spacy"), strict=True):
        spans = [(span.start, span.end, span.label_) for span in doc.spans["chunks"]]
        chunk_tags = SCHEMES["BIO"].encode(spans, len(doc))
        columns = zip((t.text for t in doc), (t.tag_ for t in doc), chunk_tags, strict=True)
        assert list(columns) == [row.columns for row in rows]


CONLLU = """1\tParis\tParis\tPROPN\t_\tNumber=Sing\t0\troot\t_\tSpaceAfter=No
2\t!\t!\tPUNCT\t_\t_\t1\tpunct\t_\t_
"""


@pytest.fixture
def conllu_path(tmp_path):
    path = tmp_path / "in" / "a.conllu"
    path.parent.mkdir()
    path.write_text(CONLLU, encoding="utf8")
    return path


def test_all_layers_are_converted_by_default(tmp_path, conllu_path):
    stats = convert(conllu_path, tmp_path / "a.spacy")
    (doc,) = load(tmp_path / "a.spacy")
    assert doc.text == "Paris! "
    assert [token.pos_ for token in doc] == ["PROPN", "PUNCT"]
    assert [token.lemma_ for token in doc] == ["Paris", "!"]
    assert str(doc[0].morph) == "Number=Sing" and doc[1].has_morph()
    assert set(stats.labels) == {"pos", "morphs"} and stats.lemmas == 2


def test_targets_choose_what_is_converted(tmp_path, conllu_path):
    run(conllu_path, tmp_path / "a.spacy", "--target", "pos", "--target", "lemma")
    (doc,) = load(tmp_path / "a.spacy")
    assert doc.has_annotation("POS") and doc.has_annotation("LEMMA")
    assert not doc.has_annotation("MORPH")


@pytest.mark.parametrize(
    "target,code", [("nothing", "P100"), ("roles", "P143"), ("tag", "P133")], ids=str
)
def test_targets_that_are_not_there_are_errors(tmp_path, conllu_path, target, code):
    result = run(conllu_path, tmp_path / "a.spacy", "--target", target)
    assert result.exit_code == 1
    assert code in result.output
    assert not (tmp_path / "a.spacy").exists()


@pytest.mark.parametrize("target", ["ents", "spans", "tag"])
def test_the_target_tells_what_the_tags_of_a_file_are(tmp_path, target):
    path = tmp_path / "a.txt"
    path.write_text("EU B-ORG\nOh O\n", encoding="utf8")
    convert(path, tmp_path / "a.spacy", form="iob", targets=[target])
    (doc,) = load(tmp_path / "a.spacy")
    assert len(doc.ents) == (target == "ents")
    assert ("chunks" in doc.spans) == (target == "spans")
    assert doc.has_annotation("TAG") == (target == "tag")


def test_options_of_the_format(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("B-ORG;European Union\n", encoding="utf8")
    options = ["-O", "word_column=1", "-O", "tag_column=0", "-O", "separator=;"]
    result = run(path, tmp_path / "a.spacy", "-f", "iob", *options)
    assert result.exit_code == 0, result.output
    assert [ent.text for ent in load(tmp_path / "a.spacy")[0].ents] == ["European Union"]
    result = run(path, tmp_path / "a.spacy", "-f", "iob", "-O", "color=red")
    assert result.exit_code == 1 and "P142" in result.output


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "in"
    for name, word in (("b/two.conllu", "b"), ("one.conllu", "a"), (".git/no.conllu", "c")):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(CONLLU.replace("Paris", word), encoding="utf8")
    (folder / "LICENSE.txt").write_text("not a corpus", encoding="utf8")
    return folder


def test_folders_become_folders(tmp_path, folder):
    stats = convert(folder, tmp_path / "out")
    assert (stats.docs, stats.tokens) == (2, 4)
    outputs = sorted((tmp_path / "out").rglob("*.spacy"))
    assert outputs == [tmp_path / "out/b/two.spacy", tmp_path / "out/one.spacy"]
    assert [load(path)[0][0].text for path in outputs] == ["b", "a"]


def test_a_description_in_json_does_not_hide_the_corpus(tmp_path, folder):
    (folder / "about.json").write_text('{"name": "A corpus"}', encoding="utf8")
    result = run(folder, tmp_path / "out")
    assert result.exit_code == 0 and "about.json" in result.output
    (tmp_path / "exports").mkdir()
    (tmp_path / "exports" / "b.json").write_text('[{"text": "Ann", "label": []}]', encoding="utf8")
    assert convert(tmp_path / "exports", tmp_path / "docs").docs == 1


def test_files_of_a_folder_that_are_not_read_are_counted_and_named(tmp_path, folder):
    result = run(folder, tmp_path / "out")
    output = " ".join(result.output.split())
    assert "other files in" in output and "that are not read (LICENSE.txt): 1" in output
    (folder / "loop").symlink_to(folder)
    assert "P162" in run(folder, tmp_path / "out").output


def test_both_halves_of_a_corpus_are_read(tmp_path):
    result = run(write_parts(tmp_path / "in", "train"), tmp_path / "out", "-f", "conll2005")
    assert result.exit_code == 0 and "not read" not in result.output


def test_a_folder_of_files_with_dots_in_their_names(tmp_path):
    folder = tmp_path / "in" / "annotations" / "nw" / "p2.5_a2e" / "00"
    folder.mkdir(parents=True)
    text = "nw/p2.5_a2e/00/p2.5_a2e_0001 0 0 Ann NNP * - - - - (PERSON) -\n"
    (folder / "p2.5_a2e_0001.gold_conll").write_text(text, encoding="utf8")
    run(tmp_path / "in", tmp_path / "out")
    (output,) = (tmp_path / "out").rglob("*.spacy")
    assert output.name == "p2.5_a2e_0001.spacy"
    assert [ent.text for ent in load(output)[0].ents] == ["Ann"]


@pytest.mark.parametrize("end", ["\r", "\r\n"])
def test_line_ends_make_no_difference(tmp_path, ents_path, end):
    path = tmp_path / "other"
    path.write_bytes(ENTS.replace("\n", end).encode())
    convert(ents_path, tmp_path / "a.spacy")
    convert(path, tmp_path / "b.spacy")
    assert (tmp_path / "a.spacy").read_bytes() == (tmp_path / "b.spacy").read_bytes()


def test_folders_can_be_merged_into_one_output(tmp_path, folder):
    result = run(folder, tmp_path / "a.spacy", "--merge", "--n-sents", "0")
    assert result.exit_code == 0, result.output
    assert [doc[0].text for doc in load(tmp_path / "a.spacy")] == ["b", "a"]


def test_several_files_can_be_merged_in_their_order(tmp_path, folder):
    result = run(folder / "one.conllu", folder / "b", tmp_path / "a.spacy", "-m", "-n", "5")
    assert result.exit_code == 0, result.output
    assert [doc[0].text for doc in load(tmp_path / "a.spacy")] == ["a", "b"]


def test_files_that_are_read_again_are_counted(tmp_path, folder):
    (folder / "latest.conllu").symlink_to("one.conllu")
    result = run(folder, tmp_path / "a.spacy", "--merge")
    text = "".join(result.output.split())
    assert f"(thefirst{folder}/one.conllu,whichis{folder}/latest.conllu):1" in text
    assert len(load(tmp_path / "a.spacy")) == 3


def test_several_files_without_merge_need_a_folder(tmp_path, folder):
    with pytest.raises(ValueError, match=r"P148.*2 files.*--merge"):
        convert(folder, tmp_path / "a.spacy")
    with pytest.raises(ValueError, match="P120"):
        convert(folder, tmp_path / "out", merge=True)
    with pytest.raises(ValueError, match="P120"):
        convert(folder / "one.conllu", tmp_path / "out")


def test_files_that_would_become_the_same_output_are_errors(tmp_path, folder):
    (folder / "one.conllu.gz").write_bytes(gzip.compress(CONLLU.encode()))
    with pytest.raises(ValueError, match=r"P132.*one\.conllu and .*one\.conllu\.gz"):
        convert(folder, tmp_path / "out")


def test_folders_without_files_of_the_format_are_errors(tmp_path, folder):
    with pytest.raises(ValueError, match=r"P149.*ending in \.auto"):
        convert(folder, tmp_path / "out", form="ccgbank")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"P149.*no files"):
        convert(tmp_path / "empty", tmp_path / "out")


def test_a_failing_file_leaves_its_old_output_whole(tmp_path, folder):
    convert(folder, tmp_path / "out")
    before = (tmp_path / "out/one.spacy").read_bytes()
    (folder / "one.conllu").write_text("broken", encoding="utf8")
    result = run(folder, tmp_path / "out")
    assert result.exit_code == 1
    assert "one.conllu, line 1" in " ".join(result.output.split())
    assert (tmp_path / "out/one.spacy").read_bytes() == before
    assert not list((tmp_path / "out").rglob("*.tmp"))


def test_problems_of_all_files_are_shown_and_nothing_is_written(tmp_path):
    paths = [tmp_path / name for name in ("good.jsonl", "a.jsonl", "b.jsonl")]
    for path, end in zip(paths, (3, 2, 2), strict=True):
        span = {"start": 0, "end": end, "label": "PER"}
        path.write_text(json.dumps({"text": "Ann ran", "spans": [span]}), encoding="utf8")
    result = run(*paths, tmp_path / "out")
    assert result.exit_code == 1
    shown = "".join(result.output.split())  # long paths are wrapped
    assert "a.jsonl,line1" in shown and "b.jsonl,line1" in shown
    assert not list((tmp_path / "out").rglob("*"))


@pytest.mark.parametrize("options", [(), ("-f", "conll2003"), ("-O", "scheme=IOB1")])
def test_a_stray_tag_is_read_counted_and_named(tmp_path, options):
    path, stats_path = tmp_path / "a.conll", tmp_path / "stats.json"
    path.write_text("Ann N I-NP I-PER\nUN N I-NP I-ORG\nwon V I-VP O\nCup N I-NP B-MISC\n")
    result = run(path, tmp_path / "a.spacy", *options, "--stats", stats_path)
    assert result.exit_code == 0
    text = " ".join(result.output.split())
    assert "column NER of" in text and "that do not fit its scheme, IOB1" in text
    assert "line 4: 'B-MISC' after 'O'): 1" in text
    (doc,) = load(tmp_path / "a.spacy")
    assert [(ent.text, ent.label_) for ent in doc.ents] == [
        ("Ann", "PER"),
        ("UN", "ORG"),
        ("Cup", "MISC"),
    ]
    assert list(json.loads(stats_path.read_text())["notes"].values()) == [1]


def test_a_stray_tag_is_an_error_with_strict(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("Ann B-PER\n\nLee I-PER\n", encoding="utf8")
    result = run(path, tmp_path / "a.spacy", "--strict")
    assert result.exit_code == 1 and "[P144]" in result.output
    assert not (tmp_path / "a.spacy").exists()


def test_lenient_conversion_counts_problems_and_names_them(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("EU B-ORG\nin\nBrussels Q-LOC\n", encoding="utf8")
    result = run(path, tmp_path / "a.spacy", "-f", "iob")
    # One run shows all there is to correct, if it is little
    assert result.exit_code == 1 and "P112" in result.output and "P116" in result.output
    assert not (tmp_path / "a.spacy").exists()
    many = tmp_path / "many.txt"
    many.write_text("EU B-ORG\n" + "in\n" * 1000, encoding="utf8")
    output = run(many, tmp_path / "a.spacy", "-f", "iob").output
    assert output.count("P112") == 10 and "The first 10 problems" in output
    assert " ".join(output.split()).count("Correct the line, or set") == 1
    stats_path = tmp_path / "stats.json"
    result = run(path, tmp_path / "a.spacy", "-f", "iob", "--lenient", "--stats", stats_path)
    assert result.exit_code == 0
    text = " ".join(result.output.split())
    assert "a.txt, line 2: found 1 columns" in text and "a.txt, line 3: 'Q-LOC'" in text
    assert "2 problems in total (P112: 1, P116: 1)" in text
    assert [token.text for token in load(tmp_path / "a.spacy")[0]] == ["EU", "in", "Brussels"]
    assert json.loads(stats_path.read_text())["problems"]["counts"] == {"P112": 1, "P116": 1}


def test_lenient_conversion_counts_features_that_spacy_cannot_hold(tmp_path, conllu_path):
    conllu_path.write_text(CONLLU.replace("Number=Sing", "Number=Sing=Plur"), encoding="utf8")
    result = run(conllu_path, tmp_path / "a.spacy")
    assert result.exit_code == 1
    assert "a.conllu, line 1: 'Number=Sing=Plur' in" in " ".join(result.output.split())
    result = run(conllu_path, tmp_path / "a.spacy", "--lenient")
    assert result.exit_code == 0 and "1 problem in total (P145: 1)" in result.output
    assert not load(tmp_path / "a.spacy")[0][0].has_morph()


def test_published_treebank_is_converted_whole(tmp_path):
    stats = convert(shared_corpus("ud_cs_cltt_2.2"), tmp_path / "out")
    assert (stats.sentences, stats.docs) == (860 + 129 + 136, 1125)
    assert len(list((tmp_path / "out").iterdir())) == 3


def test_two_files_of_the_same_sentences_are_converted_once(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("dev.words", "dev.props"):
        (folder / name).symlink_to(shared_corpus("ewt_srl") / name)
    stats = convert(folder, tmp_path / "out", targets=["roles"])
    assert (stats.sentences, stats.predicates) == (1974, 4977)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["dev.spacy"]


def write_parts(folder, *stems):
    folder.mkdir(parents=True)
    for stem in stems:
        (folder / f"{stem}.words").write_text(f"{stem}\n\n", encoding="utf8")
        (folder / f"{stem}.props").write_text("-\n\n", encoding="utf8")
    return folder


def test_parts_of_conll2005_are_not_merged_unless_that_is_wanted(tmp_path):
    folder = write_parts(tmp_path / "in", "train", "dev", "test")
    output = tmp_path / "a.spacy"
    result = run(folder, output, "-f", "conll2005")
    assert result.exit_code == 1 and "[P148] 3 files" in result.output
    assert not output.exists()
    assert run(folder, output, "-f", "conll2005", "--merge").exit_code == 0
    assert [doc.text.strip() for doc in load(output)] == ["dev", "test", "train"]
    assert run(folder, tmp_path / "out", "-f", "conll2005").exit_code == 0
    assert len(list((tmp_path / "out").glob("*.spacy"))) == 3


@pytest.mark.parametrize("stems", [["train.02", "train.03"], ["test.wsj"]])
def test_sections_of_conll2005_are_one_part(tmp_path, stems):
    folder = write_parts(tmp_path / "in", *stems)
    assert run(folder, tmp_path / "a.spacy", "-f", "conll2005").exit_code == 0
    assert [doc.text.strip() for doc in load(tmp_path / "a.spacy")] == stems


def test_both_test_sets_of_conll2005_are_parts_of_their_own(tmp_path):
    folder = write_parts(tmp_path / "in", "test.wsj", "test.brown")
    result = run(folder, tmp_path / "a.spacy", "-f", "conll2005")
    assert result.exit_code == 1 and "[P148] 2 files" in result.output


@pytest.mark.parametrize("options", [[], ["--merge"]])
@pytest.mark.parametrize("names", [("a.words", "a.props"), ("a.props", "a.words")])
def test_a_pair_that_is_named_whole_is_read_once(tmp_path, names, options):
    folder = write_parts(tmp_path / "in", "a")
    inputs = [folder / name for name in names]
    result = run(*inputs, tmp_path / "a.spacy", "-f", "conll2005", *options)
    assert result.exit_code == 0, result.output
    assert [doc.text.strip() for doc in load(tmp_path / "a.spacy")] == ["a"]


def test_trees_and_tags_of_the_same_sentences_are_read_once(tmp_path):
    tags, trees = tmp_path / "a.pos", tmp_path / "a.mrg"
    tags.write_text("[ Tags/NNS ]\n", encoding="utf8")
    trees.write_text("((S (NNS Trees)))\n", encoding="utf8")
    result = run(tags, trees, tmp_path / "a.spacy", "-f", "ptb", "--merge")
    assert result.exit_code == 0, result.output
    assert [doc.text.strip() for doc in load(tmp_path / "a.spacy")] == ["Trees"]


def test_names_that_are_not_utf8_are_counted(tmp_path):
    path, stats_path = tmp_path / os.fsdecode(b"caf\xe9.conll"), tmp_path / "stats.json"
    try:
        text = "Ann B-PER\nran O\n\nLee I-PER\nran O\n\nBob B-PER\nran O\n"
        path.write_text(text, encoding="utf8")
    except OSError:
        pytest.skip("the system requires names in UTF-8")
    result = run(path, tmp_path / "a.spacy", "--stats", stats_path)
    assert result.exit_code == 0, result.output
    (note,) = json.loads(stats_path.read_text("utf8"))["notes"]
    assert "caf?.conll that do not fit its scheme" in note


@pytest.mark.parametrize("name", ["a.spacy", "./a.spacy"])
def test_the_counts_do_not_take_the_place_of_the_corpus(tmp_path, chunks_path, name):
    before = list(tmp_path.iterdir())
    result = run(chunks_path, tmp_path / "a.spacy", "--stats", f"{tmp_path}/{name}")
    assert result.exit_code == 1 and "[P123]" in result.output
    assert list(tmp_path.iterdir()) == before


def test_counts_that_cannot_be_written_are_told_first(tmp_path, chunks_path):
    before = list(tmp_path.iterdir())
    result = run(chunks_path, tmp_path / "a.spacy", "--stats", tmp_path)
    assert result.exit_code == 1 and "[P412]" in result.output
    assert list(tmp_path.iterdir()) == before
