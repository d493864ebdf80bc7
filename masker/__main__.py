"""`python -m masker` is the command `masker`."""

from masker.cli import main

main()
