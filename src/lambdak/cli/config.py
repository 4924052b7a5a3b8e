"""``lambdak config``: what runs here."""

from lambdak.eigen.runtime import show_config

EXAMPLES = ("lambdak config",)


def config() -> None:
    """Print the kernel in use, its instruction set, the threads and the versions."""
    show_config()
