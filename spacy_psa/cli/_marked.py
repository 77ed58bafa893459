"""Configs for semantic roles whose transformer reads each predicate's sentence with a mark."""

from dataclasses import replace
from typing import Any

from ._templates import Template, moved, read_template

ARCHITECTURE = "spacy_psa.MarkedRoleLabeler.v1"
UPSTREAM = "transformer"
OWN = "spacy-transformers.Tok2VecTransformer.v3"
# What both role labelers have
KEPT = ("max_length", "overlap", "mixed_precision", "cuda_graphs", "nO", "decoder")


def mark_predicates(template: Template, name: str) -> Template:
    """Put the transformer of a template inside its role labeler, which marks predicates in what the
    transformer reads.

    template (Template): The template of a role labeler that listens to a transformer.
    name (str): The name of the role labeler.
    RETURNS (Template): The template of the role labeler alone.
    """
    config = template.config.copy()
    del config["training"]["optimizer"]["groups"][UPSTREAM]
    template = replace(template, config=config).merge(read_template("inputs", "marked"))
    components: dict[str, Any] = template.config["components"]
    transformer, model = components.pop(UPSTREAM)["model"], components[name]["model"]
    pooling = model["tok2vec"]["pooling"]
    components[name]["model"] = {
        "@architectures": ARCHITECTURE,
        "marker": "*",
        **{setting: model[setting] for setting in KEPT if setting in model},
        "tok2vec": {**transformer, "@architectures": OWN, "grad_factor": 1.0, "pooling": pooling},
        "encoder": None,
    }
    template.config["nlp"]["pipeline"].remove(UPSTREAM)
    old, new = f"components.{UPSTREAM}.model", f"components.{name}.model.tok2vec"
    return replace(template, comments=moved(template.comments, old, new))
