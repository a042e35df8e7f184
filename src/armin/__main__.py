"""``python -m armin`` is the command ``armin``."""

from armin.cli import main

if __name__ == "__main__":
    main()
