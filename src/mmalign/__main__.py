"""`python -m mmalign` is the command `mmalign`."""

from mmalign.cli.main import main

main()
