"""The scorer of `psa_srl`, which computes the scores of the CoNLL-2005 evaluator."""

from collections.abc import Callable, Iterable
from itertools import accumulate
from typing import Any

from spacy.tokens import Doc
from spacy.training import Example

from ...annotation.alignment import same_tokens
from ...annotation.propositions import Frame, get_frames, has_frames
from ...annotation.role_scores import SRLResult


def srl_score(examples: Iterable[Example], **cfg: Any) -> dict[str, Any]:
    """Score the predictions of a `psa_srl` on documents with gold frames.

    If the predicted tokenization differs from the gold one, positions are compared by character.

    examples (Iterable[Example]): The examples.
    **cfg: Not used.
    RETURNS (Dict[str, Any]): `srl_p`, `srl_r`, `srl_f`, `srl_complete` (the share of perfect
        propositions) and `srl_per_role`; all None if nothing is annotated.
    """
    result = score_examples(examples)
    if not result.sentences:
        return dict.fromkeys(("srl_p", "srl_r", "srl_f", "srl_complete", "srl_per_role"))
    return {
        "srl_p": result.arguments.precision,
        "srl_r": result.arguments.recall,
        "srl_f": result.arguments.f1,
        "srl_complete": result.complete,
        "srl_per_role": {
            role: {"p": counts.precision, "r": counts.recall, "f": counts.f1}
            for role, counts in sorted(result.per_role.items())
        },
    }


def score_examples(examples: Iterable[Example]) -> SRLResult:
    """Score predictions by the rules of the evaluator; each Doc counts as one sentence. Examples
    without gold frames are skipped."""
    result = SRLResult()
    for example in examples:
        gold, predicted = example.reference, example.predicted
        if has_frames(gold):
            read = get_frames if same_tokens(example) else _by_characters
            result.add(read(gold), read(predicted))
    return result


def _by_characters(doc: Doc) -> list[Frame]:
    """Read frames with character offsets instead of token indices, not counting whitespace.
    Predicates and arguments that consist only of whitespace are left out.
    """
    lengths = (len("".join(token.text.split())) for token in doc)
    begins = list(accumulate(lengths, initial=0))
    return [
        Frame(
            begins[frame.predicate],
            frame.lemma,
            frame.sense,
            [
                (begins[start], begins[end], role)
                for start, end, role in frame.arguments
                if begins[start] < begins[end]
            ],
        )
        for frame in get_frames(doc)
        if begins[frame.predicate] < begins[frame.predicate + 1]
    ]


def make_srl_scorer() -> Callable[..., dict[str, Any]]:
    """Configure the scorer.

    RETURNS (Callable): `srl_score`.
    """
    return srl_score
