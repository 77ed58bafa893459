"""The page about mutants, built from the results and the reasons why some mutants survive."""

from __future__ import annotations

import json
from math import sqrt
from pathlib import Path
from typing import Any

REASONS = Path(__file__).parent / "reasons.json"
HEAD = """# Mutants

Written by `make mutation` (`python -m tests.mutation.run`): what the tests notice.
[cosmic-ray](https://github.com/sixty-north/cosmic-ray) changes one place of the code, such as `<`
to `<=`, `+` to `-`, 1 to 2, or takes a decorator away; then the tests of the package are run,
with as many examples of property tests as in CI. A mutant that fails a test, ends with an error
or needs several times the time is killed. Of all mutants of code a random sample is tried;
changes of type hints are no change of code.

*At first* is with the tests as they were when the sample was drawn. What survived was looked at:
some are *equivalent*, no test can tell them from the code; for others there are tests now, or a
reason below why there is none. The range is the 95 % interval for all mutants of the package with
the tests at first, equivalent ones counted as survivors. The score now is of the sample alone,
for which tests were written, and says less about the rest.
"""


def write_page(path: Path, results: dict[str, Any]) -> None:
    """Write the page."""
    path.write_text(page(results, reasons()), encoding="utf8")


def reasons() -> list[dict[str, Any]]:
    """The known reasons why mutants survive."""
    return json.loads(REASONS.read_text(encoding="utf8"))


def page(results: dict[str, Any], known: list[dict[str, Any]]) -> str:
    """Build the text of the page."""
    header = (
        "| package | mutants | tried | killed at first | range | killed now | equivalent | score |"
    )
    lines = [HEAD, header, "| --- |" + " ---: |" * 7]
    for package, found in sorted(results.items()):
        equivalent = sum(_equivalent(mutant, known) for mutant in found["survivors"])
        tried, first = found["tried"], found["killed_first"]
        score = _percentage(found["killed"], tried - equivalent)
        low, high = interval(first, tried)
        lines.append(
            f"| `{package}` | {found['possible']:,} | {tried} "
            f"| {first} ({_percentage(first, tried)}) | {100 * low:.0f}–{100 * high:.0f} % "
            f"| {found['killed']} | {equivalent} | {score} |"
        )
    lines += ["", "*Score* is what is killed now of those that are not equivalent."]
    for package, found in sorted(results.items()):
        lines += ["", f"## What survives in `{package}`", ""]
        order = sorted(found["survivors"], key=lambda m: (m["module"], m["before"], m["after"]))
        lines += [_line(mutant, known) for mutant in order] or ["Nothing."]
    return "\n".join(lines) + "\n"


def interval(successes: int, trials: int) -> tuple[float, float]:
    """Estimate the range of a proportion.

    SOURCE: Wilson (1927), 'Probable inference, the law of succession, and statistical inference'.
    """
    z = 1.959964
    share, n = successes / trials, trials
    middle = share + z * z / (2 * n)
    spread = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    low, high = ((middle + sign * spread) / (1 + z * z / n) for sign in (-1, 1))
    return max(low, 0.0), min(high, 1.0)


def reason_for(mutant: dict[str, Any], known: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Look up why a mutant survives."""
    keys = ("module", "before", "after")
    return next((r for r in known if all(r[key] == mutant[key] for key in keys)), None)


def _equivalent(mutant: dict[str, Any], known: list[dict[str, Any]]) -> bool:
    reason = reason_for(mutant, known)
    return reason is not None and reason["equivalent"]


def _line(mutant: dict[str, Any], known: list[dict[str, Any]]) -> str:
    reason = reason_for(mutant, known)
    name = Path(mutant["module"]).name
    where = f"`{name}`, `{mutant['function']}`" if mutant["function"] else f"`{name}`"
    before, after = (" ".join(mutant[key].split()) for key in ("before", "after"))
    change = f"`{before}` → `{after}`" if after else f"without `{before}`"
    if reason is None:
        return f"* {where}: {change}. Not looked at."
    kind = "Equivalent" if reason["equivalent"] else "Not tested"
    return f"* {where}: {change}. {kind}: {reason['reason']}"


def _percentage(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "-"
