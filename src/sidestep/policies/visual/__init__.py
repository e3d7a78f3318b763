"""Policies that are networks of pictures: any ONNX or TorchScript file with a declared interface.

``spec`` defines an interface, ``model_files`` loads interfaces of published models (``models/*.yaml``) and networks;
``picture``, ``memory`` and ``inputs`` make what goes in, ``outputs`` reads what comes out, ``runner`` joins them and
compares interface and file before anything runs, ``policy`` drives. Weights are not included: name your own file.
"""

from sidestep.policies.visual.policy import VisualPolicy

__all__ = ["VisualPolicy"]
