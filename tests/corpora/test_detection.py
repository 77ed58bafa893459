import os
from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_psa.cli._inputs import check_alike
from spacy_psa.corpora.detection import detect
from spacy_psa.corpora.lines import keep_pipes

# Word, lemma, part of speech, chunk and entity of each token
POOL = [
    "Ann Ann NNP B-NP B-PER;Lee Lee NNP I-NP I-PER;ran run VBD B-VP O;home home RB B-ADVP O",
    "Bob Bob NNP B-NP B-PER;saw see VBD B-VP O;San San NNP B-NP B-LOC;Remo Remo NNP I-NP I-LOC",
    "# # SYM O O;1 1 CD B-NP O;is be VBZ B-VP O;#odd #odd JJ B-ADJP O",
    "The the DT B-NP O;old old JJ I-NP O;e-mail e-mail NN I-NP O;said say VBD B-VP O;no no UH O O",
    "Reuters Reuters NNP B-NP B-ORG;reported report VBD B-VP O;losses loss NNS B-NP O",
]
SENTENCES = [[token.split() for token in sentence.split(";")] for sentence in POOL]
WORD, LEMMA, POS, CHUNK, NER = range(5)
FORMATS = {
    "conll2000": (WORD, POS, CHUNK),
    "conll2003": (WORD, POS, CHUNK, NER),
    "conll2002": (WORD, POS, NER),
    "iob": (WORD, NER),
    "tagged": (WORD, POS),
    "german": (WORD, LEMMA, POS, CHUNK, NER),
    "chunks": (WORD, CHUNK),
}
LAYERS = {POS: "tags", CHUNK: "chunks", NER: "ents"}


def lines_of(sentences, columns, separator=" "):
    lines = [[separator.join(token[c] for c in columns) for token in rows] for rows in sentences]
    return [line for rows in lines for line in (*rows, "")]


def plain(sentences, columns):
    return "\n".join(lines_of(sentences, columns))


def header(sentences, columns):
    names = ("Word", "Lemma", "POS", "Chunk_Tag", "NER")
    return "\n".join(["\t".join(names[c] for c in columns), *lines_of(sentences, columns, "\t")])


def index_column(sentences, columns):
    numbered = [[[*token, str(i)] for i, token in enumerate(rows, 1)] for rows in sentences]
    return "\n".join(lines_of(numbered, (5, *columns), "\t"))


def comments(sentences, columns):
    blocks = ["\n".join(["# id = 7", *lines_of([rows], columns, "\t")]) for rows in sentences]
    return "\n".join(blocks)


def bad_tag(sentences, columns):
    return plain(sentences, columns).replace("B-PER", "B_PER").replace("B-VP", "B_VP")


def swapped(sentences, columns):
    return plain(sentences, columns[::-1])


def other_labels(sentences, columns):
    text = "\n".join(lines_of(sentences, columns))
    return text.replace("-PER", "-Person").replace("-NP", "-Subject")


def returns(sentences, columns):
    return "\r".join(lines_of(sentences, columns))


def tabs(sentences, columns):
    return "\r\n".join(lines_of(sentences, columns, "\t"))


WAYS = (plain, header, index_column, comments, bad_tag, swapped, other_labels, returns, tabs)
# The others can be refused, with a message.
ALWAYS_READ = (plain, header, index_column, comments, returns, tabs)


def expected(sentences, columns, way):
    """Words, tags and spans, as written above, independently of our parsers."""
    found = []
    for rows in sentences:
        layers = {}
        for column in set(columns) & LAYERS.keys():
            values = [token[column] for token in rows]
            if column != POS:
                starts = [i for i, value in enumerate(values) if value[0] == "B"]
                ends = [
                    next((j for j in range(i + 1, len(values)) if values[j][0] != "I"), len(values))
                    for i in starts
                ]
                labels = [values[i][2:] for i in starts]
                if way is other_labels:
                    others = {"PER": "Person", "NP": "Subject"}
                    labels = [others.get(label, label) for label in labels]
                values = list(zip(starts, ends, labels, strict=True))
            layers[LAYERS[column]] = values
        found.append(([token[WORD] for token in rows], layers))
    return found


