"""Model predictive control of a unicycle by iterative LQR, alone and with waypoints from a cloned expert.

``controller`` has the compiled optimiser, ``policy`` drives with it; ``picture`` paints what the network sees and
``cloned`` drives toward the waypoints that the network predicts.
"""
