"""The same pictures by OpenGL 3.3, for machines with a graphics card: moderngl on EGL, no window.

``renderer`` has the interface of ``sidestep.render.renderer.Renderer``. What may be seen, levels of detail, light,
lamps and rain come from the same code as on the processor; ``shaders/`` repeat its shading in GLSL.
"""
