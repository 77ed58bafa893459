import csv
import gzip
import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_psa.annotation.schemes import SCHEMES
from spacy_psa.corpora.iob import read_conll2002, read_iob, read_tagged
from spacy_psa.corpora.problems import Problems

from .shared import shared_corpus

TWO = "Ann B-PER\nLee I-PER\nleft O\n\nOh O\n"
DUTCH = "-DOCSTART- -DOCSTART- O\nDe Art O\nEU N B-ORG\n\n-DOCSTART- -DOCSTART- O\nDe Art O\n"


@pytest.fixture
def write(tmp_path):
    def write(content):
        path = tmp_path / "a.txt"
        path.write_bytes(content.encode("utf8") if isinstance(content, str) else content)
        return path

    return write


def test_two_columns_are_word_and_entity(write):
    first, second = read_iob(write(TWO))
    assert (first.words, first.ents) == (["Ann", "Lee", "left"], [(0, 2, "PER")])
    assert (second.words, second.ents, second.line) == (["Oh"], [], 5)
    assert first.tags is None and first.chunks is None


def test_a_file_without_blank_lines_is_noted(write):
    # Such as one with numbers of sentences
    text = "Oh O\n\n" + "Ann B-PER\nleft O\n" * 501
    problems = Problems()
    assert [len(s.words) for s in read_iob(write(text), problems=problems)] == [1, 1002]
    ((note, count),) = problems.notes.items()
    assert count == 1 and "more than 1,000 tokens" in note and "in line 3" in note


def test_the_layer_can_be_chunks_or_tags(write):
    (sentence, _) = read_iob(write(TWO), layer="chunks")
    assert (sentence.chunks, sentence.ents) == ([(0, 2, "PER")], None)
    (sentence, _) = read_iob(write(TWO), layer="tags")
    assert (sentence.tags, sentence.ents) == (["B-PER", "I-PER", "O"], None)


@pytest.mark.parametrize(
    "text,options",
    [
        ("O N Ann\n", {"word_column": 2, "tag_column": 0, "pos_column": 1}),
        ("O N Ann\n", {"word_column": -1, "tag_column": 0, "pos_column": -2}),
        ("Ann 7 N x O\n", {"pos_column": 2}),
    ],
)
def test_columns_can_be_chosen(write, text, options):
    (sentence,) = read_iob(write(text), **options)
    assert (sentence.words, sentence.tags, sentence.ents) == (["Ann"], ["N"], [])


@pytest.mark.parametrize(
    "options,problem",
    [
        ({"tag_column": 2}, r"P142.*column 2 for ents: .*a\.txt has 2 columns"),
        ({"word_column": -3}, r"P142.*column -3 for word"),
        ({"word_column": 1}, r"P142.*the same column twice"),
        ({"pos_column": 0}, r"P142.*the same column twice"),
        ({"layer": "pos"}, r"P142.*layer='pos'.* options are: .*prefixes"),
        ({"layer": "tags", "pos_column": 0}, r"P142.*with a pos_column, not tags"),
        ({"scheme": "IOB3"}, r"P100"),
    ],
)
def test_unsuitable_options_are_errors(write, options, problem):
    with pytest.raises(ValueError, match=problem):
        list(read_iob(write(TWO), **options))


def test_words_may_contain_blanks_where_tabs_part_columns(write):
    (sentence,) = read_iob(write("New York\tB-LOC\nCity \tI-LOC\n"), separator="\t")
    assert sentence.words == ["New York", "City "]


@pytest.mark.parametrize(
    "read,layer,value", [(read_iob, "ents", [(0, 1, "PER")]), (read_tagged, "tags", ["B-PER", ""])]
)
@pytest.mark.parametrize("line", ["sleeps\t", "sleeps"])
@pytest.mark.parametrize("before", ["", "Bob\tO\n\n"])
def test_missing_columns_are_problems_in_each_sentence(write, read, layer, value, line, before):
    path = write(f"{before}Ann\tB-PER\n{line}\n")
    number = 4 if before else 2
    message = rf"P1(12|45).*a\.txt, line {number}: .*\(word, {layer}\)"
    with pytest.raises(ValueError, match=message):
        list(read(path, separator="\t"))
    problems = Problems(lenient=True)
    *_, sentence = read(path, separator="\t", problems=problems)
    assert (sentence.words, getattr(sentence, layer)) == (["Ann", "sleeps"], value)
    assert problems.total == 1 and re.search(message, problems.examples[0])


