"""The studies on random functions of one and two inputs."""
