import pytest
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from spacy_psa.cli.export import split


@pytest.fixture
def source(tmp_path):
    docs = [Doc(Vocab(), words=[f"word{i}"], tags=["NN"]) for i in range(20)]
    for doc in docs:
        doc.spans["chunks"] = []
    DocBin(docs=docs).to_disk(tmp_path / "all.spacy")
    return tmp_path / "all.spacy"


def load(path):
    return list(DocBin().from_disk(path).get_docs(Vocab()))


def split_words(source, **options):
    train, dev = source.with_name("train.spacy"), source.with_name("dev.spacy")
    split(source, train, dev, **options)
    return [[doc[0].text for doc in load(path)] for path in (train, dev)]


def test_every_doc_is_in_one_part_in_order(source):
    train, dev = split_words(source, n=5)
    assert (len(train), len(dev)) == (15, 5)
    number = {f"word{i}": i for i in range(20)}
    assert sorted([*train, *dev], key=number.get) == list(number)
    assert train == sorted(train, key=number.get) and dev == sorted(dev, key=number.get)


def test_the_parts_depend_on_the_seed(source):
    first, again, other = (split_words(source, n=5, seed=seed) for seed in (1, 1, 2))
    assert first == again != other


def test_annotation_is_kept(source):
    split_words(source, n=5)
    for doc in load(source.with_name("dev.spacy")):
        assert doc[0].tag_ == "NN"
        assert len(doc.spans["chunks"]) == 0
        assert doc.has_unknown_spaces


def test_user_data_is_kept_if_there_is_some(tmp_path):
    docs = [Doc(Vocab(), words=["a"], user_data={"n": i}) for i in range(3)]
    DocBin(docs=docs, store_user_data=True).to_disk(tmp_path / "all.spacy")
    split(tmp_path / "all.spacy", tmp_path / "train.spacy", tmp_path / "dev.spacy", n=1)
    parts = [*load(tmp_path / "train.spacy"), *load(tmp_path / "dev.spacy")]
    assert sorted(doc.user_data["n"] for doc in parts) == [0, 1, 2]


@pytest.mark.parametrize("n", [-1, 0, 20, 21])
def test_both_parts_must_have_docs(source, n):
    with pytest.raises(ValueError, match=r"P122.*20 Docs.*1 to 19"):
        split_words(source, n=n)


def test_a_single_doc_cannot_be_split(tmp_path):
    DocBin(docs=[Doc(Vocab(), words=["a"])]).to_disk(tmp_path / "all.spacy")
    with pytest.raises(ValueError, match=r"P178.*all\.spacy has 1 Docs"):
        split(tmp_path / "all.spacy", tmp_path / "train.spacy", tmp_path / "dev.spacy", n=1)


def test_both_parts_must_have_different_names(source):
    path = source.with_name("a.spacy")
    with pytest.raises(ValueError, match="P123"):
        split(source, path, path, n=5)


@pytest.mark.parametrize("part", [0, 1])
def test_the_input_is_not_replaced_by_a_part(source, part):
    before = source.read_bytes()
    paths = [source.with_name("a.spacy"), source.with_name("b.spacy")]
    paths[part] = source.parent / "." / ".." / source.parent.name / source.name
    with pytest.raises(ValueError, match=r"P451.*all\.spacy"):
        split(source, *paths, n=5)
    assert source.read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"no DocBin", b"\x78\x9c\x03\x00\x00\x00\x00\x01"])
def test_other_files_are_errors(source, content):
    source.write_bytes(content)
    with pytest.raises(ValueError, match=r"P121.*all\.spacy"):
        split_words(source, n=5)


def test_missing_files_are_errors(tmp_path):
    with pytest.raises(ValueError, match="P109"):
        split_words(tmp_path / "nowhere.spacy", n=5)


def test_failure_in_the_second_part_leaves_both_as_they_were(source, monkeypatch):
    split_words(source, n=5, seed=1)
    parts = [source.with_name(name) for name in ("train.spacy", "dev.spacy")]
    before = [path.read_bytes() for path in parts]
    write = DocBin.to_disk

    def fail_for_dev(self, path):
        if "dev" in path.name:
            raise OSError("No space left on device")
        write(self, path)

    monkeypatch.setattr(DocBin, "to_disk", fail_for_dev)
    with pytest.raises(OSError, match="No space"):
        split_words(source, n=5, seed=2)
    assert [path.read_bytes() for path in parts] == before