@pytest.mark.parametrize(
    "text,options",
    [
        ("A\tO\n\tB-X\n", {"separator": "\t"}),
        ("O\tA\nB-X\t\n", {"separator": "\t", "word_column": 1, "tag_column": 0}),
        ("A\tO\n\tB-X\n", {}),
        ("A\tO\n \tB-X\n", {"separator": "\t"}),
    ],
)
def test_lines_without_a_word_are_errors_or_left_out(write, text, options):
    path = write(text)
    with pytest.raises(
        ValueError, match=r"P145.*line 2: the word column .* is empty.*\((word|ents), "
    ):
        list(read_iob(path, **options))
    problems = Problems(lenient=True)
    (sentence,) = read_iob(path, problems=problems, **options)
    assert (sentence.words, sentence.ents, problems.total) == (["A"], [], 1)


@pytest.mark.parametrize("line", ["  B-X", "\tB-X"])
def test_the_tag_of_a_blank_token_is_never_a_word(write, line):
    with pytest.raises(ValueError, match=r"P112.*line 2"):
        list(read_iob(write(f"A N O\n{line}\n"), pos_column=1, problems=Problems(lenient=True)))


def test_blank_lines_may_have_tabs(write):
    sentences = read_iob(write("Ann\tB-PER\n\t\nOh\tO\n \t \n"), separator="\t")
    assert [sentence.words for sentence in sentences] == [["Ann"], ["Oh"]]


def test_comments_are_left_out_on_demand(write):
    path = write("# id 1\nAnn B-PER\n")
    (sentence,) = read_iob(path, comment="#")
    assert sentence.words == ["Ann"]
    with pytest.raises(ValueError, match=r"P112.*line 2: found 2 columns, expected 3"):
        list(read_iob(path))


def test_document_boundaries_may_have_any_number_of_columns(write):
    sentences = list(read_iob(write("-DOCSTART-\n\nAnn B-PER\n\n-DOCSTART- O O O\nOh O\n\nNo O\n")))
    assert [(s.words, s.starts_document) for s in sentences] == [
        (["Ann"], True),
        (["Oh"], True),
        (["No"], False),
    ]


def test_boundaries_have_spaces_in_files_of_tabs_too(write):
    text = "-DOCSTART- -X- O O\n\nNew York\tB-LOC\n-DOCSTART- -X- O O\n\nAnn Lee\tB-PER\n"
    sentences = list(read_iob(write(text), separator="\t"))
    assert [sentence.words for sentence in sentences] == [["New York"], ["Ann Lee"]]
    assert all(sentence.starts_document for sentence in sentences)


@pytest.mark.parametrize("text", ["-DOCSTART-\t\n\nx\tO\n", "x\tO\n-DOCSTART-\t\t\n\nx\tO\n"])
def test_document_boundaries_may_have_empty_columns(write, text):
    *_, sentence = read_iob(write(text), separator="\t")
    assert (sentence.words, sentence.starts_document) == (["x"], True)


def test_document_boundaries_can_be_tokens(write):
    (sentence,) = read_iob(write("-DOCSTART- O\nAnn O\n"), document_boundary=None)
    assert sentence.words == ["-DOCSTART-", "Ann"]


GERMAN = "Ann Ann NE I-NC I-PER\nläuft laufen VVFIN I-VC O\n"


def test_lemmas_and_chunks_can_have_columns_of_their_own(write):
    (sentence,) = read_iob(write(GERMAN), lemma_column=1, pos_column=2, chunk_column=3)
    assert (sentence.lemmas, sentence.tags) == (["Ann", "laufen"], ["NE", "VVFIN"])
    assert (sentence.chunks, sentence.ents) == ([(0, 1, "NC"), (1, 2, "VC")], [(0, 1, "PER")])


