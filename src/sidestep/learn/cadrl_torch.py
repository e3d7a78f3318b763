"""SA-CADRL's value network in torch: the formula of ``kernels.cadrl_value`` with gradients."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from sidestep.kernels.cadrl_look import ARRIVED, LOG_GAMMA, OTHER, OWN, SLOTS
from sidestep.kernels.cadrl_value import INPUT_SCALE
from sidestep.policies.learned.cadrl_network import SHAPES
from sidestep.types.base import FloatArray


class ValueNetwork(nn.Module):
    """V of states (n, FEATURES). Parameters have the names and shapes of the weights file."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        inputs = {"own_to_code": OWN + OTHER, "other_to_code": OWN + OTHER}
        for name, shape in SHAPES.items():
            if name.endswith("bias"):
                start = torch.zeros(shape)
            else:
                scale = (2.0 / inputs.get(name, shape[-1])) ** 0.5
                start = torch.randn(shape, generator=generator) * (0.1 * scale if name == "fourth_to_loss" else scale)
            self.register_parameter(name, nn.Parameter(start))
        self.register_buffer("scale", torch.from_numpy(INPUT_SCALE.copy()), persistent=False)

    def forward(self, states: Tensor) -> Tensor:
        """(n,) values."""
        p = dict(self.named_parameters())
        scale = self.get_buffer("scale")
        own = states[:, :OWN] * scale[:OWN]
        others = (states[:, OWN:] * scale[OWN:]).reshape(-1, SLOTS, OTHER)
        taken = (others[..., -1:] > 0).to(states.dtype)
        shared = torch.addmm(p["code_bias"], own, p["own_to_code"].T)
        code = torch.relu(shared[:, None] + others @ p["other_to_code"].T)
        code = torch.relu(code @ p["code_to_code"].T + p["code_to_code_bias"]) * taken
        pooled = code.amax(dim=1)
        third = torch.relu(torch.addmm(p["third_bias"], own, p["own_to_third"].T) + pooled @ p["code_to_third"].T)
        fourth = torch.relu(torch.addmm(p["fourth_bias"], third, p["third_to_fourth"].T))
        loss = fourth @ p["fourth_to_loss"] + p["loss_bias"]
        matters = taken.amax(dim=(1, 2)) * (states[:, 0] >= float(ARRIVED))
        return torch.exp(float(LOG_GAMMA) * states[:, 0]) * (1.0 - loss * matters)

    def arrays(self) -> dict[str, FloatArray]:
        """The parameters as NumPy arrays, by their names."""
        return {name: value.detach().numpy().astype(np.float32) for name, value in self.named_parameters()}
