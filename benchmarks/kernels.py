"""Speed of the most expensive layers, compared with their usual implementations.

    OMP_NUM_THREADS=2 python -m benchmarks.kernels

- Additive attention, forward and backward, compared with tanh over all pairs by broadcasting.
- Our BiLSTM, forward and backward, compared with PyTorch's bidirectional `nn.LSTM`, packed and
  padded, on batches of sentences with lengths as in CoNLL-2000. The padded LSTM only serves to
  compare speed: its output is wrong, since the backward direction reads padding.
- The character BiLSTM on a few words in prediction, compared with PyTorch's packed LSTM.

All runs are interleaved (A B A B …) in one process. A figure is the time of the peer divided by
ours, as the ratio of medians.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from spacy_psa.acceleration import install
from spacy_psa.figures.charts import line_plot
from spacy_psa.figures.images import stack
from spacy_psa.layers import BiLSTM
from spacy_psa.layers.mask import SequenceMask

from .kernels_attention import attention_case, attention_tables
from .kernels_characters import WORDS, characters, characters_table
from .kernels_timing import Sides, timed
from .report import describe, describe_run, make_parser, page, table, write
from .synthetic import sentence_lengths
from .timing import Clock, make_clock, use_device

NAME = "kernels"
INPUT_WIDTH = 200
N_BATCHES = 4


def main() -> None:
    """Run the benchmark, and write `kernels.json`, `kernels.md` and `kernels.svg`."""
    parser = make_parser(__doc__, repeat=7)
    parser.add_argument("--widths", nargs="+", type=int, default=[200, 300, 600], help="d")
    parser.add_argument("--lengths", nargs="+", type=int, default=[25, 100, 300], help="n")
    parser.add_argument("--batches", nargs="+", type=int, default=[10, 32, 64], help="batch sizes")
    parser.add_argument("--hidden", nargs="+", type=int, default=[300, 600], help="both directions")
    parser.add_argument("--words", nargs="+", type=int, default=list(WORDS), help="batch sizes")
    arguments = parser.parse_args()
    use_device(arguments.device, pipelines=False)
    clock = make_clock(arguments.clock, arguments.device)
    device, repeat = torch.device(arguments.device), arguments.repeat
    results: dict[str, Any] = {
        **describe_run(arguments),
        "attention": [
            attention_case(width, n, device, repeat, clock)
            for width in arguments.widths
            for n in arguments.lengths
        ],
        "bilstm": [
            bilstm_case(hidden, size, device, repeat, clock)
            for hidden in arguments.hidden
            for size in arguments.batches
        ],
        "characters": [
            characters_case(n_words, device, repeat, clock) for n_words in arguments.words
        ],
    }
    write(arguments.output, NAME, results, to_markdown(results), draw(results))


def bilstm_case(
    hidden: int, size: int, device: torch.device, repeat: int, clock: Clock
) -> dict[str, Any]:
    """Time a BiLSTM on a few batches.

    hidden (int): The width of both directions together.
    size (int): The number of sentences per batch.
    device (torch.device): The device.
    repeat (int): The number of repetitions.
    clock (Callable[[], float]): The clock.
    RETURNS (Dict[str, Any]): The milliseconds of each implementation, the share of padding, and our
        speed relative to the peers.
    """
    lengths = sentence_lengths(size * N_BATCHES)
    batches = [lengths[i : i + size] for i in range(0, len(lengths), size)]
    sides = bilstms(hidden, batches, device)
    milliseconds = timed(sides, repeat, clock, f"BiLSTM, {hidden}, {size}")
    speed = {peer: round(milliseconds[peer] / milliseconds["ours"], 2) for peer in PEERS}
    case = {"hidden": hidden, "sentences": size, "milliseconds": milliseconds}
    positions = sum(len(batch) * max(batch) for batch in batches)
    return {**case, "padding": round(1 - sum(lengths) / positions, 3), "speed": speed}


PEERS = ("packed", "padded")


def bilstms(hidden: int, batches: list[list[int]], device: torch.device) -> Sides:
    """Make our BiLSTM and PyTorch's, with the same parameters. Each returns its output and the
    gradient of its input for each batch.

    hidden (int): The width of both directions together.
    batches (List[List[int]]): The lengths of the sentences in each batch.
    device (torch.device): The device.
    RETURNS (Dict[str, Callable]): The implementations, by name.
    """
    install()
    torch.manual_seed(0)
    ours = BiLSTM(INPUT_WIDTH, hidden_width=hidden, input_dropout=0.0, output_dropout=0.0)
    ours = ours.to(device).train()
    theirs = nn.LSTM(INPUT_WIDTH, hidden // 2, batch_first=True, bidirectional=True).to(device)
    for end, direction in (("", ours.forwards[0]), ("_reverse", ours.backwards[0])):
        for name, parameter in direction.named_parameters():
            theirs.get_parameter(name + end).data.copy_(parameter.data)
    inputs = [torch.randn(len(batch), max(batch), INPUT_WIDTH).to(device) for batch in batches]

    def our_output(x: Tensor, lengths: list[int]) -> Tensor:
        return ours(x, SequenceMask(torch.tensor(lengths, device=device), x.shape[1]))

    def packed(x: Tensor, lengths: list[int]) -> Tensor:
        sequence = pack_padded_sequence(
            x, torch.tensor(lengths), batch_first=True, enforce_sorted=False
        )
        return pad_packed_sequence(theirs(sequence)[0], batch_first=True)[0]

    def padded(x: Tensor, lengths: list[int]) -> Tensor:
        return theirs(x)[0]

    def train(network: nn.Module, run: Callable[[Tensor, list[int]], Tensor]) -> Any:
        found = []
        for x, lengths in zip(inputs, batches, strict=True):
            network.zero_grad()
            leaf = x.detach().requires_grad_()
            output = run(leaf, lengths)
            real = torch.arange(x.shape[1]) < torch.tensor(lengths).unsqueeze(1)
            (output * real.unsqueeze(2).to(output)).sum().backward()
            found.append((output.detach(), leaf.grad, real))
        return found

    return {
        "ours": lambda: train(ours, our_output),
        "packed": lambda: train(theirs, packed),
        "padded": lambda: train(theirs, padded),
    }


def characters_case(
    n_words: int, device: torch.device, repeat: int, clock: Clock
) -> dict[str, Any]:
    """Time the character BiLSTM.

    n_words (int): The number of words per batch.
    device (torch.device): The device.
    repeat (int): The number of repetitions.
    clock (Callable[[], float]): The clock.
    RETURNS (Dict[str, Any]): The milliseconds of both implementations, and their ratio.
    """
    milliseconds = timed(characters(n_words, device), repeat, clock, f"characters, {n_words}")
    speed = round(milliseconds["packed"] / milliseconds["ours"], 2)
    return {"words": n_words, "milliseconds": milliseconds, "speed": speed}


def to_markdown(results: dict[str, Any]) -> str:
    """Format the results as a page.

    results (Dict[str, Any]): The results.
    RETURNS (str): Markdown.
    """
    return page("Layers", NAME, describe(results), tables(results))


def tables(results: dict[str, Any]) -> list[str]:
    """RETURNS (List[str]): A description of the figures, and the tables."""
    lines = attention_tables(results["attention"])
    lines += ["", "BiLSTM in training, forward and backward: speed relative to PyTorch's LSTM on"]
    lines[-1] += (
        " the same sentences, packed and padded. The output of the padded LSTM is wrong, since its "
        "backward direction starts in the padding."
    )
    header = ["width, both directions", "sentences per batch", "padding", *PEERS]
    rows_of_bilstm = [
        [
            str(case["hidden"]),
            str(case["sentences"]),
            f"{case['padding']:.0%}",
            *(f"{case['speed'][peer]:.2f}" for peer in PEERS),
        ]
        for case in results["bilstm"]
    ]
    lines += table(header, rows_of_bilstm)
    return lines + characters_table(results["characters"])


def draw(results: dict[str, Any]) -> str:
    """RETURNS (str): Plots of the ratios, as SVG."""
    attention: dict[str, list[tuple[float, float]]] = {}
    for case in results["attention"]:
        attention.setdefault(f"d = {case['width']}", []).append((case["tokens"], case["speed"]))
    lstm: dict[str, list[tuple[float, float]]] = {}
    for case in results["bilstm"]:
        for peer in PEERS:
            name = f"{case['hidden']} wide, {peer}"
            lstm.setdefault(name, []).append((case["sentences"], case["speed"][peer]))
    label = "speedup"
    return stack(
        [
            line_plot(attention, "tokens", label, "Additive attention", y_range=(0, 1)),
            line_plot(lstm, "sentences per batch", label, "BiLSTM in training", y_range=(0, 1)),
        ]
    )


if __name__ == "__main__":
    main()
