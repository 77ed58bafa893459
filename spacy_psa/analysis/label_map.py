"""Maps of labels: their vectors, grouped, and projected onto a plane."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..annotation.schemes import OUTSIDE, SCHEMES, split_tag
from ..errors import Errors, check_choice
from ..pipeline.components import Component
from .activations import labeler_networks

PREFIXES = frozenset(prefix for scheme in SCHEMES.values() for prefix in scheme.prefixes)
SYMBOLS = "symbols"


def groups_of(tags: Sequence[str]) -> list[str]:
    """Group labels: span tags by the label of the span, other labels by their first character."""
    if are_of_spans(tags):
        return [split_tag(tag)[1] or OUTSIDE for tag in tags]
    return [tag[0].upper() if tag[:1].isalnum() else SYMBOLS for tag in tags]


def in_order(tags: Sequence[str]) -> list[int]:
    """Sort labels: "O" first, then by group and name."""
    groups = groups_of(tags)
    return sorted(range(len(tags)), key=lambda i: (tags[i] != OUTSIDE, groups[i], tags[i]))


def are_of_spans(tags: Sequence[str]) -> bool:
    """Whether all labels are tags of a scheme such as BIO, including "O"."""
    inside = [split_tag(tag) for tag in tags if tag != OUTSIDE]
    return OUTSIDE in tags and all(prefix in PREFIXES and label for prefix, label in inside)


Array = NDArray[np.float64]

FEWEST = 3
PERPLEXITY = 30.0


@dataclass(frozen=True)
class LabelVectors:
    """The label vectors of one model.

    name (str): The name of the model.
    labels (List[str]): The labels.
    vectors (NDArray): Their vectors. Shape: (labels, width).
    """

    name: str
    labels: list[str]
    vectors: Array


@dataclass(frozen=True)
class LabelMap:
    """The labels of one model on a plane.

    name (str): The name of the model.
    labels (List[str]): The labels.
    points (NDArray): Their coordinates. Shape: (labels, 2).
    shown (Optional[float]): The share of the variance that a linear projection preserves.
    nearest (List[Tuple[str, float]]): For each label, the most similar other label, and the cosine
        similarity of their vectors before projection.
    """

    name: str
    labels: list[str]
    points: Array
    shown: float | None
    nearest: list[tuple[str, float]]


def label_vectors(name: str, pipe: Component) -> list[LabelVectors]:
    """Get the label vectors of a component: label embeddings, or the weights of the output layer.

    name (str): The name for the model.
    pipe (Component): The component.
    RETURNS (List[LabelVectors]): The vectors of its network, or of each network in an ensemble.
    RAISES (ValueError): If the model has no network of this package, or its decoder has no label
        vectors.
    """
    networks = labeler_networks(pipe.model)
    if not networks:
        raise ValueError(Errors.P382.format(name=pipe.name))
    found = []
    for i, network in enumerate(networks, 1):
        decoder = network.decoder
        if not hasattr(decoder, "label_vectors"):
            kind = type(decoder).__name__
            raise ValueError(Errors.P384.format(decoder=kind, name=pipe.name))
        vectors = decoder.label_vectors().detach().double().cpu().numpy()
        title = f"{name}, model {i}" if len(networks) > 1 else name
        # Labels that were added after training have no vector yet
        found.append(LabelVectors(title, pipe.tags[: len(vectors)], vectors))
    return found


def map_labels(
    models: Sequence[LabelVectors], *, method: str = "pca", align: str = "procrustes"
) -> list[LabelMap]:
    """Make comparable label maps of one or more models.

    models (Sequence[LabelVectors]): The models; only labels that all of them have are shown.
    method (str): The projection method: "pca" or "tsne".
    align (str): How to align the maps. "procrustes": each map is computed separately, scaled to a
        mean squared distance of 1 from its center, and rotated and reflected to be as close as
        possible to the first one (Schönemann 1966). "last": all models are projected with the PCA
        of the last one, so that distances are comparable; for checkpoints of one training run.
    RETURNS (List[LabelMap]): A map for each model, with the labels in the same order.
    RAISES (ValueError): If the models have too few labels in common, or the method or alignment is
        unknown, not installed, or not applicable to these models.

    Source: Cui and Zhang (2019), figure 4, which uses t-SNE.
    """
    for what, name, options in (("method", method, METHODS), ("alignment", align, ALIGNMENTS)):
        check_choice(what, name, options)
    labels = _common_labels(models)
    rows = [model.vectors[[model.labels.index(x) for x in labels]] for model in models]
    projected = ALIGNMENTS[align](rows, method)
    return [
        LabelMap(model.name, labels, points, shown, _nearest(vectors, labels))
        for model, vectors, (points, shown) in zip(models, rows, projected, strict=True)
    ]


def project_pca(vectors: Array) -> tuple[Array, float | None]:
    """Project vectors with PCA."""
    centered = vectors - vectors.mean(axis=0)
    return _on_plane(centered, _axes(centered))


def project_tsne(vectors: Array) -> tuple[Array, float | None]:
    """Project vectors with t-SNE (van der Maaten and Hinton 2008), deterministically."""
    try:
        from sklearn.manifold import TSNE
    except ImportError as error:
        raise ValueError(Errors.P386) from error
    # The perplexity is roughly the number of neighbors, which must be less than that of points.
    perplexity = min(PERPLEXITY, (len(vectors) - 1) / 3)
    projection = TSNE(n_components=2, perplexity=perplexity, init="pca", random_state=0)
    return np.asarray(projection.fit_transform(vectors), dtype=np.float64), None


def procrustes(points: Array, target: Array) -> Array:
    """Rotate and reflect points to be as close as possible to target points."""
    left, _, right = np.linalg.svd(points.T @ target)
    return points @ (left @ right)


def _each_to_the_first(vectors: Sequence[Array], method: str) -> list[tuple[Array, float | None]]:
    projected = [METHODS[method](rows) for rows in vectors]
    maps = [_scaled(points) for points, _ in projected]
    return [
        (procrustes(points, maps[0]), shown)
        for points, (_, shown) in zip(maps, projected, strict=True)
    ]


def _fitted_on_the_last(vectors: Sequence[Array], method: str) -> list[tuple[Array, float | None]]:
    if METHODS[method] is not project_pca:
        raise ValueError(Errors.P388.format(problem=f"'{method}' cannot project other vectors"))
    widths = sorted({rows.shape[1] for rows in vectors})
    if len(widths) > 1:
        problem = f"their vectors have different widths, {widths[0]} and {widths[-1]}"
        raise ValueError(Errors.P388.format(problem=problem))
    middle = vectors[-1].mean(axis=0)
    directions = _axes(vectors[-1] - middle)
    return [_on_plane(rows - middle, directions) for rows in vectors]


def _axes(centered: Array) -> Array:
    """The first two principal axes. Shape: (width, 2)."""
    _, _, rows = np.linalg.svd(centered, full_matrices=False)
    axes = np.zeros((centered.shape[1], 2))
    axes[:, : min(2, len(rows))] = rows[:2].T
    points = centered @ axes
    largest = points[np.abs(points).argmax(axis=0), [0, 1]]
    return axes * np.where(largest < 0.0, -1.0, 1.0)


def _on_plane(centered: Array, axes: Array) -> tuple[Array, float | None]:
    points = centered @ axes
    spread = centered - centered.mean(axis=0)
    total = float((spread**2).sum())
    kept = float(((points - points.mean(axis=0)) ** 2).sum())
    return points, kept / total if total else None


def _scaled(points: Array) -> Array:
    centered = points - points.mean(axis=0)
    return centered / (np.sqrt((centered**2).sum(axis=1).mean()) or 1.0)


def _common_labels(models: Sequence[LabelVectors]) -> list[str]:
    first = models[0]
    common = list(first.labels)
    for other in models:
        common = [label for label in common if label in set(other.labels)]
        if len(common) < FEWEST:
            problem = {"first": first.name, "other": other.name, "n": len(common)}
            raise ValueError(Errors.P385.format(needed=FEWEST, **problem))
    return [common[i] for i in in_order(common)]


def _nearest(vectors: Array, labels: Sequence[str]) -> list[tuple[str, float]]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.where(lengths > 0.0, lengths, 1.0)
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, -np.inf)
    return [(labels[int(row.argmax())], float(row.max())) for row in cosines]


Projection = Callable[[Array], tuple[Array, float | None]]
METHODS: dict[str, Projection] = {"pca": project_pca, "tsne": project_tsne}
ALIGNMENTS = {"procrustes": _each_to_the_first, "last": _fitted_on_the_last}
