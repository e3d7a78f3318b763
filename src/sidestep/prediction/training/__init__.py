"""Training of the CVAE (needs PyTorch): the network and its export to ONNX (``cvae``), the optimisation
and the search over sizes and seeds (``cvae_training``)."""
