"""`python -m dowse`: the same as the command `dowse`."""

from dowse.front.cli.main import main

main()
