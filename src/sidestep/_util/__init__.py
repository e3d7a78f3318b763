"""Private machinery: exact arithmetic (``exact``), bounded readers (``reading``), atomic writers (``writing``),
progress bars (``progress``), optional packages (``extras``), networks in ONNX files (``onnx``), public names imported
on demand (``on_demand``), how records are shown (``record_display``), threads (``threads``), and what web servers share
(``web``, ``websockets``). Nothing here knows scenarios, policies or records.
"""
