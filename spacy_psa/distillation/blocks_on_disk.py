"""Teachers' probabilities on disk: in blocks of Docs, sparse, and of known origin.

Each block is two files: the Docs as a DocBin, and for each the marginals of the most probable pairs
of labels. A pair takes 6 bytes: two labels as 16-bit integers, and a 16-bit probability.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from ..atomic_files import atomic_path
from ..errors import Errors
from ..inference.edge_marginals import EdgeMarginals
from ..pipeline.teaching import Teaching, by_document

MANIFEST = "manifest.json"
DOCS_IN_BLOCK = 1000
NOT_TAUGHT = -1
Item = tuple[Doc, Teaching | None]


class Cache:
    """A folder of blocks.

    folder (Path): The folder.
    origin (Dict[str, Any]): What they were computed from: checksums and settings by name.
    force (bool): Whether the first block replaces probabilities of another origin.
    RAISES (ValueError): If the folder has probabilities of another origin, or other contents.
    """

    def __init__(self, folder: Path, origin: dict[str, Any], *, force: bool = False) -> None:
        self.folder, self.origin = folder, origin
        self._replaced: dict[str, Any] | None = None
        names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
        others = [name for name in names if not name.startswith(".")]
        if others and MANIFEST not in others:
            raise ValueError(Errors.P542.format(path=folder, found=others[0]))
        found = read_manifest(folder) if others else None
        # A run that ended before its first block has left nothing to lose
        if found is not None and (found["info"] or self.n_blocks):
            other = [name for name in origin if found["origin"].get(name) != origin[name]]
            if other and not force:
                raise ValueError(Errors.P533.format(path=folder, problem=other[0]))
            self._replaced = found["origin"] if other else None
            found = None if other else found
        self.info: dict[str, Any] = {} if found is None else found["info"]

    @property
    def is_complete(self) -> bool:
        """RETURNS (bool): Whether all blocks are there."""
        return bool(self.info)

    @property
    def n_blocks(self) -> int:
        """RETURNS (int): The number of whole blocks, one after the other."""
        n = 0
        while all(path.exists() for path in self._paths(n)):
            n += 1
        return n

    def begin(self) -> None:
        """Note the origin, before the first block, and remove blocks of another one."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if self._replaced is not None:
            # A process that is killed here leaves a run that is not finished, not one with holes
            self._write_manifest(self._replaced)
            for number in reversed(range(self.n_blocks)):
                for path in self._paths(number):
                    path.unlink()
        self._write_manifest(self.origin)

    def write(self, number: int, items: Sequence[Item], sums: dict[str, float]) -> None:
        """Write a block."""
        docs, marginals = self._paths(number)
        with atomic_path(docs, shared=False) as temporary:
            DocBin(docs=[doc for doc, _ in items]).to_disk(temporary)
        metadata = {"sums": json.dumps(sums)}
        with atomic_path(marginals, shared=False) as temporary:
            save_file(_packed([said for _, said in items]), temporary, metadata)

    def sums(self) -> dict[str, float]:
        """RETURNS (Dict[str, float]): The sums over all blocks."""
        total: dict[str, float] = {}
        for number in range(self.n_blocks):
            with safe_open(self._paths(number)[1], "pt") as file:
                for name, value in json.loads(file.metadata()["sums"]).items():
                    total[name] = total.get(name, 0.0) + value
        return total

    def finish(self, info: dict[str, Any]) -> None:
        """Note that all blocks are there, and what a reader needs to know of them."""
        self.info = info
        self._write_manifest(self.origin)

    def n_bytes(self) -> int:
        """RETURNS (int): The size of the probabilities, without the Docs."""
        return sum(self._paths(n)[1].stat().st_size for n in range(self.n_blocks))

    def _write_manifest(self, origin: dict[str, Any]) -> None:
        text = json.dumps({"origin": origin, "info": self.info}, indent=1)
        with atomic_path(self.folder / MANIFEST, shared=False) as temporary:
            temporary.write_text(text + "\n", encoding="utf8")

    def _paths(self, number: int) -> tuple[Path, Path]:
        name = f"block-{number:05}"
        return self.folder / f"{name}.spacy", self.folder / f"{name}.safetensors"


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read what a cache is: its origin and its info; no info if it is not complete."""
    try:
        found = json.loads((folder / MANIFEST).read_text(encoding="utf8"))
        if not isinstance(found["origin"], dict) or not isinstance(found["info"], dict):
            raise TypeError("this is not a manifest")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(Errors.P534.format(path=folder, problem=error)) from error
    return found


def read_items(folder: Path, vocab: Vocab, gold: float) -> Iterator[Item]:
    """Read the Docs of a complete cache and what the teachers say of them."""
    manifest = read_manifest(folder)
    cache, info = Cache(folder, manifest["origin"]), manifest["info"]
    if not info or cache.n_blocks != info["n_blocks"]:
        raise ValueError(Errors.P534.format(path=folder, problem="blocks are missing"))
    for number in range(cache.n_blocks):
        docs_path, marginals_path = cache._paths(number)
        try:
            docs = list(DocBin().from_disk(docs_path).get_docs(vocab))
            with safe_open(marginals_path, "pt") as file:
                packed = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            said = list(_unpacked(packed, tuple(info["tags"]), gold, info["temperature"]))
        except (OSError, ValueError, KeyError, SafetensorError, RuntimeError) as error:
            raise ValueError(Errors.P534.format(path=docs_path, problem=error)) from error
        yield from zip(docs, said, strict=True)


def _packed(said: Sequence[Teaching | None]) -> dict[str, torch.Tensor]:
    known = [teaching for teaching in said if teaching is not None]
    counts = [
        torch.bincount(teaching.edges.token, minlength=sum(teaching.lengths)) for teaching in known
    ]
    edges = [teaching.edges for teaching in known]
    none = torch.zeros(0, dtype=torch.long)
    return {
        "n_chains": torch.tensor(
            [NOT_TAUGHT if teaching is None else len(teaching.lengths) for teaching in said],
            dtype=torch.int32,
        ),
        "lengths": torch.tensor([n for t in known for n in t.lengths], dtype=torch.int32),
        "predicates": torch.tensor(
            [p for t in known for p in t.predicates or ()], dtype=torch.int32
        ),
        "counts": torch.cat([none, *counts]).to(torch.int16),
        "before": torch.cat([none, *(e.before for e in edges)]).to(torch.int16),
        "after": torch.cat([none, *(e.after for e in edges)]).to(torch.int16),
        "probability": torch.cat([none.half(), *(e.probability.half() for e in edges)]),
    }


def _unpacked(
    packed: dict[str, torch.Tensor], tags: tuple[str, ...], gold: float, temperature: float
) -> Iterator[Teaching | None]:
    lengths, predicates = packed["lengths"].tolist(), packed["predicates"].tolist()
    token = torch.arange(len(packed["counts"])).repeat_interleave(packed["counts"].long())
    before, after = packed["before"].long(), packed["after"].long()
    q = packed["probability"].float()
    # Rounding to 16 bits has changed the sums a little
    q = q / torch.zeros(len(packed["counts"])).index_add(0, token, q)[token]
    n_chains = packed["n_chains"].tolist()
    known = [n for n in n_chains if n != NOT_TAUGHT]
    documents = by_document(EdgeMarginals(token, before, after, q), lengths, known)
    # A predicate for each chain, even if a block has none
    has_predicates = len(predicates) == len(lengths)
    remaining = iter(predicates)
    for n in n_chains:
        if n == NOT_TAUGHT:
            yield None
            continue
        own, edges = next(documents)
        found = tuple(islice(remaining, n)) if has_predicates else None
        yield Teaching(tags, own, edges, gold, temperature, found)
