"""The architecture, read from the source code: which module imports which, and what is unused."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib.metadata import requires
from pathlib import Path

import pytest

import spacy_psa

from .documentation import ROOT, entry_points

PACKAGE = ROOT / "spacy_psa"
FOLDERS = sorted(path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists())

NETWORKS = ["layers", "inference", "acceleration"]

# Which of our folders each folder may import from, besides itself and `errors`.
ALLOWED = {
    "layers": {"inference"},
    "inference": set(),
    "figures": set(),
    "acceleration": {"layers", "inference"},
    "annotation": {"inference"},
    "models": {"acceleration", "layers", "inference"},
    "training": {"annotation"},
    "corpora": {"annotation"},
    "analysis": {"pipeline", "models", "annotation", "layers", "inference", "training", "figures"},
    "evaluation": {"annotation", "pipeline", "figures"},
    "pipeline": {"models", "annotation", "layers", "inference", "training"},
    "calibration": {"pipeline", "models", "annotation", "inference", "figures"},
    "scale": {"annotation", "corpora", "pipeline"},
    "distillation": {"pipeline", "models", "annotation", "inference"},
    "reproduction": {"corpora", "evaluation", "figures"},
    "cli": {
        "calibration",
        "distillation",
        "figures",
        "evaluation",
        "reproduction",
        "analysis",
        "corpora",
        "pipeline",
        "models",
        "annotation",
        "scale",
        "training",
    },
}

# Modules of one name in several folders: the same thing as a definition and as a registered block
# or component, or for a model and for a pipeline.
SAME_MEANING = {"decoders", "deepatt", "labeler"}
# Modules of each component, and of what they share
OF_COMPONENTS = {"component", "decoder", "factory", "learner", "scorer", "settings"}


def modules(folder: Path = PACKAGE) -> list[Path]:
    """The Python files in a folder."""
    return sorted(folder.glob("**/*.py"))


@cache
def parsed(path: Path) -> ast.Module:
    """The syntax tree of a module, which many tests read."""
    return ast.parse(path.read_text(encoding="utf8"))


@cache
def imports(path: Path) -> frozenset[str]:
    """The absolute names of all modules imported anywhere in a module."""
    return frozenset(imported(path))


def imported(path: Path) -> Iterator[str]:
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def own_folders(path: Path) -> set[str]:
    """Our folders that a module imports from."""
    parts = [name.split(".") for name in imports(path)]
    return {p[1] for p in parts if p[0] == "spacy_psa" and len(p) > 1 and p[1] in FOLDERS}


@cache
def calls(path: Path) -> frozenset[str]:
    """The source code of everything that a module calls."""
    nodes = ast.walk(parsed(path))
    return frozenset(ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call))


def in_new_process(script: str) -> str:
    """Run a script in a new Python process, and return its output."""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_every_folder_has_its_place() -> None:
    assert set(FOLDERS) == set(ALLOWED)


@pytest.mark.parametrize("folder", NETWORKS)
def test_the_networks_know_nothing_of_spacy(folder: str) -> None:
    for path in modules(PACKAGE / folder):
        roots = {name.split(".")[0] for name in imports(path)}
        assert roots.isdisjoint({"spacy", "thinc", "srsly", "catalogue", "confection"}), path.name


def test_the_networks_are_usable_without_spacy() -> None:
    folders = ", ".join(f"spacy_psa.{folder}" for folder in NETWORKS)
    loaded = in_new_process(
        f"import sys, {folders}; print({{'spacy', 'thinc'}} & set(sys.modules))"
    )
    assert loaded == "set()"


def test_one_module_of_the_layers_chooses_by_device_gradient_and_precision() -> None:
    asked = re.compile(
        r"device\.type|is_cuda|is_grad_enabled|is_autocast|is_compiling|is_tracing|processor|mkldnn"
    )
    for path in modules(PACKAGE / "layers"):
        assert path.stem == "ops" or not asked.findall(path.read_text(encoding="utf8")), path


@pytest.mark.parametrize("folder", FOLDERS)
def test_imports_point_one_way(folder: str) -> None:
    wrong = {
        path.name: sorted(own_folders(path) - ALLOWED[folder] - {folder})
        for path in modules(PACKAGE / folder)
    }
    assert {name: found for name, found in wrong.items() if found} == {}


def test_allowed_imports_have_no_circle() -> None:
    left = dict(ALLOWED)
    while left:
        free = {folder for folder, below in left.items() if not below & set(left)}
        assert free, f"a circle among {sorted(left)}"
        left = {folder: below for folder, below in left.items() if folder not in free}


def test_modules_of_one_name_have_one_meaning() -> None:
    # A command's module has the name that users type, which is often that of what it shows
    counts = Counter(path.stem for path in modules() if path.parent.name != "cli")
    assert {name for name, n in counts.items() if n > 1} == {
        *SAME_MEANING,
        *OF_COMPONENTS,
        "__init__",
    }


def test_imports_are_relative_within_the_package() -> None:
    for path in modules():
        tree = parsed(path)
        for node in ast.walk(tree):
            absolute = isinstance(node, ast.ImportFrom) and not node.level and node.module
            assert not (absolute and absolute.startswith("spacy_psa")), f"{path}:{node.lineno}"


def test_importing_what_exports_names_imports_nothing_heavy() -> None:
    lazy = [name for name in spacy_psa.__all__[1:] if name not in ("layers", "inference", "apply")]
    loaded = in_new_process(
        f"import sys; from spacy_psa import {', '.join(lazy)}; print(sorted(m for m in sys.modules "
        "if m.split('.')[0] in ('torch', 'spacy', 'thinc', 'numpy') or m.startswith('spacy_psa.')))"
    )
    assert ast.literal_eval(loaded) == sorted(f"spacy_psa.{m}" for m in ["exports", *lazy])


def test_importing_the_package_imports_nothing() -> None:
    script = "import sys, spacy_psa; print([m for m in sys.modules if m.startswith('spacy_psa.')])"
    assert in_new_process(script) == "[]"


def test_importing_the_commands_does_not_import_torch() -> None:
    # spaCy imports our commands for any command. thinc imports torch itself if it is installed.
    script = (
        "import sys, spacy_psa.cli; print([m for m in sys.modules if m.startswith('spacy_psa.')])"
    )
    loaded = ast.literal_eval(in_new_process(script))
    folders = {name.split(".")[1] for name in loaded}
    assert not folders & {"layers", "inference", "models", "pipeline", "training", "calibration"}


def test_no_data_is_run_as_code() -> None:
    forbidden = {"cPickle", "dill", "joblib", "marshal", "shelve"}
    dangerous = re.compile(
        r"eval|exec|compile|__import__|torch\.(load|save|jit\.load|hub\..*)|os\.(system|popen)"
        r"|(srsly\.)?pickle_(loads|dumps)|(yaml|np|numpy)\.load|subprocess\..*"
    )
    for path in modules():
        names = imports(path)
        assert not [n for n in names if n.split(".")[0] in forbidden or "pickle" in n], path
        assert [call for call in calls(path) if dangerous.fullmatch(call)] == [], path


def test_no_shell_is_started() -> None:
    for path in modules():
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.keyword) and node.arg == "shell":
                raise AssertionError(f"{path}:{node.lineno}")
        assert "subprocess" not in imports(path), path


def test_private_names_of_others_are_in_one_module() -> None:
    private = re.compile(
        r"torch(\.\w+)*\._[a-z]|torch\.ops\.mkldnn|spacy\.cli\._util|_foreach_|\._func\b"
        r"|from torch[.\w]* import .*\b_[a-z]|shim\._(grad_scaler|mixed_precision)"
    )
    for path in modules():
        if path.name != "private_names.py":
            found = private.search(path.read_text(encoding="utf8"))
            assert found is None, f"{path}: {found}"


def test_text_reaches_terminals_and_markup_only_in_printable_form() -> None:
    for path in modules():
        name = str(path.relative_to(PACKAGE))
        raw = {"wasabi.msg", "wasabi.Printer", "tqdm", "tqdm.tqdm"} & imports(path)
        assert not raw or name == "terminal.py", name
        assert "html.escape" not in imports(path), name
        prints = {"print", "typer.echo", "html.escape"} & calls(path)
        assert not prints or name in ("terminal.py", "printable.py", "cli/_util.py"), name


def test_entry_points_lead_to_something() -> None:
    for _, name, target in entry_points():
        module, _, function = target.partition(":")
        path = ROOT / (module.replace(".", "/") + ".py")
        path = path if path.exists() else ROOT / module.replace(".", "/") / "__init__.py"
        defined = {node.name for node in parsed(path).body if isinstance(node, ast.FunctionDef)}
        assert not function or function in defined, name


def test_the_versions_agree() -> None:
    setup = (ROOT / "setup.cfg").read_text(encoding="utf8")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf8")
    assert re.search(r"^version = (\S+)$", setup, flags=re.M)[1] == spacy_psa.__version__
    assert re.search(r"^## (\S+)", changes, flags=re.M)[1] == spacy_psa.__version__


def test_requirements_cover_what_is_imported() -> None:
    setup = (ROOT / "setup.cfg").read_text(encoding="utf8")
    section = re.search(r"^install_requires =\n((?: +.*\n)+)", setup, flags=re.M)[1]
    required = {re.match(r"[\w-]+", line.strip())[0] for line in section.strip().splitlines()}
    found = {name.split(".")[0] for path in modules() for name in imports(path)}
    third_party = found - set(sys.stdlib_module_names) - {"spacy_psa"}
    # spaCy requires these itself; the last nine are extras or theirs.
    assert third_party - required == {
        "numpy",
        "srsly",
        "wasabi",
        "spacy_transformers",
        "transformers",
        "huggingface_hub",
        "sklearn",
        "altair",
        "triton",
        "vl_convert",
        "pyarrow",
        "ray",
    }


def test_the_constraints_are_what_this_build_of_pytorch_asks_for() -> None:
    asked = [line for line in requires("torch") or () if line.startswith("triton")]
    if not asked:
        pytest.skip("this build of PyTorch asks for no Triton")
    pinned = re.findall(r"^(triton==\S+)", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    assert pinned == [re.match(r"triton==[\w.]+", line)[0] for line in asked]
