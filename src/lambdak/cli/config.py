"""``lambdak config``: what runs here."""

EXAMPLES = ("lambdak config",)


def config() -> None:
    """Print the kernel in use, its instruction set, the threads and the versions."""
    from lambdak.eigen.runtime import show_config

    show_config()
