"""Private machinery: exact arithmetic (``exact``), bounded readers (``reading``), atomic writers (``writing``), progress
bars (``progress``), optional packages (``extras``) and networks in ONNX files (``onnx``). Nothing here knows scenarios,
policies or records.
"""
