import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_psa.corpora.trees import Leaf, Tree, read_trees, tagged_leaves, untagged_leaves

ATOMS = st.text(st.characters(codec="utf8", exclude_characters="()\0 \t\n\r\f\v"), min_size=1)
LABELS = st.sampled_from(["S", "NP-SBJ-1", "PRT|ADVP", "SBAR", "WHNP", "X=2"])
TAGS = st.sampled_from(["NN", "PRP$", "-LRB-", ".", "``", ",", "$", "#", ":"])
SPACES = st.sampled_from([" ", "\n", "\n\t ", "  "])
PRETERMINALS = st.tuples(TAGS | st.just("-NONE-"), ATOMS)
TREES = st.recursive(
    PRETERMINALS,
    lambda below: st.tuples(LABELS | st.just(""), st.lists(below, min_size=1)),
    max_leaves=12,
)


@pytest.fixture
def write(tmp_path):
    def write(text, name="wsj_0001.mrg"):
        path = tmp_path / name
        path.write_text(text, encoding="utf8")
        return path

    return write


def render(tree, space):
    label, children = tree
    if isinstance(children, str):
        return f"({label}{space}{children}{space})"
    return f"({space}{label}{space}{space.join(render(child, space) for child in children)})"


def leaves_of(tree):
    label, children = tree
    if isinstance(children, str):
        return [] if label == "-NONE-" else [(children, label)]
    return [leaf for child in children for leaf in leaves_of(child)]


@settings(max_examples=60, deadline=None)
@given(
    trees=st.lists(TREES, min_size=1, max_size=4), space=SPACES, between=st.sampled_from(["", "\n"])
)
def test_random_trees_give_their_leaves(tmp_path_factory, trees, space, between):
    path = tmp_path_factory.mktemp("trees") / "random.mrg"
    # Written as bytes, since newlines must not be translated.
    path.write_bytes(between.join(render(tree, space) for tree in trees).encode())
    found = [[leaf[:2] for leaf in tagged_leaves(tree, path)] for tree in read_trees(path)]
    assert found == [leaves_of(tree) for tree in trees]


def test_trees_have_labels_children_and_lines(write):
    (tree,) = read_trees(write("\n( (S\n  (NN dog) ))\n"))
    assert tree == Tree(2, None, [Tree(2, "S", [Tree(3, "NN", ["dog"])])])


def test_headers_between_trees_are_left_out(write):
    path = write("*x***\n*x* (c) nobody *x*\n\n(NN a)\n*x*\n(NN b)")
    assert [tree.children for tree in read_trees(path)] == [["a"], ["b"]]


@pytest.mark.parametrize(
    "label,tag",
    [
        ("VBG|NN", "VBG"),
        ("NN-TMP", "NN"),
        ("-LRB-", "-LRB-"),
        ("-RRB-", "-RRB-"),
        ("PRP$", "PRP$"),
        (":", ":"),
    ],
)
def test_tags_are_without_alternatives_and_functions(write, label, tag):
    path = write(f"(S ({label} x))")
    assert tagged_leaves(next(read_trees(path)), path) == [Leaf("x", tag, 1)]


def test_a_no_break_space_parts_no_word(write):
    path = write("(S (CD 1\u00a0000))")
    assert tagged_leaves(next(read_trees(path)), path)[0].word == "1\u00a0000"


@pytest.mark.parametrize(
    "text,line,problem",
    [
        ("(S (NN a)))\n", 1, "a closing bracket has no opening one"),
        ("(NN a)\n\n(S (NN b)\n(NN c)\n", 3, "the tree that begins here is not closed"),
        ("(NN a)\ndog\n", 2, "'dog' outside of brackets"),
        ("(S\n ())\n", 2, "brackets without a word: ()"),
        ("(S\n (NN ))\n", 2, "brackets without a word: (NN)"),
    ],
)
def test_broken_trees_name_file_line_and_problem(write, text, line, problem):
    with pytest.raises(ValueError, match="P150") as err:
        list(read_trees(write(text)))
    assert f"wsj_0001.mrg, line {line}: {problem}" in str(err.value)


@pytest.mark.parametrize("text", ["(S (NN a) dog)", "(NP the dog)", "(S (NN a (NN b)))"])
def test_words_without_a_tag_are_errors_in_tagged_trees(write, text):
    path = write("\n" + text)
    with pytest.raises(ValueError, match=r"P150.*line 2: '\w+' without a tag of its own"):
        tagged_leaves(next(read_trees(path)), path)


@pytest.mark.parametrize(
    "text,words",
    [
        ("(NP the dog)", ["the", "dog"]),
        ("(S (NP-SBJ *-1) (VP ran (NP *T*-2) *U* *?* *ICH*-12))", ["ran"]),
        ("(S (NP \\* **) *s)", ["\\*", "**", "*s"]),
        ("(SBAR 0 (S it))", ["it"]),
        ("(SBAR-NOM (WHNP-1 0) (S it))", ["it"]),
        ("(NP (QP $ 0) *U*)", ["$", "0"]),
        ("(SBAR that 0)", ["that", "0"]),
        ("(NP 0)", ["0"]),
    ],
)
def test_null_elements_of_untagged_trees(write, text, words):
    leaves = untagged_leaves(next(read_trees(write(text))))
    assert [leaf.word for leaf in leaves] == words
    assert {leaf.tag for leaf in leaves} == {None}
