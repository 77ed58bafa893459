"""What fusion layers have learnt: the weights α and λ, and how far they look.

    python -m benchmarks.fusion training/psa/model-best … --data corpus/conll2000/dev.spacy

For each fusion layer (Wei et al. 2021): α, what share of the positional bias is the Gaussian one
(equation 4); the mean of λ, how much of a token's own features its output keeps (equation 13), and
its standard deviation over tokens and features; how far from a token its attention goes, on
average; and among how many tokens it is spread (the exponential of its entropy). Means over all
tokens of the data.
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

from spacy_psa.analysis.recording import labeler_networks
from spacy_psa.layers import inspecting
from spacy_psa.layers.inspection import Inspection

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
    """Look, and write `fusion.json` and `fusion.md`."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("pipelines", nargs="+", type=Path, help="trained pipelines")
    parser.add_argument("--names", nargs="+", help="what to call them; else their folders")
    parser.add_argument("--data", type=Path, required=True, help="file of Docs")
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
    """Average over the tokens of documents.

    pipe (TrainablePipe): A trained component.
    docs (Sequence[Doc]): The documents.
    RETURNS (Dict[str, Dict[str, float]]): By the name of a fusion layer, the figures of `COLUMNS`.
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
    """Sums over the tokens of a batch: how many they are, λ, λ², distances, spreads."""
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
    """The results as a page.

    results (Dict[str, Any]): What was found.
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
        f"Means over the tokens of {results['data']}: the share α of the Gaussian bias; λ, how "
        "much a token keeps of its own, and its standard deviation over tokens and features; how "
        "many tokens away the attention is; and among how many it is spread."
    )
    return page(
        "Fusion layers",
        NAME,
        intro,
        table(["run", "layer", *(title for title, _ in COLUMNS.values())], rows),
    )


if __name__ == "__main__":
    main()
