"""`python -m dowse`: the same as the command `dowse`."""

from dowse._interfaces.cli.main import main

if __name__ == "__main__":  # tools that import every module must not run it
    main()
