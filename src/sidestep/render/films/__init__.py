"""Films of records: from above (``top_view``) and from cameras (``cameras``), encoded by ``film``; ``first_picture`` is
what compiles the renderer."""
