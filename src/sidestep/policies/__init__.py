"""One file or folder per policy. A policy sees what it declares in ``needs`` and answers with a command, no more."""
