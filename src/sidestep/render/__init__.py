"""Pictures from inside the world: meshes, animated people, materials, weather, and the camera that looks at them.

``mesh`` holds what is drawn; ``renderer`` draws it from a pose of a ``camera_model`` in a ``light``; ``chunks``,
``packing`` and ``textures`` lay scenes out for ``kernels.raster*``, ``target`` calls those, ``batch`` draws several
environments at once. Nothing here simulates or decides.
"""
