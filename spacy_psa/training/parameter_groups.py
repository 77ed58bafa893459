"""Parameters with a learning rate or a weight decay of their own, chosen by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, fields
from fnmatch import fnmatchcase
from typing import Any, NamedTuple
from weakref import ref

from spacy.language import Language
from thinc.api import Model, PyTorchShim
from thinc.optimizers import FloatOrSeq

from ..errors import Errors, check_value, suggestion
from ..private_names import network_of

Key = tuple[int, str]
_pipelines: list[ref[Language]] = []


class ParameterName(NamedTuple):
    """The name of a parameter.

    component (str): The component that it belongs to.
    path (str): The name of its layer and its own, `layer/parameter`.
    """

    component: str
    path: str

    def __str__(self) -> str:
        return f"{self.component}/{self.path}"


def note_pipeline(nlp: Language) -> None:
    """Let optimizers know the names of a pipeline's parameters, for `groups`. Pipelines with
    `psa_tagger` or `psa_srl`, and those that `psa train` trains or the logger
    `spacy_psa.JsonlLogger.v1` follows, are noted already.

    nlp (Language): The pipeline. It is not kept alive.
    """
    # The latest comes last: a sourced component may have another name in it
    _pipelines[:] = [*(kept for kept in _pipelines if kept() not in (None, nlp)), ref(nlp)]


def names_beside(key: Key) -> dict[Key, ParameterName]:
    """Find the names of all parameters of the pipeline that has a parameter; none if no pipeline
    noted has it."""
    for kept in reversed(_pipelines):
        nlp = kept()
        names = {} if nlp is None else dict(_names(nlp))
        if key in names:
            return names
    return {}


def _names(nlp: Language) -> Iterator[tuple[Key, ParameterName]]:
    for component, pipe in nlp.components:
        model: Any = getattr(pipe, "model", None)
        for node in model.walk() if isinstance(model, Model) else ():
            for name in node.param_names:
                yield (node.id, name), ParameterName(component, f"{node.name}/{name}")
            for shim in node.shims:
                network = network_of(shim) if isinstance(shim, PyTorchShim) else None
                for name, _ in network.named_parameters() if network is not None else ():
                    yield (shim.id, name), ParameterName(component, f"{node.name}/{name}")


@dataclass(eq=False)
class ParameterGroup:
    """Some parameters, and what differs for them. What is None is as for all others.

    name (str): The group's name.
    components (Optional[List[str]]): The names of their components; None for all.
    parameters (Optional[List[str]]): Patterns of their names, `layer/parameter`; None for all. `*`
        matches anything, also a slash, and case does not matter.
    learn_rate (Optional[float or schedule]): Their learning rate.
    factor (Optional[float]): A factor for the learning rate of all others, whose schedule they
        then follow.
    L2 (Optional[float]): Their L2 regularization or weight decay.
    RAISES (ValueError): If nothing is chosen, nothing differs, or a value is out of range.
    """

    name: str
    _: KW_ONLY
    components: list[str] | None = None
    parameters: list[str] | None = None
    learn_rate: FloatOrSeq | None = None
    factor: float | None = None
    L2: float | None = None

    def __post_init__(self) -> None:
        if self.components is None and self.parameters is None:
            self._refuse("chooses no parameters", "Set 'components' or 'parameters'.")
        for setting in ("components", "parameters"):
            if isinstance(getattr(self, setting), str):
                self._refuse(f"has a string as '{setting}'", "Make it a list of strings.")
        if self.learn_rate is not None and self.factor is not None:
            self._refuse("sets both 'learn_rate' and 'factor'", "Remove one of them.")
        if not any(self.sets(what) for what in SETTINGS):
            self._refuse("changes nothing", "Set 'learn_rate', 'factor' or 'L2'.")
        for setting in ("factor", "L2"):
            value = getattr(self, setting)
            if value is not None:
                check_value(f"groups.{self.name}.{setting}", value, lambda n: n >= 0, "at least 0")
        self._schedule: Iterator[float] | None = None
        if self.learn_rate is None or isinstance(self.learn_rate, int | float | str):
            check_rate(f"groups.{self.name}.learn_rate", self.learn_rate or 0.0)
        else:
            self._schedule = iter(self.learn_rate)
            self.step_schedules()

    def step_schedules(self) -> None:
        """Take the next learning rate of a schedule; the last one stays."""
        if self._schedule is not None:
            self.learn_rate = next(self._schedule, self.learn_rate)

    def sets(self, what: str) -> bool:
        """RETURNS (bool): Whether the group changes a setting, "learn_rate" or "L2"."""
        return any(getattr(self, setting) is not None for setting in SETTINGS[what])

    def includes(self, name: ParameterName) -> bool:
        """RETURNS (bool): Whether a parameter belongs to the group."""
        if self.components is not None and name.component not in self.components:
            return False
        return self.parameters is None or any(
            fnmatchcase(name.path.lower(), pattern.lower()) for pattern in self.parameters
        )

    def rate(self, usual: float) -> Any:
        """RETURNS (float): The group's learning rate, given the usual one."""
        return usual * self.factor if self.factor is not None else self.learn_rate

    def _refuse(self, problem: str, remedy: str) -> None:
        raise ValueError(Errors.P216.format(name=self.name, problem=problem, remedy=remedy))