def read(path, targets=()):
    detection = detect(path, targets)
    sentences = detection.form.read(path, **detection.options)
    return [(s.words, {n: getattr(s, n) or [] for n in LAYERS.values()}) for s in sentences]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=12, deadline=None)
@given(sentences=st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=6))
def test_what_is_detected_is_right_or_refused(tmp_path_factory, name, way, sentences):
    path = tmp_path_factory.mktemp("detection") / "file"
    columns = FORMATS[name]
    text = way(sentences, columns)
    path.write_text(text, encoding="utf8", newline="")
    spans = {tag[2:] for token in chain(*sentences) for tag in token[CHUNK:]} - {""}
    try:
        found = read(path)
    except ValueError as err:
        assert str(err).startswith("[P")
        assert way not in ALWAYS_READ or len(spans) < 3, err
        return
    assert "B_" not in text
    for (words, layers), (true_words, true_layers) in zip(
        found, expected(sentences, columns, way), strict=True
    ):
        assert words == true_words
        labelled = {n for n, v in layers.items() if v}
        assert labelled <= true_layers.keys() or way is other_labels
        for layer, values in true_layers.items():
            other = {"chunks": "ents", "ents": "chunks"}.get(layer, layer)
            is_sure = way is not other_labels or name not in ("conll2000", "chunks")
            assert values == layers[layer] or (not is_sure and values == layers[other])


@pytest.mark.parametrize("name", FORMATS)
def test_pipes_are_detected_as_files_are(tmp_path, name):
    path = tmp_path / "file"
    path.write_text(plain(SENTENCES * 9, FORMATS[name]), encoding="utf8")
    read_end, write_end = os.pipe()
    os.write(write_end, path.read_bytes())
    os.close(write_end)
    with keep_pipes():
        assert read(type(path)(f"/dev/fd/{read_end}")) == read(path)
    os.close(read_end)


def test_what_was_found_is_one_line_with_each_column_and_the_same_command(tmp_path):
    path = tmp_path / "file"
    path.write_text(index_column(SENTENCES, (WORD, POS, NER)), encoding="utf8")
    assert detect(path).found == (
        "Found iob, columns separated by white space: numbers (not read), word, tag of the word → "
        "token.tag_, spans in BIO → doc.ents. Same as: --format iob --option word_column=1 "
        "--option pos_column=2"
    )


@pytest.mark.parametrize(
    "tags,scheme",
    [
        ("B-A I-A O B-A", "BIO"),
        ("I-A I-A O I-A", "IO"),
        ("I-A B-A O I-A", "IOB1"),
        ("B-A E-A O S-A", "BIOES"),
        ("B-A L-A O U-A", "BILOU"),
        ("B-A M-A E-A O", "BMES"),
    ],
)
def test_the_scheme_is_named(tmp_path, tags, scheme):
    path = tmp_path / "file"
    path.write_text("".join(f"word{i} {tag}\n" for i, tag in enumerate(tags.split())), "utf8")
    assert f"spans in {scheme} → doc.ents" in detect(path).found


@pytest.mark.parametrize(
    "first,other,is_same",
    [
        ("Ann B-PER\nran O\n", "ran O\n", True),
        ("Ann B-PER\nran O\n", "Ann\tB-LOC\nran home\tO\n", True),
        ("Ann B-PER\nran O\n", "1 Ann B-PER\n2 ran O\n", False),
        ("Ann B-PER\nran O\n", "Word Tag\nran O\n", False),
        ("Word Tag\nAnn B-PER\n", "ran O\n", False),
        ("Ann NN\nran VB\n", "Word POS\nran VB\n", False),
        ("Ann NN\nran VB\n", "Ann B-PER\n", False),
        ("# id 1=1\nAnn O\n", "Ann O\nran B-X\n", True),
        ("Ann O\nran B-X\n", "# id 1=1\nAnn O\n", False),
    ],
)
def test_files_converted_together_have_the_same_columns(tmp_path, first, other, is_same):
    paths = [tmp_path / "a", tmp_path / "b"]
    for path, text in zip(paths, (first, other), strict=True):
        path.write_text(text, encoding="utf8")
    detected = detect(paths[0])
    if is_same:
        check_alike(detected, paths, ())
    else:
        with pytest.raises(ValueError, match=r"P184.*b has other columns than .*a\. "):
            check_alike(detected, paths, ())
