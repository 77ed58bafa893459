import pytest

from spacy_psa.corpora.formats import (
    FORMATS,
    TARGETS,
    check_targets,
    parse_options,
    target_layers,
)
from spacy_psa.corpora.sentence import LAYERS, Sentence
from spacy_psa.corpora.stats import CorpusStats


def test_every_layer_is_a_target():
    assert sorted(TARGETS.values()) == sorted(LAYERS)


def test_all_layers_are_kept_by_default():
    assert target_layers([], FORMATS["conll2003"]) == ["tags", "chunks", "ents"]
    assert target_layers(["spans", "tag"], FORMATS["conll2003"]) == ["chunks", "tags"]


def test_targets_that_the_format_has_not_are_errors():
    with pytest.raises(
        ValueError, match=r"P143.*conllu.*'speakers'.*tag, pos, morph, lemma, ents\."
    ):
        target_layers(["speakers"], FORMATS["conllu"])


def test_unknown_targets_are_errors():
    with pytest.raises(ValueError, match=r"P100.*'ner'.*tag, pos, morph"):
        target_layers(["ner"], FORMATS["conllu"])


def test_targets_that_nothing_is_annotated_with_are_errors():
    stats = CorpusStats()
    list(stats.count([Sentence(["a"], pos=["X"], ents=[], lemmas=[""])]))
    check_targets(["pos", "ents"], stats, "a.txt")
    for target in ("tag", "lemma"):
        with pytest.raises(ValueError, match=rf"P133.*a\.txt.*'{target}'.*pos, ents\."):
            check_targets([target], stats, "a.txt")


@pytest.mark.parametrize(
    "text,value",
    [
        ("tag_column=-2", {"tag_column": -2}),
        ("tag-column=1", {"tag_column": 1}),
        ("pos_column=none", {"pos_column": None}),
        ("pos_column=1", {"pos_column": 1}),
        ("separator=\\t", {"separator": "\t"}),
        ("separator= ", {"separator": " "}),
        ("comment=#", {"comment": "#"}),
        ("comment==", {"comment": "="}),
        ("scheme=BIO", {"scheme": "BIO"}),
    ],
)
def test_options_are_read_by_what_the_format_takes(text, value):
    assert parse_options([text], FORMATS["iob"]) == value


def test_booleans_and_numbers_or_names():
    assert parse_options(["spaces=false"], FORMATS["conllu"]) == {"spaces": False}
    assert parse_options(["sections=0-18"], FORMATS["ptb"]) == {"sections": "0-18"}
    assert parse_options(["sections=23"], FORMATS["ptb"]) == {"sections": 23}


@pytest.mark.parametrize(
    "name,text,problem",
    [
        ("iob", "tag_column", "'tag_column', which should be name=value"),
        (
            "iob",
            "tag_column=one",
            "'one' for the option 'tag_column', which should be a whole number",
        ),
        ("iob", "color=red", "the option 'color'"),
        ("iob", "problems=none", "the option 'problems'"),
        ("conllu", "spaces=no", "'no' for the option 'spaces', which should be true or false"),
    ],
)
def test_unsuitable_options_are_errors_that_list_the_options(name, text, problem):
    with pytest.raises(ValueError) as err:
        parse_options([text], FORMATS[name])
    assert f"[P142] The format {name} does not accept {problem}" in str(err.value)
    assert f"Its options are: {', '.join(FORMATS[name].options)}." in str(err.value)


@pytest.mark.parametrize(
    "name,option,hint",
    [
        ("offsets", "alignment", r"Did you mean 'alignment_mode'\?"),
        ("conll2003", "tag_column", "The format iob, for any columns, has this option"),
        ("offsets", "color", r"the option 'color'\. Its options"),
    ],
)
def test_the_option_that_may_be_meant_is_named(name: str, option: str, hint: str) -> None:
    with pytest.raises(ValueError, match=rf"P142.*{hint}"):
        parse_options([f"{option}=expand"], FORMATS[name])
