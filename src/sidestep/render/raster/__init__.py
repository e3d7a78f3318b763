"""The rasteriser's kernels: culling, triangles, faces, shadows, light and finished pictures, as arrays only.

``frame`` runs the steps in order; ``layout`` has the tables as named tuples and numbers their columns.
"""
