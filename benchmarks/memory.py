"""The memory measurements of `benchmarks.scaling`. Each case runs in its own process.

    python -m benchmarks.memory CASE FOLDER SIZE

FOLDER is a trained pipeline, if the case needs one.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import spacy
import torch
from spacy.tokens import Doc

from spacy_psa.acceleration import install
from spacy_psa.layers import SequenceMask, ops_for

from .limits_cases import (
    MARKS,
    MIB,
    SENTENCE,
    endless,
    grown_since,
    read_stream,
    running_text,
    tagger_of,
)
from .limits_cases import train as train_step
from .peak_memory import peak
from .synthetic import make_sentences
from .systems import ROOT
from .timing import DEVICES, use_device

ATTENTION_WIDTH = 300
Case = Callable[[str, int, str], dict[str, Any]]


def main() -> None:
    """Run a case, and print its results as JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("case", choices=list(CASES))
    parser.add_argument("folder", help="a trained pipeline")
    parser.add_argument("size", type=int, help="tokens")
    parser.add_argument("--device", choices=DEVICES, default="cpu")
    arguments = parser.parse_args()
    use_device(arguments.device, pipelines=True)
    print(json.dumps(CASES[arguments.case](arguments.folder, arguments.size, arguments.device)))


def in_child(case: str, folder: str, size: int, device: str) -> dict[str, Any]:
    """Run a case in its own process.

    case (str): A key of `CASES`.
    folder (str): A trained pipeline.
    size (int): The number of tokens.
    device (str): The device.
    RETURNS (Dict[str, Any]): The results.
    """
    command = [sys.executable, "-m", "benchmarks.memory", case, folder, str(size)]
    found = subprocess.run(
        [*command, "--device", device], check=True, stdout=subprocess.PIPE, cwd=ROOT, text=True
    )
    return json.loads(found.stdout.splitlines()[-1])


def used(device: str, before: float) -> float:
    """RETURNS (float): The peak memory in MiB: allocated on the GPU if that is the device;
    otherwise, of this process in excess of `before`.
    """
    if device == "cuda":
        return torch.cuda.max_memory_allocated() / MIB
    return grown_since(before)


def long_sentence(folder: str, size: int, device: str, *, whole: bool) -> dict[str, Any]:
    """Run one training step on one sentence.

    folder (str): A trained pipeline.
    size (int): The number of tokens in the sentence.
    device (str): The device.
    whole (bool): Whether the encoder reads the sentence as a whole instead of in windows.
    RETURNS (Dict[str, Any]): The memory used in MiB, including the pipeline.
    """
    words = running_text(sentences(), size)
    before = peak()
    nlp = spacy.load(folder)
    if whole:
        tagger_of(nlp).model.attrs["max_length"] = size
    train_step(nlp, Doc(nlp.vocab, words=words))
    return {"memory": used(device, before)}


def windows(folder: str, size: int, device: str) -> dict[str, Any]:
    """One sentence that the encoder reads in windows. See `long_sentence`."""
    return long_sentence(folder, size, device, whole=False)


def at_once(folder: str, size: int, device: str) -> dict[str, Any]:
    """One sentence that the encoder reads as a whole. See `long_sentence`."""
    return long_sentence(folder, size, device, whole=True)


def additive(folder: str, size: int, device: str) -> dict[str, Any]:
    """Additive attention over one sentence, forward and backward.

    folder (str): Unused.
    size (int): The number of tokens in the sentence.
    device (str): The device.
    RETURNS (Dict[str, Any]): The memory used in MiB.
    """
    before = peak()
    shape = (1, size, ATTENTION_WIDTH)
    queries, keys = (torch.randn(shape, device=device, requires_grad=True) for _ in range(2))
    weight = torch.randn(ATTENTION_WIDTH, device=device, requires_grad=True)
    mask = SequenceMask(torch.tensor([size], device=device), size)
    install()
    scores = ops_for(queries).additive_scores(queries, keys, weight, mask)
    scores.softmax(2).square().sum().backward()
    return {"memory": used(device, before)}


def stream(folder: str, size: int, device: str) -> dict[str, Any]:
    """Tag a corpus with `nlp.pipe`.

    folder (str): A trained pipeline.
    size (int): The number of tokens to tag.
    device (str): The device.
    RETURNS (Dict[str, Any]): The peak resident set size after each tenth of the tokens, in MiB.
    """
    nlp = spacy.load(folder)
    texts: Iterator[list[str]] = endless(sentences(), False)
    marks = read_stream(nlp, texts, size, zones=False)
    return {"tokens": [size * (i + 1) // MARKS for i in range(MARKS)], "memory": marks}


def sentences() -> list[list[str]]:
    """RETURNS (List[List[str]]): Synthetic sentences."""
    return make_sentences([SENTENCE] * 400)


CASES: dict[str, Case] = {
    "windows": windows,
    "at once": at_once,
    "additive": additive,
    "stream": stream,
}


if __name__ == "__main__":
    main()