def test_columns_of_plus_and_minus_are_white_space(write):
    (sentence,) = read_iob(write("Ann + B-PER\nran - O\n. + O\n"), space_column=1)
    assert sentence.spaces == [True, False, True]
    with pytest.raises(ValueError, match=r"P145.*line 2: 'y' in column spaces is not \+ or -"):
        list(read_iob(write("Ann + O\nran y O\n"), space_column=1))


@pytest.mark.parametrize(
    "text,options",
    [
        ("A b-x\nB i-x\nC o\n", {}),
        ("A B\nB I\nC O\n", {"label": "x"}),
        ("A b\nB i\nC o\n", {"label": "x"}),
        ("A x\nB x\nC O\n", {"prefixes": False}),
        ("Word Tag\nA B-x\nB I-x\nC O\n", {"header": True}),
        ("# one\nWord Tag\nA B-x\n# two\nB I-x\nC O\n", {"header": True, "comment": "#"}),
        ("A|B-x B|I-x C|O\n", {"joined_by": "|"}),
        ("A|N|B-x B|N|I-x C|V|O\n", {"joined_by": "|", "pos_column": 1}),
    ],
)
def test_tags_can_be_written_in_other_ways(write, text, options):
    (sentence,) = read_iob(write(text), **options)
    assert (sentence.words, sentence.ents) == (["A", "B", "C"], [(0, 2, "x")])


@pytest.mark.parametrize("placeholder", ["_", "-", "-X-", "*"])
def test_placeholders_beside_labels_without_prefixes_are_no_labels(write, placeholder):
    path = write(f"A x\nB {placeholder}\nC {placeholder}\n\nD {placeholder}\n")
    with pytest.raises(ValueError, match=r"P116.*line 2"):
        list(read_iob(path, prefixes=False))
    one, two = read_iob(path, prefixes=False, problems=Problems(lenient=True))
    assert (one.ents, two.ents) == ([(0, 1, "x")], None)


@pytest.mark.parametrize(
    "text,way_out",
    [
        ("A B\n", "label=NAME"),
        ("A PESSOA\nB O\n", "prefixes=false"),
        ("Word Tag\nA B-x\n", "header=true"),
        ("Ann N B-x\n", "tag_column="),
    ],
)
def test_errors_about_tags_name_the_option_that_reads_them(write, text, way_out):
    with pytest.raises(ValueError, match=rf"P116.*line 1: .*--format iob.*{way_out}"):
        list(read_iob(write(text), tag_column=1))


@pytest.mark.parametrize("placeholder", ["_", "-X-", "-"])
def test_placeholders_are_not_annotation(write, placeholder):
    path = write(f"Ann {placeholder} B-PER\nran {placeholder} O\n\nHi {placeholder} O\n")
    for sentence in read_iob(path, chunk_column=1):
        assert sentence.chunks is None and sentence.ents is not None
    (first, _) = read_iob(path, tag_column=1)
    assert first.ents is None


def test_placeholders_are_not_parts_of_speech(write):
    first, second = read_iob(write("Ann _ O\nran -X- O\n\nHi _ O\n- - O\n"), pos_column=1)
    assert (first.tags, second.tags) == (None, ["", "-"])


@pytest.mark.parametrize(
    "text,what",
    [
        ("1 Ann B-PER\n2 ran O\n", "numbers such as '1'"),
        ("0 Ann B-PER\n1 ran O\n\n2 Hi O\n", "numbers such as '0'"),
        ("B-PER Ann\nO ran\n", "tags such as 'B-PER'"),
    ],
)
@pytest.mark.parametrize("read", [read_iob, read_tagged])
def test_numbers_and_tags_are_not_words(write, text, what, read):
    with pytest.raises(ValueError, match=rf"P180.*line 1.*column 0.*{what}.*word_column="):
        list(read(write(text)))


@pytest.mark.parametrize(
    "text", ["7 O\n8 O\n8 O\n", "1 O\n\n2 O\n", "e-mail O\nis O\nit O\n", "E-mail O\n"]
)
def test_words_can_look_like_numbers_and_tags(write, text):
    assert next(read_iob(write(text))).words


def test_a_file_of_document_boundaries_has_no_sentences(write):
    with pytest.raises(ValueError, match=r"P111"):
        list(read_iob(write("-DOCSTART- -X- O O\n\n-DOCSTART- -X- O O\n")))


