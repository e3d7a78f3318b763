"""Policies that are networks of pictures: any ONNX or TorchScript file with a declared interface.

``spec`` says what an interface is, ``catalogue`` has those of published models (``models/*.yaml``), ``network`` runs a
file, ``check`` compares both before anything runs; ``picture``, ``memory``, ``goals`` and ``inputs`` make what goes in,
``decode`` and ``diffusion`` read what comes out, ``runner`` joins them, ``policy`` drives. No weights are here: whoever
has them names the file.
"""

from sidestep.policies.visual.model_files import load_spec, model_names, model_rows
from sidestep.policies.visual.policy import VisualPolicy
from sidestep.policies.visual.spec import VisualSpec

__all__ = ["VisualPolicy", "VisualSpec", "load_spec", "model_names", "model_rows"]
