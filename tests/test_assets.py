"""The sample corpus in `assets/sample`: its format, its splits, and what it demonstrates."""

import importlib.util
import re
import shutil
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

ASSETS = Path(__file__).resolve().parent.parent / "assets"
SAMPLE = ASSETS / "sample"
SPLITS = ("train", "dev", "test")
MINIMUM = {"train": 400, "dev": 80, "test": 80}
BOUNDARY = ["-DOCSTART-", "-X-", "-X-", "O"]
PENN_TREEBANK = (
    "CC CD DT EX FW IN JJ JJR JJS LS MD NN NNS NNP NNPS PDT POS PRP PRP$ RB RBR RBS RP SYM TO UH "
    "VB VBD VBG VBN VBP VBZ WDT WP WP$ WRB # $ . , : ( ) `` ''"
)
CHUNK_TYPES = {"ADJP", "ADVP", "CONJP", "INTJ", "LST", "NP", "PP", "PRT", "SBAR", "UCP", "VP"}
ENTITY_TYPES = {"PER", "LOC", "ORG", "MISC"}
AUXILIARIES = {"be", "been", "is", "are", "was", "were", "has", "have", "had"}
PARTICIPLES = {"hit", "hurt", "cut", "set", "put", "upset", "shut", "split", "spread", "read"}
Row = list[str]


def blocks_of(split: str) -> list[list[Row]]:
    text = (SAMPLE / f"{split}.conll").read_text(encoding="utf8")
    return [[line.split(" ") for line in block.split("\n")] for block in text.strip().split("\n\n")]


def sentences_of(split: str) -> list[list[Row]]:
    return [block for block in blocks_of(split) if block != [BOUNDARY]]


def texts_of(split: str) -> list[str]:
    return [" ".join(row[0] for row in rows) for rows in sentences_of(split)]


def names_of(split: str) -> set[str]:
    return {row[0] for rows in sentences_of(split) for row in rows if row[3] != "O"}


