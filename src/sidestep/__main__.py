"""``python -m sidestep`` is the command line."""

from sidestep.cli import main

if __name__ == "__main__":
    main()
