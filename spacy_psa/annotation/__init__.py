"""Annotations of Docs as labels: targets, tag schemes, frames and rules."""

from typing import TYPE_CHECKING

from ..exports import exports

if TYPE_CHECKING:
    from .propositions import Frame as Frame
    from .propositions import clear_frames as clear_frames
    from .propositions import get_frames as get_frames
    from .propositions import set_frames as set_frames
    from .role_scores import SRLResult as SRLResult
    from .role_scores import srl_eval as srl_eval
    from .rules import Rule as Rule
    from .schemes import BIO as BIO
    from .schemes import BIOES as BIOES
    from .schemes import IO as IO
    from .schemes import IOB1 as IOB1
    from .schemes import Scheme as Scheme
    from .schemes import get_scheme as get_scheme

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "propositions": ["Frame", "clear_frames", "get_frames", "set_frames"],
        "role_scores": ["SRLResult", "srl_eval"],
        "rules": ["Rule"],
        "schemes": ["BIO", "BIOES", "IO", "IOB1", "Scheme", "get_scheme"],
    },
)
