"""Assemble the template of a config whose components stand on a shared tok2vec or transformer."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

from ..errors import Errors
from ._assembly import BEST, assemble, assemble_roles, small_roles
from ._marked import mark_predicates
from ._names import ROLES, unknown
from ._templates import Template, moved, read_template

if TYPE_CHECKING:
    from thinc.api import Config

# The components as the templates name them
TAGGER, SRL = "psa_tagger", "psa_srl"
# The encoders of --encoder, by the system that has them
ENCODERS = {"none": None, "bilstm": "bilstm-crf", "psa": "psa"}
# Of layers on a transformer, whose vectors are less noisy than those of rare words
MAX_DROPOUT = 0.2
# The transformer's learning rate for roles, times that of the others; 0.05 for all other targets
ROLES_FACTOR = 0.1
# How a span group is called in --target
SPANS = "spans:"


@dataclass(frozen=True)
class Inputs:
    """What the components of a pipeline stand on.

    transformer (Optional[str]): The folder or the name of a pretrained transformer.
    freeze (bool): Whether it is not trained.
    encoder (Optional[str]): The encoder, "none", "bilstm" or "psa"; None for the system's.
    raw (bool): Whether Docs are texts of several sentences.
    """

    transformer: str | None = None
    freeze: bool = False
    encoder: str | None = None
    raw: bool = False

    @property
    def marks_predicates(self) -> bool:
        """Whether a transformer reads a marked copy of the sentence for each predicate: without an
        encoder, nothing else would know the predicate."""
        return self.encoder == "none" and self.transformer is not None and not self.freeze

    def change(self, target: str) -> bool:
        """RETURNS (bool): Whether the config is another than that of a system and one target."""
        return self != Inputs() or len(target.split()) > 1 or target.startswith(SPANS)


def assemble_shared(
    system: str, target: str, inputs: Inputs, *, device: str, **options: Any
) -> Template:
    """Merge the templates of a system, of each target, and of what the components stand on. See
    `assemble` and `assemble_roles`."""
    if inputs.freeze and inputs.transformer is None:
        raise ValueError(Errors.P200)
    targets = _components(target.split() or [target])
    has_roles = SRL in targets
    is_marked = has_roles and inputs.marks_predicates
    # What a step merges overrides settings of those before it, and is described above them. A
    # transformer limits the dropout of the encoders; if frozen, it sets which components annotate
    # in training, to which that of the sentences is added.
    template = _of_targets(system, targets, device, options)
    if inputs.encoder is not None or inputs.transformer is not None:
        template = _about_network(template, system, inputs.encoder, roles=has_roles)
    if inputs.encoder is not None and not is_marked:
        template = _with_encoder(template, targets, inputs.encoder, options["recipe"])
    if inputs.transformer is not None:
        template = _on_transformer(template, targets, device, freeze=inputs.freeze)
    elif len(targets) > 1:
        template = _on_shared_embedding(template, targets)
    if inputs.raw:
        template = _in_sentences(template)
    if not has_roles and (inputs.raw or inputs.transformer is not None):
        template = _merge_for_each(template, "batches", targets)
    if is_marked:
        template = mark_predicates(template, SRL)
    # Components may have parts in common
    return replace(template, about=list(dict.fromkeys(template.about)))


def _components(targets: Sequence[str]) -> dict[str, str]:
    """The components' names, with their targets."""
    if len(targets) == 1:
        return {SRL if targets[0] == ROLES else TAGGER: targets[0]}
    if ROLES in targets:
        others = ", ".join(target for target in targets if target != ROLES)
        raise ValueError(Errors.P189.format(targets=others))
    keys = [target.removeprefix(SPANS) for target in targets]
    # Sections and folders have these names: a dot or a slash would have a meaning there
    names = ["psa_" + re.sub(r"\W", "_", key) for key in keys]
    found = dict(zip(names, targets, strict=True))
    if len(found) < len(targets):
        raise ValueError(Errors.P167.format(targets=" ".join(targets), names=", ".join(found)))
    return found


def _of_targets(
    system: str, targets: Mapping[str, str], device: str, options: dict[str, Any]
) -> Template:
    """The template of a component for each target, whose scores count alike."""
    parts = [_of_target(system, target, name, device, options) for name, target in targets.items()]
    template = reduce(Template.merge, parts)
    template.config["nlp"]["pipeline"] = [*targets]
    template.config["training"]["score_weights"] = {
        score: weight and weight / len(parts)
        for part in parts
        for score, weight in part.config["training"]["score_weights"].items()
    }
    return template


def _of_target(
    system: str, target: str, name: str, device: str, options: dict[str, Any]
) -> Template:
    """The whole template of one component, without what it shares."""
    if name == SRL:
        return assemble_roles(system, device=device, **options)
    if not target.startswith(SPANS):
        return _renamed(assemble(system, target, device=device, **options), name)
    key = target.removeprefix(SPANS)
    template = _renamed(assemble(system, "spans", device=device, **options), name)
    template.config["components"][name]["spans_key"] = key
    weights = template.config["training"]["score_weights"]
    template.config["training"]["score_weights"] = {
        score.replace("_chunks_", f"_{key}_"): weight for score, weight in weights.items()
    }
    return replace(template, about=[line for line in template.about if "chunks" not in line])


