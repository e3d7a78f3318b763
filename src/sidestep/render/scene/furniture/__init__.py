"""Small things that stand about, one file each. ``choose`` decides by name, then by shape, which one a footprint is.

Every maker covers the footprint and stays within it up to a person's height: what one sees is what one runs into.
"""
