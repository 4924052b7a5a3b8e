"""What a fitted model offers: one method each, by what it is for; the work is done in other packages.

A method imports the package that does its work, so that who only fits and predicts does not load the readers of models.
"""

from __future__ import annotations

from lambdak.estimators.governing import Governing
from lambdak.estimators.reading import Reading
from lambdak.estimators.writing import Writing


class ModelMethods(Reading, Governing, Writing):
    """Methods of an estimator that take its frozen model."""