def _about_network(
    template: Template, system: str, encoder: str | None, *, roles: bool
) -> Template:
    """Describe a system by what is left of it, instead of its words, characters and encoder."""
    parts = f"encoder and decoder of {system}"
    if encoder == "none":
        parts = f"decoder of {system}, without an encoder"
    elif encoder is not None:
        parts = f"encoder of {ENCODERS.get(encoder)} and the decoder of {system}"
    if not roles:
        described = read_template("systems", system).about
    else:
        described = [read_template(ROLES, name).about[0] for name in (system, small_roles(system))]
    about = [part for part in template.about if part not in described]
    return replace(template, about=[f"The {parts}.", *about])


def _with_encoder(
    template: Template, names: Collection[str], encoder: str, recipe: str
) -> Template:
    """Replace the encoders of components, and the comments on them."""
    places = tuple(f"components.{name}.model.encoder" for name in names)
    kept = {at: text for at, text in template.comments.items() if not at[0].startswith(places)}
    parts = [_encoder(encoder, name, recipe) for name in names]
    return reduce(Template.merge, parts, replace(template, comments=kept))


def _encoder(encoder: str, name: str, recipe: str) -> Template:
    """The template of an encoder of its own, with the settings of a recipe."""
    if encoder not in ENCODERS:
        raise ValueError(unknown("encoder", encoder, list(ENCODERS)))
    system = ENCODERS[encoder]
    if system is None:
        if name == SRL:
            raise ValueError(Errors.P199)
        return Template(_config({"components": {name: {"model": {"encoder": None}}}}), {}, [])
    template = read_template("systems", system)
    if recipe == BEST:
        template = template.merge(read_template(BEST, system))
    template = _renamed(template, name)
    model = {"encoder": template.config["components"][name]["model"]["encoder"]}
    return Template(_config({"components": {name: {"model": model}}}), template.comments, [])


def _on_transformer(
    template: Template, names: Collection[str], device: str, *, freeze: bool
) -> Template:
    """Put components, with their final encoders, on a transformer, and train them as it needs."""
    template = _with_training(template, roles=SRL in names)
    template = _listening(template, names, "transformer", "frozen" if freeze else "tuned")
    if device == "gpu":
        template = _merge_for_each(template, "transformer-gpu", names)
    for name in names:
        _limit_dropout(template.config["components"][name]["model"]["encoder"])
    if SRL in names and not freeze:
        template.config["training"]["optimizer"]["groups"]["transformer"]["factor"] = ROLES_FACTOR
    return template


def _with_training(template: Template, *, roles: bool) -> Template:
    """Replace the training by that of a transformer."""
    settings = template.config.pop("template", {})
    about, comments = template.about, template.comments
    if "training" in settings:
        replaced = read_template("training", settings["training"])
        about = [part for part in about if part not in replaced.about]
        comments = {
            place: text for place, text in comments.items() if place not in replaced.comments
        }
    if roles:
        # Their other paragraphs are about the training and the embeddings of the paper
        about = [part for part in about if part.startswith("Predicates")]
        comments.pop((f"components.{SRL}.model", "mask_width"), None)
    kept = {key: settings[key] for key in ("corpus", "sentences", "tokens") if key in settings}
    template = Template(_config({**template.config, "template": kept}), comments, about)
    wanted = ["transformer", "optimizer", "roles" if roles else "epochs"]
    return reduce(Template.merge, (read_template("inputs", name) for name in wanted), template)


def _limit_dropout(encoder: Any) -> None:
    """Limit the dropout rates in the block of an encoder."""
    for key, value in encoder.items() if isinstance(encoder, dict) else ():
        if key.endswith("dropout"):
            encoder[key] = min(value, MAX_DROPOUT)
        _limit_dropout(value)


def _on_shared_embedding(template: Template, names: Collection[str]) -> Template:
    """Put components on one embedding, that of the first, which the others have as well."""
    first = next(iter(names))
    old, new = f"components.{first}.model.tok2vec", "components.tok2vec.model"
    model = template.config["components"][first]["model"]["tok2vec"]
    shared = _config({"components": {"tok2vec": {"model": model}}})
    comments = moved(template.comments, old, new)
    template = template.merge(Template(shared, comments, []))
    return _listening(template, names, "tok2vec", "shared")


def _listening(template: Template, names: Collection[str], upstream: str, kind: str) -> Template:
    """Let components get the vectors of a component that runs before them."""
    template = _merge_for_each(template, kind, names)
    template.config["nlp"]["pipeline"].insert(0, upstream)
    return template


def _in_sentences(template: Template) -> Template:
    """Let a rule find the sentences of texts, before all other components."""
    template = template.merge(read_template("inputs", "raw"))
    template.config["nlp"]["pipeline"].insert(0, "sentencizer")
    training = template.config["training"]
    training["annotating_components"].insert(0, "sentencizer")
    # A rule, whose score would count as much as all that is learned
    training["score_weights"].update(sents_f=None, sents_p=None, sents_r=None)
    return template


def _merge_for_each(template: Template, part: str, names: Collection[str]) -> Template:
    """Merge a template in `inputs` once for each component."""
    parts = [_renamed(read_template("inputs", part), name) for name in names]
    return reduce(Template.merge, parts, template)


def _renamed(template: Template, name: str) -> Template:
    """The template of a tagger, for a component of another name."""
    config = _config(template.config)
    components = config.get("components", {})
    config["components"] = {(name if key == TAGGER else key): components[key] for key in components}
    comments = moved(template.comments, f"components.{TAGGER}", f"components.{name}")
    return Template(config, comments, template.about)


def _config(sections: dict[str, Any]) -> Config:
    from thinc.api import Config

    return Config(sections)
