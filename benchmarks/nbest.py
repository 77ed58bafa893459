"""What the k best label sequences cost, in Viterbi's time: `python -m benchmarks.nbest`."""

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

import torch

from spacy_psa.inference import LinearChain, Potentials

from .machine import describe_machine
from .systems import RESULTS

SIZES = ((10, 25), (64, 25), (8, 512))  # sentences, tokens
LABELS = (9, 45, 73)
KS = (1, 2, 5, 10)


def main() -> None:
    """Measure, and write `benchmarks/results/nbest.json` and `nbest.md`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=9, help="repetitions of each timing")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results")
    arguments = parser.parse_args()
    cases = [
        {
            "sentences": n_sentences,
            "tokens": n_tokens,
            "labels": n_labels,
            "ratios": measure(n_sentences, n_tokens, n_labels, arguments.repeat),
        }
        for n_sentences, n_tokens in SIZES
        for n_labels in LABELS
    ]
    results = {"machine": describe_machine(), "repetitions": arguments.repeat, "cases": cases}
    arguments.output.mkdir(parents=True, exist_ok=True)
    text = json.dumps(results, indent=2) + "\n"
    (arguments.output / "nbest.json").write_text(text, encoding="utf8")
    markdown = to_markdown(results)
    (arguments.output / "nbest.md").write_text(markdown, encoding="utf8")
    print(markdown)


def measure(n_sentences: int, n_tokens: int, n_labels: int, repeat: int) -> dict[int, float]:
    """Time the k best sequences with their probabilities, in turn with the best one without.

    n_sentences (int): Sentences in the batch.
    n_tokens (int): Tokens in each sentence.
    n_labels (int): Number of labels.
    repeat (int): How often.
    RETURNS (Dict[int, float]): By k, how many times as long as Viterbi, as a ratio of medians.
    """
    generator = torch.Generator().manual_seed(0)
    potentials = Potentials(
        torch.randn(n_sentences * n_tokens, n_labels, generator=generator),
        (n_tokens,) * n_sentences,
        transitions=0.3 * torch.randn(n_labels, n_labels, generator=generator),
        start=torch.randn(n_labels, generator=generator),
        end=torch.randn(n_labels, generator=generator),
    )

    def search(k: int) -> None:
        chain = LinearChain(potentials)
        if k:
            chain.topk(k)
        else:
            _ = chain.argmax

    seconds: dict[int, list[float]] = {k: [] for k in (0, *KS)}
    for turn in range(repeat + 1):
        for k in seconds:
            start = time.process_time()
            search(k)
            if turn:  # the first is for warming up
                seconds[k].append(time.process_time() - start)
    medians = {k: statistics.median(times) for k, times in seconds.items()}
    return {k: round(medians[k] / medians[0], 2) for k in KS}


def to_markdown(results: dict[str, Any]) -> str:
    """The results as a page.

    results (Dict[str, Any]): What was measured.
    RETURNS (str): Markdown.
    """
    machine = results["machine"]
    lines = [
        "# The k best label sequences",
        "",
        "Written by `python -m benchmarks.nbest`: the time of `LinearChain.topk(k)`, which gives "
        "probabilities as well, in times of `argmax` (Viterbi) on the same random scores; medians "
        f"of {results['repetitions']} turns, {torch.get_num_threads()} thread(s), on "
        f"{machine['processor']}, PyTorch {machine['torch']}.",
        "",
        f"| sentences × tokens × labels | {' | '.join(f'k = {k}' for k in KS)} |",
        "| --- |" + " ---: |" * len(KS),
    ]
    for case in results["cases"]:
        size = f"{case['sentences']} × {case['tokens']} × {case['labels']}"
        cells = " | ".join(f"{ratio:.2f}" for ratio in case["ratios"].values())
        lines.append(f"| {size} | {cells} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