SETTINGS = {"learn_rate": ("learn_rate", "factor"), "L2": ("L2",)}
Pair = tuple[ParameterGroup | None, ParameterGroup | None]


class ParameterGroups:
    """The groups of an optimizer. Each setting of a parameter is changed by one group at most.

    groups (Mapping[str, Mapping[str, Any]]): The settings of each group, by its name: see
        `ParameterGroup`.
    RAISES (ValueError): If a setting is unknown, or its value out of range.
    """

    def __init__(self, groups: Mapping[str, Mapping[str, Any]]) -> None:
        known = [field.name for field in fields(ParameterGroup)][1:]
        for name, settings in groups.items():
            if not isinstance(settings, Mapping):
                raise ValueError(
                    Errors.P216.format(
                        name=name,
                        problem=f"is {settings!r}, not a section",
                        remedy=f"Write [training.optimizer.groups.{name}], or leave it out.",
                    )
                )
            for setting in settings:
                if setting not in known:
                    problem = f"has an unknown setting '{setting}'.{suggestion(setting, known)}"
                    remedy = f"Choose from: {', '.join(known)}."
                    raise ValueError(
                        Errors.P216.format(name=name, problem=problem.rstrip("."), remedy=remedy)
                    )
        self._groups = [ParameterGroup(name, **settings) for name, settings in groups.items()]
        self._found: dict[Key, Pair] = {}

    def step_schedules(self) -> None:
        """Take the next learning rate of each schedule."""
        for group in self._groups:
            group.step_schedules()

    def settings(self, key: Key, learn_rate: float, L2: float) -> tuple[float, float]:
        """Find the learning rate and the L2 regularization of a parameter. It is an error if its
        name is unknown, a group has no parameters, or two groups change the same setting of one."""
        if not self._groups:
            return learn_rate, L2
        if key not in self._found:
            self._resolve(key)
        of_rate, of_L2 = self._found[key]
        return (
            learn_rate if of_rate is None else of_rate.rate(learn_rate),
            L2 if of_L2 is None or of_L2.L2 is None else of_L2.L2,
        )

    def _resolve(self, key: Key) -> None:
        """Find the groups of all parameters of the pipeline that has a parameter."""
        names = names_beside(key)
        if key not in names:
            raise ValueError(Errors.P217.format(name=key[1]))
        for group in self._groups:
            if not any(group.includes(name) for name in names.values()):
                self._refuse(group, names.values())
        for found, name in names.items():
            self._found[found] = self._of(name, "learn_rate"), self._of(name, "L2")

    def _of(self, name: ParameterName, what: str) -> ParameterGroup | None:
        found = [group for group in self._groups if group.sets(what) and group.includes(name)]
        if len(found) > 1:
            first, second = (group.name for group in found[:2])
            raise ValueError(
                Errors.P219.format(first=first, second=second, what=what, parameter=name)
            )
        return found[0] if found else None

    def _refuse(self, group: ParameterGroup, names: Iterable[ParameterName]) -> None:
        components = sorted({name.component for name in names})
        here = [name.path for name in names if self._has_component(group, name)]
        some = sorted({*here} or {name.path for name in names})[:5]
        unknown = (name for name in group.components or () if name not in components)
        raise ValueError(
            Errors.P218.format(
                name=group.name,
                suggestion="".join(suggestion(name, components) for name in unknown),
                components=", ".join(components),
                some=", ".join(some),
            )
        )

    @staticmethod
    def _has_component(group: ParameterGroup, name: ParameterName) -> bool:
        return group.components is None or name.component in group.components


def check_rate(name: str, learn_rate: object) -> None:
    """Check that a learning rate, a number or text, is not negative. The values of a schedule are
    only known in training."""
    if isinstance(learn_rate, int | float | str):
        check_value(name, learn_rate, lambda n: n >= 0.0, "at least 0")
