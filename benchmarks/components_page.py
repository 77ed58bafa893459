"""The page of `benchmarks.components`."""

from typing import Any

from spacy_psa.acceleration.reduced_precision import FULL
from spacy_psa.figures.charts import bar_plot

from .report import describe, page, table
from .toolkits import TOOLKITS

NAME = "components"
HIDDEN = 600  # width of the toolkits' usual network
PEERS: tuple[str, ...] = ("tagger", "ner")


def to_markdown(results: dict[str, Any]) -> str:
    """Format the results as a page.

    results (Dict[str, Any]): The results.
    RETURNS (str): Markdown.
    """
    hidden, precision = results["hidden"], results.get("precision", FULL)
    script = NAME if hidden == HIDDEN else f"{NAME} --hidden {hidden}"
    script += "" if precision == FULL else f" --precision {precision}"
    return page("Whole components", script, describe(results), tables(results))


def tables(results: dict[str, Any]) -> list[str]:
    """RETURNS (List[str]): A description of the figures, and a table for each peer."""
    labels = results.get("labels")
    learnt = f", relabeled with {labels} tags (`--labels`)" if labels else ""
    precision = results.get("precision", FULL)
    reduced = ""
    if precision != FULL:
        reduced = (
            f" With '{precision}', our systems are trained in mixed precision, and tag as after "
            "`psa quantize`."
        )
    lines = [
        "",
        f"Sentences per second relative to the peer of each table (higher is faster), on the same "
        f"{results['sentences']} sentences of CoNLL-2000{learnt}. The BiLSTM of `bilstm-crf`, "
        f"`bilstm-softmax` and `psa` has {results['hidden']} units, both directions together."
        f"{reduced}",
    ]
    for peer, figures in results["relative to"].items():
        lines += ["", f"**{_name(peer, results)} = 1**"]
        rows = [
            [_name(name, results), *(f"{figures[what][name]:.2f}" for what in figures)]
            for name in next(iter(figures.values()))
        ]
        lines += table(["system", *figures], rows)
    if results.get("device") == "cuda":
        lines += throughput(results)
    if products := results.get("products"):
        lines += [
            "",
            "The share of the time that matrix multiplications and LSTMs take alone, timed one at "
            "a time at their shapes, with inputs in the cache. If everything else took no time, a "
            "system would be 1 / share times as fast:",
        ]
        shares = [
            [name, *(f"{products[what][name]:.2f}" for what in products)]
            for name in next(iter(products.values()))
        ]
        lines += table(["system", *products], shares)
    lines += [
        "",
        "The share of tagging time that is spent outside the component's `predict`:",
    ]
    shares = [[name, f"{share:.1%}"] for name, share in results["overhead"].items()]
    return lines + table(["system", "share"], shares)


def throughput(results: dict[str, Any]) -> list[str]:
    """RETURNS (List[str]): A table of absolute speeds: of a GPU, whose time is its own."""
    figures = results["sentences per second"]
    per_token = results["tokens per sentence"]
    rows = []
    for name in next(iter(figures.values())):
        cells = [f"{figures[what][name]:,.0f}" for what in figures]
        pipe = next(what for what in figures if "pipe" in what)
        rows.append([_name(name, results), *cells, f"{per_token * figures[pipe][name]:,.0f}"])
    intro = f"Sentences per second, of {per_token} tokens on average, on this machine:"
    return ["", intro, *table(["system", *figures, "tokens per second, pipe"], rows)]


def _name(name: str, results: dict[str, Any]) -> str:
    if name in PEERS:
        return f"spaCy {name}"
    # A checkout has no version
    version = results["machine"].get(name) if name in TOOLKITS else None
    return f"{name} {version}" if version else name


def draw(results: dict[str, Any]) -> str:
    """RETURNS (str): A figure of the speeds relative to the first peer, as SVG."""
    peer, figures = next(iter(results["relative to"].items()))
    title = f"Whole components, spaCy's {peer} = 1"
    return bar_plot(figures, "component", "sentences per second, relative", title)
