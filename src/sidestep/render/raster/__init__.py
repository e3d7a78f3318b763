"""The rasteriser's kernels: culling, triangles, faces, shadows, light and finished pictures, as arrays only.

``frame`` runs the stages in order; ``layout`` numbers the columns of every table.
"""
