"""A model as one Java class: no dependency, any number of threads, Java 8 or later."""

from lambdak.export.java.writer import to_java

__all__ = ["to_java"]
