"""Pictures from inside the world: meshes, animated people, materials, weather, and the camera that looks at them.

``mesh`` holds what is drawn; ``renderer`` draws it from a pose of a ``camera_model`` in a ``light``; ``packing`` lays
scenes out for the kernels in ``raster``, and ``target`` calls those. ``scene``, ``people``, ``robots`` and ``vehicles``
make what is drawn; ``camera``, ``lidar3d`` and ``record_view`` look at it. Nothing here simulates or decides.
"""
