"""Find the files of a corpus in a folder, and account for those that are not read."""

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ..errors import Errors
from .problems import Problems

_N_EXAMPLES = 3


def walk(root: Path) -> Iterator[Path]:
    """Find all files below a folder, also behind links, which are common for shared copies. Hidden
    files and folders, whose names begin with a dot, are left out.

    root (Path): The folder. If it does not exist, there are no files.
    YIELDS (Path): The files, in the order of their names within each folder.
    RAISES (ValueError): If a link leads nowhere or to a folder that contains it, or if there is a
        pipe, socket or device, from which reading could wait forever.
    """
    for folder, subfolders, names in os.walk(root, followlinks=True):
        subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
        for name in subfolders:
            path = Path(folder, name)
            if path.is_symlink() and any(path.samefile(above) for above in path.parents):
                raise ValueError(Errors.P162.format(path=path, what="a link to a folder above it"))
        for name in sorted(names):
            path = Path(folder, name)
            if name.startswith("."):
                continue
            if not path.is_file():
                what = "a link to nothing" if path.is_symlink() else "a pipe, socket or device"
                raise ValueError(Errors.P162.format(path=path, what=what))
            yield path


def check_files(folder: Path) -> None:
    """Check that reading the files in a folder cannot wait forever.

    folder (Path): The folder. If it does not exist, nothing happens.
    RAISES (ValueError): As `walk`.
    """
    for _ in walk(folder):
        pass


def note_unread(
    root: Path, read: Iterable[Path], problems: Problems, is_document: Callable[[Path], bool]
) -> None:
    """Note which files below a folder are not read.

    root (Path): The folder.
    read (Iterable[Path]): The files that are read.
    problems (Problems): Takes the notes: the number of files, and examples.
    is_document (Callable[[Path], bool]): Whether a file is of a kind that can be read, so that it
        is an option, or another version of the file, that leaves it out.
    """
    unread = sorted(set(walk(root)) - set(read))
    documents = [path for path in unread if is_document(path)]
    others = [path for path in unread if not is_document(path)]
    for what, paths in (("documents", documents), ("other files", others)):
        if paths:
            names = [str(path.relative_to(root)) for path in paths[:_N_EXAMPLES]]
            names += ["…"] * (len(paths) > _N_EXAMPLES)
            problems.note(f"{what} in {root} that are not read ({', '.join(names)})", len(paths))
