import pytest

from spacy_psa.corpora import ccgbank, ptb
from spacy_psa.corpora.sections import choose_files, document_of, parse_sections, suffix_of


@pytest.fixture
def make(tmp_path):
    def make(*names):
        for name in names:
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("")
        return tmp_path

    return make


def names(root, release=ptb.RELEASE, **options):
    return [path.name for path in choose_files(root, release, **options)]


@pytest.mark.parametrize(
    "text,sections",
    [
        ("0-3", [0, 1, 2, 3]),
        ("00-02", [0, 1, 2]),
        ("23", [23]),
        (23, [23]),
        (0, [0]),
        ("2-4, 24,3", [2, 3, 4, 24]),
        (" 5 - 6 ", [5, 6]),
    ],
)
def test_sections(text, sections):
    assert parse_sections(text) == sections


@pytest.mark.parametrize("text", ["", "a", "3-1", "1-", "-1", "1,,2", "100", "1;2"])
def test_invalid_sections_are_errors(text):
    with pytest.raises(ValueError, match=r"P210.*'sections'.*such as 23, 0-18"):
        parse_sections(text)


@pytest.mark.parametrize(
    "release,splits",
    [
        (ptb.RELEASE, {"train": range(19), "dev": range(19, 22), "test": range(22, 25)}),
        (ccgbank.RELEASE, {"train": range(2, 22), "dev": [0], "test": [23]}),
    ],
)
def test_splits_are_the_customary_ones(make, release, splits):
    suffix = release.suffixes[0]
    root = make(*(f"{section:02}/wsj_{section:02}01{suffix}" for section in range(25)))
    for split, sections in splits.items():
        expected = [f"wsj_{section:02}01{suffix}" for section in sections]
        assert names(root, release, split=split) == expected


def test_folders_are_not_needed_for_the_order(make):
    root = make("wsj_0203.mrg", "wsj_0201.mrg", "sub/wsj_0202.mrg", "wsj_0100.mrg.gz")
    assert names(root) == ["wsj_0100.mrg.gz", "wsj_0201.mrg", "wsj_0202.mrg", "wsj_0203.mrg"]
    assert names(root, sections=1) == ["wsj_0100.mrg.gz"]


def test_upper_case_is_the_same(make):
    root = make("PARSED/MRG/WSJ/00/WSJ_0002.MRG", "PARSED/MRG/WSJ/00/wsj_0001.mrg")
    assert names(root, split=None, sections="0") == ["wsj_0001.mrg", "WSJ_0002.MRG"]
    assert document_of(root / "WSJ_0002.MRG") == "wsj_0002"
    assert suffix_of(root / "WSJ_0002.MRG.GZ") == ".mrg"


def test_other_files_and_parts_of_the_treebank_are_left_out(make):
    root = make(
        "00/wsj_0001.mrg", "brown/cf/cf01.mrg", "00/readme", "00/wsj_0001.mrg~", "wsj_1.mrg"
    )
    assert names(root) == ["wsj_0001.mrg"]


def test_links_to_folders_are_followed(make, tmp_path):
    make("elsewhere/03/wsj_0301.mrg", "copy/readme")
    (tmp_path / "copy" / "03").symlink_to(tmp_path / "elsewhere" / "03")
    assert names(tmp_path / "copy") == ["wsj_0301.mrg"]


def test_missing_sections_are_named(make):
    root = make("19/wsj_1900.mrg", "21/wsj_2100.mrg")
    with pytest.raises(ValueError) as err:
        names(root, split="dev")
    assert "[P154] The sections 20 are not in" in str(err.value)
    assert ".mrg files of sections 19, 21. Give the folder" in str(err.value)


@pytest.mark.parametrize("folder,reason", [("", ""), ("nowhere", " (the folder does not exist)")])
def test_folders_without_files_tell_what_to_do_in_a_sentence(make, folder, reason):
    root = make("00/readme") / folder
    with pytest.raises(ValueError) as err:
        names(root, split="train")
    assert str(err.value) == (
        f"[P153] There are no .mrg or .pos or .prd files in {root}{reason}. Unpack the Penn "
        "Treebank (LDC95T7 or LDC99T42) and give the folder, which has files such as "
        "00/wsj_0001.mrg."
    )


def test_a_document_that_is_there_twice_is_an_error(make):
    root = make("combined/00/wsj_0001.mrg", "parsed/00/wsj_0001.mrg.gz")
    with pytest.raises(ValueError, match=r"P157.*wsj_0001 .*combined.*wsj_0001.mrg and .*parsed"):
        names(root)


@pytest.mark.parametrize(
    "options,message",
    [
        ({"split": "eval"}, r"P210.*'split': 'eval'.*one of: train, dev, test"),
        ({"split": "dev", "sections": "1"}, r"P210.*left out if 'sections' is given"),
    ],
)
def test_invalid_splits_are_errors(make, options, message):
    with pytest.raises(ValueError, match=message):
        names(make("00/wsj_0001.mrg"), **options)


@pytest.mark.parametrize("option", [{"split": "dev"}, {"sections": 0}])
def test_a_single_file_has_no_sections_to_choose(make, option):
    path = make("00/wsj_0001.mrg") / "00" / "wsj_0001.mrg"
    assert names(path) == ["wsj_0001.mrg"]
    with pytest.raises(ValueError, match=rf"P156.*'{next(iter(option))}' selects"):
        names(path, **option)
