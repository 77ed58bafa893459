"""What fusion layers have learned: the weights α and λ, and the reach of their attention.

    python -m benchmarks.fusion training/psa/model-best … --data corpus/conll2000/dev.spacy

Reports the following for each fusion layer (Wei et al. 2021), as means over all tokens of the data:

- α, the share of the Gaussian bias in the positional bias (equation 4),
- λ, the share of its own features that a token keeps (equation 13), and its standard deviation over
  tokens and features,
- the expected distance of the attention from the token,
- the perplexity of the attention (the exponential of its entropy), as the number of tokens it is
  spread over.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import spacy
import torch
from spacy.tokens import Doc, DocBin
from torch import Tensor
from tqdm import tqdm

from spacy_psa.analysis.activations import Inspection, inspecting, labeler_networks

from .machine import describe_machine
from .report import page, table, write
from .systems import RESULTS

NAME = "fusion"
BATCH = 64
COLUMNS = {
    "alpha": ("α", ".2f"),
    "gate": ("λ", ".2f"),
    "gate deviation": ("deviation of λ", ".2f"),
    "distance": ("distance", ".1f"),
    "spread": ("spread", ".1f"),
}


def main() -> None:
    """Inspect the pipelines, and write `fusion.json` and `fusion.md`."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("pipelines", nargs="+", type=Path, help="trained pipelines")
    parser.add_argument("--names", nargs="+", help="their names; default: folder names")
    parser.add_argument("--data", type=Path, required=True, help="a .spacy file")
    parser.add_argument("--component", default="psa_tagger", help="name of the component")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results")
    arguments = parser.parse_args()
    names = arguments.names or [path.parent.name for path in arguments.pipelines]
    found = {}
    for name, path in zip(names, arguments.pipelines, strict=True):
        nlp = spacy.load(path)
        docs = list(DocBin().from_disk(arguments.data).get_docs(nlp.vocab))
        found[name] = look(nlp.get_pipe(arguments.component), docs)
    results = {
        "machine": describe_machine(),
        "device": "cpu",
        "data": "/".join(arguments.data.parts[-2:]),
        "pipelines": found,
    }
    write(arguments.output, NAME, results, to_markdown(results))


def look(pipe: Any, docs: Sequence[Doc]) -> dict[str, dict[str, float]]:
    """Compute the figures of all fusion layers, as means over the tokens of documents.

    pipe (TrainablePipe): A trained component.
    docs (Sequence[Doc]): The documents.
    RETURNS (Dict[str, Dict[str, float]]): The figures of `COLUMNS`, by name of fusion layer.
    """
    sums: dict[str, Tensor] = {}
    (network,) = labeler_networks(pipe.model)
    for start in tqdm(range(0, len(docs), BATCH), desc="batches"):
        with inspecting(network) as shown:
            pipe.predict(docs[start : start + BATCH])
        for name, figures in _figures(shown):
            sums[name] = sums.get(name, 0) + figures
    layers = dict(network.named_modules())
    found = {}
    for name, (n_tokens, gate, squared, distance, spread) in sums.items():
        alpha = getattr(layers[name].attention.bias, "alpha", None)
        mean = float(gate / n_tokens)
        found[name] = {
            **({} if alpha is None else {"alpha": round(alpha.item(), 3)}),
            "gate": round(mean, 3),
            "gate deviation": round(max(0.0, float(squared / n_tokens) - mean**2) ** 0.5, 3),
            "distance": round(float(distance / n_tokens), 2),
            "spread": round(float(spread / n_tokens), 2),
        }
    return found


def _figures(shown: Sequence[Inspection]) -> Iterator[tuple[str, Tensor]]:
    """Sums over the tokens of a batch: the number of tokens, λ, λ², distances, spreads."""
    for inspection in shown:
        if "gate" not in inspection.values or "attention" not in inspection.values:
            continue
        attention, gate = inspection.values["attention"].double(), inspection.values["gate"]
        order = torch.arange(attention.shape[-1])
        far = (order.unsqueeze(1) - order.unsqueeze(0)).abs()
        each = torch.stack(
            [
                torch.ones(attention.shape[:2]),
                gate.double().mean(2),
                gate.double().square().mean(2),
                (attention * far).sum(2),
                torch.special.entr(attention).sum(2).exp(),
            ],
            dim=2,
        )
        yield inspection.layer, inspection.mask.pack(each.double()).sum(0)


def to_markdown(results: dict[str, Any]) -> str:
    """Format the results as a page.

    results (Dict[str, Any]): The results.
    RETURNS (str): Markdown.
    """
    rows = [
        [
            name,
            layer,
            *(
                format(figures[key], decimals) if key in figures else "–"
                for key, (_, decimals) in COLUMNS.items()
            ),
        ]
        for name, layers in results["pipelines"].items()
        for layer, figures in layers.items()
    ]
    intro = (
        f"Means over the tokens of {results['data']}: α, the share of the Gaussian bias; λ, the "
        "share of its own features that a token keeps, and its standard deviation over tokens and "
        "features; the distance of the attention in tokens; and its spread, as the exponential of "
        "its entropy."
    )
    return page(
        "Fusion layers",
        NAME,
        intro,
        table(["run", "layer", *(title for title, _ in COLUMNS.values())], rows),
    )


if __name__ == "__main__":
    main()
