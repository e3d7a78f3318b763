"""Training of the CVAE (needs PyTorch): the network and its export to ONNX (``cvae``), the optimisation
(``cvae_training``), the search over sizes (``cvae_search``)."""
