"""Plan which files a conversion reads and writes: single files, folders, or all merged."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..corpora.conll2005 import find_pairs
from ..corpora.detection import Detection, detect
from ..corpora.formats import FORMATS, Format, get_format
from ..corpora.ontonotes import ANNOTATIONS
from ..corpora.problems import Problems
from ..corpora.sections import note_unread
from ..disk import walk
from ..errors import Errors

SECTION = re.compile(r"[._-]?\d+$")


@dataclass(frozen=True)
class Conversion:
    """One output and its inputs.

    inputs (List[Path]): The paths to read, in order.
    output (Path): The .spacy file.
    """

    inputs: list[Path]
    output: Path


def find_format(inputs: Sequence[Path], name: str | None, targets: Sequence[str] = ()) -> Detection:
    """Determine the format of the inputs."""
    if name:
        return Detection(get_format(name), {}, "")
    first = inputs[0]
    if not first.is_dir():
        return detect(first, targets)
    files = sorted(walk(first))
    for file_ in files:
        for form in FORMATS.values():
            # Of formats with the same extensions, prefer one that reads folders.
            if form.owns(file_) and form.takes_folder and not _stands_alone(file_):
                return Detection(form, {}, f"Found {form.name}, by the names of the files")
    owned = [f for f in files if any(form.owns(f) for form in FORMATS.values())]
    if not files:
        raise ValueError(Errors.P149.format(path=first, kind="files"))
    # A corpus of another format may come with a description of itself in JSON.
    owned.sort(key=lambda file_: ".json" in file_.suffixes)
    return detect(next(iter(owned or files)), targets)


def check_alike(first: Detection, paths: Sequence[Path], targets: Sequence[str]) -> None:
    """Check that all files have the columns that the first one was found to have."""
    for path in paths[1:]:
        other = detect(path, targets)
        if not first.reads(other):
            raise ValueError(
                Errors.P184.format(
                    path=path, first=paths[0], found=other.found, first_found=first.found
                )
            )


def plan(
    inputs: Sequence[Path], output: Path, form: Format, *, merge: bool = False
) -> list[Conversion]:
    """Pair inputs with outputs."""
    inputs = _distinct(inputs, form)
    one_output = output.suffix == ".spacy" and not output.is_dir()
    if one_output and (merge or len(inputs) == 1):
        # A reader that takes folders knows which files belong together.
        whole = [[p] if form.takes_folder else [f for f, _ in _files(p, form)] for p in inputs]
        files = [path for paths in whole for path in paths]
        n_parts = 1 if merge else _n_parts(inputs[0], form)
        if n_parts > 1:
            raise ValueError(Errors.P148.format(n=n_parts, output=output))
        if merge or len(files) == 1:
            return [Conversion(files, output)]
    elif merge or (len(inputs) == 1 and not inputs[0].is_dir()):
        raise ValueError(Errors.P120.format(path=output))
    pairs = [pair for path in inputs for pair in _files(path, form)]
    if one_output:
        raise ValueError(Errors.P148.format(n=len(pairs), output=output))
    taken: dict[Path, Path] = {}
    for path, relative in pairs:
        target = output / relative.with_name(_stem(relative, form) + ".spacy")
        if target in taken:
            raise ValueError(Errors.P132.format(first=taken[target], second=path, output=target))
        taken[target] = path
    return [Conversion([path], target) for target, path in taken.items()]


def note_unread_inputs(
    inputs: Sequence[Path], conversions: Sequence[Conversion], form: Format, problems: Problems
) -> None:
    """Note which files in the input folders are not read. Readers that take folders do so for each
    folder that they get.
    """
    read = {path for conversion in conversions for path in conversion.inputs}
    if form.name == "conll2005":
        read |= {path for file_ in read for pair in find_pairs(file_) for path in pair if path}
    for folder in inputs:
        if folder.is_dir() and folder not in read:
            note_unread(folder, read, problems, form.owns)


def note_repeated(paths: Sequence[Path], problems: Problems) -> None:
    """Note the files that are read again, such as those with a link beside them."""
    seen: dict[Path, Path] = {}
    for path in paths:
        place = path.resolve()
        if place in seen:
            problems.note("files read again", first=f"{path}, which is {seen[place]}")
        seen.setdefault(place, path)


def _files(path: Path, form: Format) -> list[tuple[Path, Path]]:
    """The files of an input, each with its relative path."""
    if not path.is_dir():
        return [(path, Path(path.name))]
    files = [file_ for file_ in sorted(walk(path)) if not form.endings or form.owns(file_)]
    if not files:
        kind = f"files ending in {' or '.join(form.endings)}" if form.endings else "files"
        raise ValueError(Errors.P149.format(path=path, kind=kind))
    if form.takes_folder:
        # Some formats have each sentence twice (.mrg, .pos) or in two parts (.props, .words).
        ranked = sorted(files, key=lambda file_: _rank(file_, form))
        firsts = {file_.with_name(_stem(file_, form)): file_ for file_ in reversed(ranked)}
        files = sorted(firsts.values())
    return [(file_, file_.relative_to(path)) for file_ in files]


def _distinct(inputs: Sequence[Path], form: Format) -> list[Path]:
    """Leave out files that are read with another one (.words, .props) or have its sentences again
    (.mrg, .pos), as in folders."""
    if not form.takes_folder:
        return list(inputs)
    chosen: dict[object, Path] = {}
    for path in inputs:
        key = _sentences_of(path, form)
        other = chosen.setdefault(key, path)
        if form.owns(path) and _rank(path, form) < _rank(other, form):
            chosen[key] = path
    return list(chosen.values())


def _sentences_of(path: Path, form: Format) -> object:
    """What files with the same sentences have in common."""
    if path.is_dir() or not form.owns(path):
        return path
    if form.name == "conll2005":
        return tuple(find_pairs(path))
    return path.with_name(_stem(path, form))


def _n_parts(path: Path, form: Format) -> int:
    """How many parts of a corpus, such as train and dev, a reader would read from a folder."""
    # The other formats select a part with an option
    if not path.is_dir() or not form.takes_folder or "split" in form.options:
        return 1

    # Sections such as train.02 and train.03 belong to one part
    return len({SECTION.sub("", _stem(pair.words, form)) for pair in find_pairs(path)})


def _rank(path: Path, form: Format) -> int:
    """The index of a file's extension among those of its format."""
    name = path.name.removesuffix(".gz")
    return next(i for i, ending in enumerate(form.endings) if name.endswith(ending))


def _stands_alone(path: Path) -> bool:
    """Whether a file such as `train.gold_conll` is a corpus rather than a document of OntoNotes."""
    return path.name.removesuffix(".gz").endswith(".gold_conll") and ANNOTATIONS not in path.parts


def _stem(path: Path, form: Format) -> str:
    """The name of a file without the extension of its format."""
    name = path.name.removesuffix(".gz")
    for ending in form.endings:
        if name.endswith(ending) and name != ending:
            return name.removesuffix(ending).rstrip("._") or name
    return Path(name).stem