def test_compressed_files_read_the_same(write):
    plain = list(read_iob(write(TWO)))
    assert list(read_iob(write(gzip.compress(TWO.encode(), mtime=0)))) == plain


def test_conll2002_with_and_without_parts_of_speech(write):
    spanish, _ = read_conll2002(write(TWO))
    assert (spanish.words[0], spanish.tags, spanish.ents) == ("Ann", None, [(0, 2, "PER")])
    first, second = read_conll2002(write(DUTCH))
    assert (first.tags, first.ents) == (["Art", "N"], [(1, 2, "ORG")])
    assert first.starts_document and second.starts_document


def test_conll2002_has_two_or_three_columns(write):
    with pytest.raises(ValueError, match=r"P112.*line 5: found 4 columns, expected 2 or 3"):
        list(read_conll2002(write("\n\n-DOCSTART- -X-\n\na b c O\n")))


def test_tagged_files_have_tags_and_nothing_else(write):
    (sentence,) = read_tagged(write("The\tat\n-DOCSTART-\tnn\n"))
    assert (sentence.words, sentence.tags) == (["The", "-DOCSTART-"], ["at", "nn"])
    assert (sentence.ents, sentence.starts_document) == (None, False)


def test_words_and_tags_may_be_joined_in_lines(write):
    first, second = read_tagged(write("The/at 1/2/cd ///:\n\nOh/uh\n"), joined_by="/")
    assert (first.words, first.tags, first.line) == (["The", "1/2", "//"], ["at", "cd", ":"], 1)
    assert (second.words, second.tags, second.line) == (["Oh"], ["uh"], 3)


@pytest.mark.parametrize("token", ["jury", "jury/", "/nn"])
def test_joined_words_without_a_tag_are_errors(write, token):
    path = write(f"The/at\n{token}\n")
    with pytest.raises(ValueError, match=rf"P145.*a\.txt, line 2: '{token}'.*Expected word/tag"):
        list(read_tagged(path, joined_by="/"))
    problems = Problems(lenient=True)
    _, sentence = read_tagged(path, joined_by="/", problems=problems)
    assert (sentence.words, sentence.tags, problems.total) == ([token], [""], 1)


@pytest.mark.parametrize(
    "content,message",
    [
        ("Ann B-PER\nLee\n", r"P112.*line 2: found 1 columns, expected 2 \(word, ents\)"),
        ("Ann PER\n", r"P116.*line 1: 'PER' in column ents"),
        ("Ann Q-PER\n", r"P116.*line 1: 'Q-PER'"),
        ("", r"P111"),
        ("-DOCSTART- O\n", r"P111"),
        (b"Ann O\ncaf\xe9 O\n", r"P113.*line 2"),
        (b"PK\x03\x00", r"P114.*line 1"),
        (gzip.compress(b"Ann O\n" * 99, mtime=0)[:-9], r"P115"),
    ],
)
def test_errors_name_file_line_and_what_was_expected(write, content, message):
    with pytest.raises(ValueError, match=message) as err:
        list(read_iob(write(content)))
    assert "a.txt" in str(err.value)


def test_an_empty_separator_is_an_error(write):
    with pytest.raises(ValueError, match=r"P142.*separator=''"):
        list(read_iob(write("Ann O\n"), separator=""))


@pytest.mark.parametrize(
    "text,column,lenient",
    [
        ("Ann\tO\nLee\t\n", "ents column (column 1", "keeps the word"),
        ("Ann\tO\n\tO\n", "word column (column 0", "leaves the line out"),
    ],
)
def test_empty_columns_are_errors_where_tabs_part_columns(write, text, column, lenient):
    message = rf"P145.*line 2: the {re.escape(column)}, counted from 0\) is empty.*{lenient}"
    with pytest.raises(ValueError, match=message):
        list(read_iob(write(text), separator="\t"))


@pytest.mark.parametrize("separator", [",", ";", "\t", None])
def test_columns_that_are_not_read_may_be_empty(write, separator):
    text = "1,Ann,,B-PER\n,Lee,x,I-PER\n".replace(",", separator or "\t")
    text = text if separator else text.replace("\t\t", "\tx\t")
    (sentence,) = read_iob(write(text), word_column=1, separator=separator)
    assert (sentence.words, sentence.ents) == (["Ann", "Lee"], [(0, 2, "PER")])


