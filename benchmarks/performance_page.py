"""Write `docs/performance.md` from what the benchmarks have measured.

python -m benchmarks.performance_page
"""

import argparse
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from . import components, crf, kernels, roofline, scaling, startup
from .report import describe, result_name, table
from .systems import RESULTS, ROOT

PAGE = ROOT / "docs" / "performance.md"
COMMAND = "python -m benchmarks --data corpus/conll2000 --vectors vectors/en"
INTRO = f"""# Performance

How fast spacy-psa is beside others, and beside what a machine could do. Written by \
`python -m benchmarks.performance_page` from the files in \
[benchmarks/results](../benchmarks/results); figures that are compared were measured in turns \
(A B A B …) in one process, and are medians.

## How to measure

```bash
OMP_NUM_THREADS=2 {COMMAND}
```

measures everything and writes this page anew; `--only kernels crf` measures some, `--quick` shows \
in a few minutes that everything runs, `--device cuda` measures on a GPU. `--data` is a folder \
with `train.spacy` and `test.spacy`, as `psa convert` writes them; without it, whole components \
are left out, and without `--runs FOLDER` (trained pipelines) so is reduced precision. Peers that \
are not installed are left out; `pip install -e '.[peers]'` gets all of them but NCRF++, whose \
checkout `PYTHONPATH=path/to/NCRFpp` makes available. The clock is one on the wall, for a machine \
that does nothing else: there, PyTorch's threads spin while they wait, which is fastest. Where \
something else runs that is slow; `OMP_WAIT_POLICY=PASSIVE` lets them sleep, and \
`--clock processor` counts the time of all threads."""
NOT_MEASURED = "Not measured yet: run `python -m benchmarks --only {name}`."
NO_GPU = "Not measured yet: run `python -m benchmarks --device cuda`."


class Section(NamedTuple):
    """A section of the page.

    title (str): Its heading.
    name (str): The script whose results it shows.
    tables (Callable[[Dict[str, Any]], List[str]]): Makes its lines from them.
    """

    title: str
    name: str
    tables: Callable[[dict[str, Any]], list[str]]


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder with the results")
    parser.add_argument("--page", type=Path, default=PAGE, help="where to write")
    arguments = parser.parse_args()
    text = make_page(arguments.results, arguments.page.absolute().parent)
    arguments.page.write_text(text, encoding="utf8")


def make_page(results: Path, place: Path) -> str:
    """Make the page.

    results (Path): The folder with the results.
    place (Path): The folder of the page, from which links go out.
    RETURNS (str): Markdown.
    """
    lines = [INTRO]
    for section in SECTIONS:
        lines += ["", f"## {section.title}", ""]
        shown = show(section, "cpu", results, place)
        lines += shown or [NOT_MEASURED.format(name=section.name)]
    lines += ["", "## GPU", ""]
    on_gpu = []
    for section in SECTIONS:
        shown = show(section, "cuda", results, place)
        on_gpu += ["", f"### {section.title} (GPU)", "", *shown] if shown else []
    return "\n".join(lines + (on_gpu[1:] or [NO_GPU])) + "\n"


def show(section: Section, device: str, results: Path, place: Path) -> list[str]:
    """RETURNS (List[str]): The lines of a section; none if there are no results for a device."""
    name = result_name(section.name, device)
    path = results / f"{name}.json"
    if not path.is_file():
        return []
    found = json.loads(path.read_text(encoding="utf8"))
    lines = [
        f"{_measured(found)} All figures: [{name}.md]({_link(results / f'{name}.md', place)})."
    ]
    lines += section.tables(found)
    image = results / f"{name}.svg"
    if image.is_file():
        lines += ["", f"![{section.title}]({_link(image, place)})"]
    return lines


def _measured(results: dict[str, Any]) -> str:
    # Some scripts have no choice of a clock
    return describe({"clock": "processor", **results})


def _link(path: Path, place: Path) -> str:
    return Path(os.path.relpath(path, place)).as_posix()


def reduced_precision(results: dict[str, Any]) -> list[str]:
    """RETURNS (List[str]): How much faster reduced precision is, and what it costs."""
    rows = []
    for system, found in results["systems"].items():
        sizes = found["model bytes"]
        rows.append(
            [
                system,
                f"{found['speed']:.2f}",
                f"{found['speed one by one']:.2f}",
                f"{found['F1']['reduced'] - found['F1']['full']:+.3f}",
                f"{sizes['reduced'] / sizes['full']:.2f}",
            ]
        )
    header = ["system", "speed", "one document at a time", "change of F1", "size of the model"]
    intro = f"Tagging in {results['precision']} beside float32 (more is faster):"
    return ["", intro, *table(header, rows)]


SECTIONS = (
    Section("The floor", "roofline", roofline.tables),
    Section("Layers", "kernels", kernels.tables),
    Section("Sums over label sequences", "crf", crf.tables),
    Section("Whole components", "components", components.tables),
    Section("Whole components, 300 units", "components-300", components.tables),
    Section("Reduced precision", "quantization", reduced_precision),
    Section("Whole components, reduced precision", "components-bf16", components.tables),
    Section("What size costs, and memory", "scaling", scaling.tables),
    Section("Start-up", "startup", startup.tables),
)


if __name__ == "__main__":
    main()
