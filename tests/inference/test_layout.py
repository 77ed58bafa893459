import numpy as np
import pytest

from spacy_psa.inference.layout import TimeMajor, time_major

LENGTHS = [(3, 0, 1, 3, 2), (1,), (0, 0), (), (4, 4), (1, 2, 3, 4)]

all_lengths = pytest.mark.parametrize("lengths", LENGTHS)


def positions(lengths):
    return [(chain, at) for chain, length in enumerate(lengths) for at in range(length)]


@all_lengths
def test_rows_go_by_time_step_and_then_from_long_to_short(lengths):
    layout = TimeMajor(lengths)
    tokens = [positions(lengths)[token] for token in layout.order]
    expected = sorted(positions(lengths), key=lambda p: (p[1], -lengths[p[0]], p[0]))
    assert tokens == expected
    assert layout.order[layout.row_of_token].tolist() == list(range(sum(lengths)))


@all_lengths
@pytest.mark.parametrize("spans", ["blocks", "runs"])
def test_predecessors_are_the_tokens_before_in_the_same_chain(lengths, spans):
    layout = TimeMajor(lengths)
    pairs = set()
    for begin, stop, before, before_stop in getattr(layout, spans):
        assert stop - begin == before_stop - before
        after = layout.order[begin:stop]
        pairs.update(zip(layout.order[before:before_stop].tolist(), after.tolist(), strict=True))
    inner = layout.inner_tokens.tolist()
    assert pairs == {(token - 1, token) for token in inner}
    assert inner == [i for i, (_, at) in enumerate(positions(lengths)) if at > 0]


@all_lengths
def test_first_and_last_tokens_of_chains(lengths):
    layout = TimeMajor(lengths)
    where = positions(lengths)
    for chain, first, last in zip(
        layout.chains, layout.first_tokens, layout.last_tokens, strict=True
    ):
        assert where[first] == (chain, 0)
        assert where[last] == (chain, lengths[chain] - 1)
    assert layout.order[layout.last_rows].tolist() == layout.last_tokens.tolist()


def test_chains_of_one_length_make_one_run():
    assert len(TimeMajor((9, 9, 9)).runs) == 1


def test_memory_is_linear_in_the_number_of_tokens():
    layout = time_major((5000, *[1] * 5000))
    arrays = [value for value in vars(layout).values() if isinstance(value, np.ndarray)]
    assert max(array.size for array in arrays) == 10000