@pytest.mark.parametrize("separator", [",", ";"])
def test_cells_may_be_quoted_as_in_csv(tmp_path, separator):
    words = ["Ann", ",", ";", '"', '...""', ',"', "'"]
    for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL):
        path = tmp_path / "a.csv"
        with path.open("w", encoding="utf8", newline="") as file_:
            writer = csv.writer(file_, delimiter=separator, quoting=quoting)
            writer.writerows([["", word, "B-X"] for word in words])
        (sentence,) = read_iob(path, word_column=1, separator=separator)
        assert sentence.words == words
        assert len(sentence.ents) == len(words)


@pytest.mark.parametrize("separator", [",", ";", "\t", " ", "|", None])
@pytest.mark.parametrize("word", ['"', '"""', '..."', '"Hi', 'a"b"'])
def test_other_double_quotes_are_part_of_the_word(write, separator, word):
    text = f'Ann P O\n{word} P O\n{word} " O\n'.replace(" ", separator or " ")
    (sentence,) = read_iob(write(text), separator=separator)
    assert sentence.words == ["Ann", word, word]


def test_the_first_line_may_look_quoted_by_chance(write):
    (sentence,) = read_iob(write('";";O\nAnn;NNP;O\nran;VBD;O\n'), pos_column=1, separator=";")
    assert (sentence.words, sentence.tags) == (['"', "Ann", "ran"], ['"', "NNP", "VBD"])


@pytest.mark.parametrize("separator", ["\t", " ", "|", None])
@pytest.mark.parametrize("word", ['""', '""""', '"Hi"'])
def test_only_cells_between_commas_and_semicolons_are_quoted(write, separator, word):
    (sentence,) = read_iob(write(f"{word} O\n".replace(" ", separator or " ")), separator=separator)
    assert sentence.words == [word]


@pytest.mark.parametrize(
    "separator,named",
    [(None, "spaces or tabs"), ("\t", "'\\t'"), (",", "','"), (";", "';'")],
)
def test_errors_name_the_separator(write, separator, named):
    text = "Ann O\nLee O O\n".replace(" ", separator or " ")
    with pytest.raises(ValueError, match=r"P112.*line 2") as err:
        list(read_iob(write(text), separator=separator))
    assert f"Columns are separated by {named}, and" in str(err.value)


def test_a_header_among_tags_is_said_to_be_one(write):
    text = "Word Tag\nAnn B-PER\nTag Word\n"
    with pytest.raises(ValueError, match=r"P116.*'Tag' .* is not a tag\. .*header=true.* Expected"):
        list(read_iob(write(text)))
    with pytest.raises(ValueError, match=r"P116.*'Word' in column ents is not a tag\. Expected"):
        list(read_iob(write(text), header=True))


def test_lenient_reading_keeps_the_word_of_a_line_with_other_columns(write):
    problems = Problems(lenient=True)
    path = write("Ann N B-PER\nLee\nleft V O O\n\nOh U O\n")
    first, second = read_iob(path, pos_column=1, problems=problems)
    assert first.words == ["Ann", "Lee", "left"]
    assert first.tags == ["N", "", ""]
    assert first.ents == [(0, 1, "PER")]
    assert second.words == ["Oh"]
    assert problems.counts == {"P112": 2}
    assert "a.txt, line 2" in problems.examples[0] and "a.txt, line 3" in problems.examples[1]


def test_lines_without_the_column_of_the_word_are_errors_even_if_lenient(write):
    path = write("N O Ann\nN\n")
    with pytest.raises(ValueError, match=r"P112.*line 2"):
        list(read_iob(path, word_column=2, tag_column=1, problems=Problems(lenient=True)))


def test_sentences_that_do_not_end_are_errors(write, monkeypatch):
    monkeypatch.setattr("spacy_psa.corpora.columns.MAX_SENTENCE_TOKENS", 3)
    assert len(next(read_iob(write("a O\n" * 3))).words) == 3
    with pytest.raises(ValueError, match=r"P141.*a\.txt, line 4: more than 3 tokens"):
        list(read_iob(write("a O\n" * 4)))