@pytest.fixture(scope="module")
def make_sample() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_sample", ASSETS / "make_sample.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look up their module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture
def copied(make_sample: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with only the grammar, in which the script works."""
    shutil.copy(SAMPLE / "grammar.txt", tmp_path)
    monkeypatch.setattr(make_sample, "SAMPLE", tmp_path)
    return tmp_path


def test_files_regenerate_byte_identically(make_sample: ModuleType, copied: Path) -> None:
    assert make_sample.main([]) == 0
    for split in SPLITS:
        name = f"{split}.conll"
        assert (copied / name).read_bytes() == (SAMPLE / name).read_bytes(), name


def test_check_accepts_the_files_on_disk(make_sample: ModuleType) -> None:
    assert make_sample.main(["--check"]) == 0


def test_check_names_changed_and_missing_files_and_writes_nothing(
    make_sample: ModuleType, copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_sample.main([])
    (copied / "dev.conll").write_text("changed", encoding="utf8")
    (copied / "test.conll").unlink()
    assert make_sample.main(["--check"]) == 1
    message = capsys.readouterr().err
    assert "dev.conll" in message
    assert "test.conll" in message
    assert "train.conll" not in message
    assert (copied / "dev.conll").read_text(encoding="utf8") == "changed"
    assert not (copied / "test.conll").exists()


@pytest.mark.parametrize("line", ["[NP a {dog/NN]", "dog/NN }", "dog/", "/NN"])
def test_mistakes_in_the_grammar_are_reported_with_their_line(
    make_sample: ModuleType, tmp_path: Path, line: str
) -> None:
    path = tmp_path / "grammar.txt"
    path.write_text(f":topic news\n{line}\n", encoding="utf8")
    with pytest.raises(ValueError, match=r"grammar\.txt, line 2"):
        make_sample.read_grammar(path)


def test_a_word_without_part_of_speech_is_reported(make_sample: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "grammar.txt"
    path.write_text(":topic news\n[NP dog]\n", encoding="utf8")
    grammar = make_sample.read_grammar(path)
    writer = make_sample.Writer(grammar, make_sample.Random(0), 0.0)
    with pytest.raises(ValueError, match="'dog'"):
        writer.sentence(grammar.topics["news"][0])


@pytest.mark.parametrize("split", SPLITS)
def test_every_line_has_four_columns(split: str) -> None:
    for block in blocks_of(split):
        for row in block:
            assert len(row) == 4, row
            assert all(row), row


@pytest.mark.parametrize("split", SPLITS)
def test_documents_have_5_to_15_sentences(split: str) -> None:
    sizes: list[int] = []
    for block in blocks_of(split):
        if block == [BOUNDARY]:
            sizes.append(0)
        else:
            sizes[-1] += 1
    assert min(sizes) >= 5
    assert max(sizes) <= 15


@pytest.mark.parametrize("column", [2, 3], ids=["chunk", "entity"])
@pytest.mark.parametrize("split", SPLITS)
def test_bio_is_well_formed(split: str, column: int) -> None:
    for rows in sentences_of(split):
        previous = "O"
        for row in rows:
            label = row[column]
            if label.startswith("I-"):
                assert previous in (f"B-{label[2:]}", label), rows
            previous = label


@pytest.mark.parametrize("split", SPLITS)
def test_tags_are_those_of_penn_treebank_and_conll(split: str) -> None:
    rows = [row for sentence in sentences_of(split) for row in sentence]
    assert {row[1] for row in rows} <= set(PENN_TREEBANK.split())
    assert {row[2][2:] for row in rows if row[2] != "O"} <= CHUNK_TYPES
    assert {row[3][2:] for row in rows if row[3] != "O"} <= ENTITY_TYPES
    assert {row[i][:2] for row in rows for i in (2, 3)} == {"B-", "I-", "O"}


def test_train_shows_all_entity_types_and_the_main_chunk_types() -> None:
    rows = [row for sentence in sentences_of("train") for row in sentence]
    assert {row[3][2:] for row in rows if row[3] != "O"} == ENTITY_TYPES
    chunk_types = {row[2][2:] for row in rows if row[2] != "O"}
    assert chunk_types >= {"NP", "VP", "PP", "ADVP", "ADJP", "SBAR", "PRT", "LST"}


@pytest.mark.parametrize("split", SPLITS)
def test_there_are_enough_sentences(split: str) -> None:
    assert len(sentences_of(split)) >= MINIMUM[split]


def test_all_sentences_differ_within_and_between_splits() -> None:
    counts = Counter(text for split in SPLITS for text in texts_of(split))
    assert [text for text, count in counts.items() if count > 1] == []


@pytest.mark.parametrize("split", ["dev", "test"])
def test_some_names_are_unseen_in_train(split: str) -> None:
    names = names_of(split)
    unseen = names - names_of("train")
    assert 0.05 < len(unseen) / len(names) < 0.5


def test_names_are_ambiguous_in_train() -> None:
    types: dict[str, set[str]] = {}
    for rows in sentences_of("train"):
        for row in rows:
            if row[3] != "O":
                types.setdefault(row[0], set()).add(row[3][2:])
    assert sum(len(kinds) > 1 for kinds in types.values()) >= 15
    assert types["Lincoln"] >= {"PER", "LOC", "ORG"}


def test_the_files_are_small() -> None:
    assert sum(path.stat().st_size for path in SAMPLE.iterdir()) < 400_000


def test_readme_states_the_counts() -> None:
    readme = (SAMPLE / "README.md").read_text(encoding="utf8")
    for split in SPLITS:
        blocks, rows = blocks_of(split), [row for rows in sentences_of(split) for row in rows]
        entities = Counter(row[3][2:] for row in rows if row[3].startswith("B-"))
        counts = [blocks.count([BOUNDARY]), len(sentences_of(split)), len(rows)]
        counts += [entities[kind] for kind in ("PER", "LOC", "ORG", "MISC")]
        assert f"| `{split}.conll` | {' | '.join(f'{n:,}' for n in counts)} |" in readme


# The discrete dependencies of section 5.3.7 of the PSA paper: each test counts the sentences of one
# kind, and those with the reading from which it must be distinguished.


def later_words(rows: list[Row], i: int) -> set[str]:
    return {row[0].lower() for row in rows[i + 1 :]}


def has_distant_auxiliary(rows: list[Row], i: int) -> bool:
    return any(row[0].lower() in AUXILIARIES for row in rows[max(0, i - 10) : max(0, i - 1)])


def test_list_markers_and_initials() -> None:
    sentences = sentences_of("train")
    lists = [rows for rows in sentences if sum(row[1] == "LS" for row in rows) >= 2]
    initials = [
        rows
        for rows in sentences
        if any(re.fullmatch(r"[A-Z]\.", row[0]) and row[1] == "NNP" for row in rows)
    ]
    assert len(lists) >= 15
    assert len(initials) >= 15


@pytest.mark.parametrize(("tag", "pronouns"), [("NNP", {"it", "its"}), ("NNPS", {"they", "their"})])
def test_plural_looking_names_and_their_distant_pronoun(tag: str, pronouns: set[str]) -> None:
    found = [
        rows
        for rows in sentences_of("train")
        if any(
            row[1] == tag
            and row[3].endswith("ORG")
            and row[0].endswith("s")
            and pronouns & later_words(rows, i)
            for i, row in enumerate(rows)
        )
    ]
    assert len(found) >= 15


@pytest.mark.parametrize("tag", ["RBR", "JJR"])
def test_comparatives_after_verbs_and_before_nouns(tag: str) -> None:
    found = [
        rows
        for rows in sentences_of("train")
        if any(row[0].lower() in ("lower", "higher") and row[1] == tag for row in rows)
    ]
    assert len(found) >= 15


def test_participles_with_a_distant_auxiliary() -> None:
    found = [
        rows
        for rows in sentences_of("train")
        if any(
            row[0] in PARTICIPLES and row[1] == "VBN" and has_distant_auxiliary(rows, i)
            for i, row in enumerate(rows)
        )
    ]
    assert len(found) >= 15


def test_past_tenses_that_look_like_those_participles() -> None:
    found = [
        rows
        for rows in sentences_of("train")
        if any(row[0] in PARTICIPLES and row[1] == "VBD" for row in rows)
    ]
    assert len(found) >= 15
