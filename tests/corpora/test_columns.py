import gzip

import pytest

from spacy_psa.corpora.columns import Row, read_columns

COLUMNS = ("word", "POS")
TEXT = "He PRP\nruns VBZ\n\nStop VB\n"
EXPECTED = [
    [Row(1, ("He", "PRP")), Row(2, ("runs", "VBZ"))],
    [Row(4, ("Stop", "VB"))],
]


@pytest.fixture
def write(tmp_path):
    def write(content, name="corpus.txt"):
        path = tmp_path / name
        path.write_bytes(content.encode("utf8") if isinstance(content, str) else content)
        return path

    return write


def read(path, **options):
    return list(read_columns(path, COLUMNS, **options))


def test_sentences_are_rows_with_line_numbers(write):
    assert read(write(TEXT)) == EXPECTED


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace("\n", "\r\n"),
        TEXT.replace(" ", "\t"),
        TEXT.replace(" ", " \t  "),
        TEXT.replace("\n", " \n"),
        TEXT.rstrip("\n"),
        TEXT + "\n",
        TEXT.replace("\n\n", "\n \t\n"),
        "\ufeff" + TEXT,
    ],
    ids=["crlf", "tabs", "mixed", "trailing", "no end", "two ends", "blank line", "bom"],
)
def test_variants_of_white_space_read_the_same(write, text):
    assert read(write(text)) == EXPECTED


@pytest.mark.parametrize("name", ["corpus.txt.gz", "corpus.txt"])
def test_gzip_reads_the_same_under_any_name(write, name):
    assert read(write(gzip.compress(TEXT.encode()), name)) == EXPECTED


def test_several_blank_lines_make_no_empty_sentences(write):
    sentences = read(write("\n\n\nHe PRP\n\n\n\nStop VB\n\n\n"))
    assert [[row.line for row in rows] for rows in sentences] == [[4], [8]]


@pytest.mark.parametrize("space", ["\u00a0", "\u2028", "\u3000", "\x85", "\x1c"])
def test_only_blanks_and_tabs_part_columns(write, space):
    assert read(write(f"1{space}000 CD\n")) == [[Row(1, (f"1{space}000", "CD"))]]


def test_hash_is_a_token_by_default(write):
    assert read(write("# #\n")) == [[Row(1, ("#", "#"))]]


def test_comments_are_left_out_on_demand(write):
    path = write("# a comment\nHe PRP\n# another one\nruns VBZ\n")
    assert read(path, comment="#") == [[Row(2, ("He", "PRP")), Row(4, ("runs", "VBZ"))]]


def test_any_number_of_columns_without_names(write):
    path = write("a b c\nd\n")
    assert [row.columns for row in next(read_columns(path))] == [("a", "b", "c"), ("d",)]


def test_columns_without_names_may_be_empty(write):
    rows = next(read_columns(write("a\t\tc\n\td\n"), separator="\t"))
    assert [row.columns for row in rows] == [("a", "", "c"), ("", "d")]


@pytest.mark.parametrize("line", ["#doc\t", "#doc", "#doc\t\t1"])
def test_boundaries_may_have_any_columns(write, line):
    (rows,) = read(write(f"{line}\nHe\tPRP\n"), separator="\t", boundary="#doc")
    assert [row.columns[0] for row in rows] == ["#doc", "He"]


def test_reading_is_lazy(write):
    sentences = read_columns(write(TEXT + "\nonly-one-column\n"), COLUMNS)
    assert [next(sentences), next(sentences)] == EXPECTED
    with pytest.raises(ValueError, match="line 6"):
        next(sentences)


@pytest.mark.parametrize("line,found", [("He", 1), ("He PRP B-NP", 3)])
def test_wrong_numbers_of_columns_name_file_line_and_columns(write, line, found):
    with pytest.raises(ValueError) as err:
        read(write(f"He PRP\n\n{line}\n"))
    assert "P112" in str(err.value)
    assert f"corpus.txt, line 3: found {found} columns, expected 2 (word, POS)" in str(err.value)


def test_invalid_utf8_names_the_byte(write):
    with pytest.raises(ValueError, match=r"P113.*corpus\.txt, line 2: .* byte 4"):
        read(write(b"He PRP\ncaf\xe9 NN\n"))


@pytest.mark.parametrize("content", [b"PK\x03\x04\x00\x00", "He PRP\n".encode("utf-16-le")])
def test_binary_files_are_errors(write, content):
    with pytest.raises(ValueError, match=r"P114.*line 1"):
        read(write(content))


@pytest.mark.parametrize("content", ["", "\n", " \t\r\n\n"])
def test_files_without_sentences_are_errors(write, content):
    with pytest.raises(ValueError, match=r"P111.*word, POS"):
        read(write(content))


def test_truncated_gzip_gives_the_lines_before_and_an_error(write):
    lines = "".join(f"word{i} {i * 7919 % 9973}\n" for i in range(50_000))
    whole = gzip.compress(lines.encode())
    path = write(whole[: len(whole) // 2], "corpus.gz")
    with pytest.raises(ValueError, match=r"P115.*corpus\.gz is damaged after line \d{3}"):
        read(path)


def test_corrupt_gzip_is_an_error(write):
    damaged = bytearray(gzip.compress(TEXT.encode()))
    damaged[-6] ^= 0xFF
    with pytest.raises(ValueError, match=r"P115.*CRC"):
        read(write(bytes(damaged)))


def test_missing_files_are_errors(tmp_path):
    with pytest.raises(ValueError, match=r"P109.*nowhere\.txt"):
        read(tmp_path / "nowhere.txt")


def test_a_directory_is_an_error_that_lists_its_files(write, tmp_path):
    write(TEXT, "train.txt")
    write(TEXT, "test.txt")
    with pytest.raises(ValueError, match=r"P110.*test\.txt, train\.txt"):
        read(tmp_path)
