"""`python -m sk_equivae` is the command line `sk-equivae`."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
