"""The recipes for clusters, run with programs that stand in for those of the clusters."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from .cli.commands import spacy_command
from .documentation import ROOT

SCALE, DISTRIBUTED = ROOT / "docs" / "scale.md", ROOT / "docs" / "distributed.md"
# Notes the rank and the arguments of each call
PYTHON = 'echo "$RANK/$WORLD_SIZE on $LOCAL_RANK, $MASTER_ADDR:$MASTER_PORT: $*" >> "$CALLS"'
# Runs a command once for each task, after its own options
SRUN = """
while [[ $1 == --* ]]; do shift; done
for ((i = 0; i < SLURM_NTASKS; i++)); do
    SLURM_PROCID=$i SLURM_LOCALID=$((i % 2)) "$@" || exit
done
"""
SCONTROL = '[ "$*" = "show hostnames node-[7-8]" ] && echo node-7 && echo node-8'
PROGRAMS = {"python": PYTHON, "torchrun": PYTHON, "srun": SRUN, "scontrol": SCONTROL}

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


def block(page: Path, word: str) -> str:
    """The code block of a page that has a word."""
    blocks = re.findall(r"^```\w*\n(.*?)^```$", page.read_text("utf8"), re.DOTALL | re.MULTILINE)
    [found] = [text for text in blocks if word in text]
    return found


def run(script: str, folder: Path, **variables: str) -> list[str]:
    """Run a script among stand-ins. RETURNS (List[str]): What those of Python note."""
    for name, text in PROGRAMS.items():
        (folder / name).write_text(f"#!{shutil.which('bash')}\n{text}\n", "utf8")
        (folder / name).chmod(0o755)
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "CALLS": str(folder / "calls"), **variables}
    subprocess.run(["bash", "-eu"], input=script, text=True, check=True, env=environment)
    return (folder / "calls").read_text("utf8").splitlines()


def parse(call: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The options of `psa train` or `psa apply`, as the command reads them."""
    monkeypatch.chdir(folder)
    name, *arguments = call.partition("-m spacy psa ")[2].split()
    if name == "train":
        config = folder / Path(arguments[0]).name
        config.write_text("", "utf8")
        arguments[0] = str(config)
    command: Any = spacy_command()
    return command.commands["psa"].commands[name].make_context(name, arguments).params


def test_slurm_starts_a_rank_for_each_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = block(DISTRIBUTED, "#SBATCH")
    calls = run(script, tmp_path, SLURM_JOB_NODELIST="node-[7-8]", SLURM_NTASKS="4")
    assert [call.partition(" -m ")[0] for call in calls] == [
        f"{i}/4 on {i % 2}, node-7:29500:" for i in range(4)
    ]
    found = parse(calls[0], tmp_path, monkeypatch)
    assert (found["resume"], found["use_gpu"]) == (True, 0)
    assert str(found["output_path"]) == "/shared/training/psa"


def test_slurm_annotates_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = block(SCALE, "#SBATCH")
    [call] = run(script, tmp_path, SLURM_ARRAY_TASK_ID="9")
    found = parse(call, tmp_path, monkeypatch)
    assert (found["inputs"], found["n_process"]) == (["texts/09"], 16)
    assert str(found["output"]) == "annotated/09"


def test_kubernetes_annotates_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    job = yaml.safe_load(block(SCALE, "kind: Job"))
    assert (job["apiVersion"], job["spec"]["completionMode"]) == ("batch/v1", "Indexed")
    pod = job["spec"]["template"]["spec"]
    container = checked_container(pod)
    [script] = container["args"]
    assert container["command"] == ["sh", "-c"]
    [call] = run(script, tmp_path, JOB_COMPLETION_INDEX="3")
    found = parse(call, tmp_path, monkeypatch)
    assert found["inputs"] == ["/data/texts/03"]
    assert found["n_process"] == container["resources"]["requests"]["cpu"]


def test_kubernetes_starts_ranks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    job = yaml.safe_load(block(DISTRIBUTED, "kind: PyTorchJob"))
    assert job["apiVersion"] == "kubeflow.org/v1"
    worker = job["spec"]["pytorchReplicaSpecs"]["Worker"]
    container = checked_container(worker["template"]["spec"])
    n_gpus = container["resources"]["limits"]["nvidia.com/gpu"]
    assert job["spec"]["nprocPerNode"] == str(n_gpus)
    assert container["command"][0] == "torchrun"
    found = parse(" ".join(container["command"]), tmp_path, monkeypatch)
    assert (found["resume"], found["use_gpu"]) == (True, 0)


def checked_container(pod: dict[str, Any]) -> dict[str, Any]:
    """The container of a pod, which mounts volumes that there are."""
    [container] = pod["containers"]
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in pod["volumes"]}
    return container
