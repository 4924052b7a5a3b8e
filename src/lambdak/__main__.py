"""``python -m lambdak``: the command line."""

from lambdak.cli import main

if __name__ == "__main__":
    main()
