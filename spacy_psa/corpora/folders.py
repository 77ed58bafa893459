"""Account for the files of a folder that are not read."""

from collections.abc import Callable, Iterable
from pathlib import Path

from ..disk import walk
from .problems import Problems

_N_EXAMPLES = 3


def note_unread(
    root: Path, read: Iterable[Path], problems: Problems, is_document: Callable[[Path], bool]
) -> None:
    """Note which files below a folder are not read."""
    unread = sorted(set(walk(root)) - set(read))
    documents = [path for path in unread if is_document(path)]
    others = [path for path in unread if not is_document(path)]
    for what, paths in (("documents", documents), ("other files", others)):
        if paths:
            names = [str(path.relative_to(root)) for path in paths[:_N_EXAMPLES]]
            names += ["…"] * (len(paths) > _N_EXAMPLES)
            problems.note(f"{what} in {root} that are not read ({', '.join(names)})", len(paths))