def test_lines_that_do_not_end_are_errors(write, monkeypatch):
    monkeypatch.setattr("spacy_psa.corpora.lines.MAX_LINE_BYTES", 10)
    with pytest.raises(ValueError, match=r"P141.*a\.txt, line 2: more than 10 bytes in a line"):
        list(read_iob(write("a O\n" + "b" * 100)))


WORDS = st.text(st.characters(exclude_categories=("Cc", "Cs", "Nd", "Zs", "Zl", "Zp")), min_size=1)


@given(
    st.lists(st.lists(st.tuples(WORDS, st.sampled_from("BIO")), min_size=1), min_size=1),
    st.sampled_from([" ", "\t", " \t "]),
)
def test_words_and_spans_come_back_as_written(tmp_path_factory, sentences, separator):
    lines = []
    expected = []
    for sentence in sentences:
        tags = ["O" if letter == "O" else f"{letter}-X" for _, letter in sentence]
        spans = SCHEMES["BIO"].decode(tags)
        tags = SCHEMES["BIO"].encode(spans, len(tags))
        words = [word for word, _ in sentence]
        lines += [f"{w}{separator}{t}" for w, t in zip(words, tags, strict=True)] + [""]
        expected.append((words, spans))
    path = tmp_path_factory.mktemp("iob") / "a.txt"
    path.write_text("\n".join(lines), encoding="utf8", newline="\n")
    read = [(s.words, s.ents) for s in read_iob(path, document_boundary=None)]
    assert read == expected


def read_slowly(path):
    """The columns of each sentence, read independently of our parser."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf8")
    sentence = []
    for row in [*text.split("\n"), ""]:
        if row.strip("\t\r "):
            sentence.append(row.rstrip("\r").split("\t"))
        elif sentence:
            yield list(zip(*sentence, strict=True))
            sentence = []


@pytest.mark.parametrize(
    "folder,names,sizes,n_types",
    [
        (
            "wnut17",
            ("wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated"),
            (3394, 1009, 1287),
            6,
        ),
        ("ncbi_disease", ("train.tsv", "devel.tsv", "test.tsv"), (5424, 923, 940), 1),
    ],
)
def test_published_entities(folder, names, sizes, n_types):
    for name, n_sentences in zip(names, sizes, strict=True):
        path = shared_corpus(folder) / name
        sentences = list(read_iob(path, separator="\t"))
        assert len(sentences) == n_sentences
        assert len(Counter(label for s in sentences for _, _, label in s.ents)) == n_types
        for sentence, (words, tags) in zip(sentences, read_slowly(path), strict=True):
            assert sentence.words == list(words)
            assert SCHEMES["BIO"].encode(sentence.ents, len(words)) == list(tags)


def test_published_tags():
    sizes = {"train": 45872, "dev": 5734, "test": 5734}
    found = set()
    for split, n_sentences in sizes.items():
        path = shared_corpus("brown_pos") / f"{split}.tsv.gz"
        sentences = list(read_tagged(path, separator="\t"))
        assert len(sentences) == n_sentences
        # The largest file takes long, and looks like the others
        slowly = [] if split == "train" else zip(sentences, read_slowly(path), strict=True)
        for sentence, (words, tags) in slowly:
            assert (sentence.words, sentence.tags) == (list(words), list(tags))
        found.update(tag for sentence in sentences for tag in sentence.tags)
    assert len(found) == 472


@pytest.mark.parametrize(
    ("text", "options", "n"),
    [
        ("Word Tag\nAnn PERSON\n", {"prefixes": False}, 1),
        ("token pos\nAnn NNP\n", {"layer": "tags"}, 1),
        ("Word Tag\nAnn PERSON\n", {"prefixes": False, "header": True}, 0),
        ("Ann PERSON\nWord Tag\n", {"prefixes": False}, 0),
    ],
)
def test_names_of_columns_that_are_read_as_a_word_are_noted(write, text, options, n):
    problems = Problems()
    list(read_iob(write(text), problems=problems, **options))
    assert problems.notes.total() == n
    assert all("header=true" in note and "in line 1: " in note for note in problems.notes)
