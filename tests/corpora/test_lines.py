import gzip
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_psa.corpora import lines
from spacy_psa.corpora.lines import MAX_LINE_BYTES, read_lines


@pytest.fixture
def write(tmp_path):
    def write(content, name="corpus.txt"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


def expected_lines(content):
    pieces = re.split(r"\r*\n|\r", content.decode("utf8"))
    return list(enumerate(pieces if pieces[-1] else pieces[:-1], start=1))


@given(
    texts=st.lists(st.text(st.sampled_from("a é\t\r\n\x85\u2028𝄞"), max_size=8), max_size=8),
    chunk=st.integers(1, 9),
    compressed=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_lines_do_not_depend_on_how_much_is_read_at_once(
    tmp_path_factory, texts, chunk, compressed
):
    content = "\n".join(texts).encode("utf8")
    path = tmp_path_factory.mktemp("lines") / "corpus.txt"
    path.write_bytes(gzip.compress(content) if compressed else content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "_CHUNK_BYTES", chunk)
        assert list(read_lines(path)) == expected_lines(content)


def test_other_separators_do_not_end_a_line(write):
    path = write("b\u2028c\x85d\x0be\x1cf\ng\n".encode())
    assert list(read_lines(path)) == [(1, "b\u2028c\x85d\x0be\x1cf"), (2, "g")]


@pytest.mark.parametrize(
    "content",
    [
        b"a\nb\n\nc",
        b"a\r\nb\r\n\r\nc\r\n",
        b"a\rb\r\rc\r",
        b"a\r\nb\r\n\rc\n",
        # Converted twice
        b"a\r\r\nb\r\r\n\r\r\nc\r\r\n",
    ],
)
def test_line_ends_of_all_systems(write, content):
    assert list(read_lines(write(content))) == [(1, "a"), (2, "b"), (3, ""), (4, "c")]


def test_mebibytes_of_blank_lines_are_an_error(write):
    data = gzip.compress(b"a O\n" + (b"\n" * 200_000 + b"b O\n") * 100)
    # To read on would be another error
    bomb = write(data[: len(data) // 2])
    with pytest.raises(ValueError, match=r"P141.*1,048,576 bytes of blank lines"):
        list(read_lines(bomb))


def test_other_encodings_are_not_guessed(write):
    for text, encoding in (("Köln", "cp1252"), ("北京", "gb18030"), ("بغداد", "cp1256")):
        with pytest.raises(ValueError, match=r"P113.*iconv -f ENCODING .* GB18030 for Chinese"):
            list(read_lines(write(text.encode(encoding) + b"\n")))


def test_lines_before_a_broken_one_are_read(write):
    found = read_lines(write(b"a\nb\n\xff\nc\n"))
    assert [next(found), next(found)] == [(1, "a"), (2, "b")]
    with pytest.raises(ValueError, match=r"P113.*line 3: .* byte 1"):
        next(found)


@pytest.mark.parametrize("broken,code", [(b"\xc3", "P113"), (b"\x00", "P114")])
def test_numbers_of_lines_hold_in_files_that_are_read_in_many_pieces(write, broken, code):
    n_lines = 40_000
    path = write(b"some words\n" * n_lines + broken + b"\nmore\n")
    with pytest.raises(ValueError, match=f"{code}.*line {n_lines + 1}\\b"):
        list(read_lines(path))


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_the_longest_line_allowed_is_read(write, end):
    path = write(b"x\n" + b"a" * MAX_LINE_BYTES + end)
    assert [len(line) for _, line in read_lines(path)] == [1, MAX_LINE_BYTES]


@pytest.mark.parametrize("end", [b"", b"\n", b"\nb\n"])
def test_longer_lines_are_errors(write, end):
    path = write(b"x\n" + b"a" * (MAX_LINE_BYTES + 1) + end)
    with pytest.raises(ValueError, match=r"P141.*line 2\b"):
        list(read_lines(path))


@pytest.mark.parametrize("chunk", [1, 3, 5, 1 << 17])
def test_byte_order_marks_of_files_that_were_joined_are_no_part_of_the_text(
    write: Callable[[bytes], Path], monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(lines, "_CHUNK_BYTES", chunk)
    path = write(b"\xef\xbb\xbfa\n\xef\xbb\xbfb\xef\xbb\xbf\n\xef\xbb\xbf\xff\n")
    found = read_lines(path)
    assert [next(found), next(found)] == [(1, "a"), (2, "b\ufeff")]
    with pytest.raises(ValueError, match=r"P113.*line 3: .* byte 1"):
        next(found)
