"""Pictures from inside the world: meshes, animated people, materials, weather, and the camera that looks at them.

``mesh`` and ``model`` hold what is drawn, ``kernels.raster*`` draw it. Nothing here simulates or decides.
"""
