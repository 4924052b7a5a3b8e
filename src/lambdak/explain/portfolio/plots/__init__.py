"""Pictures of performance, comparison and drift on matplotlib Axes; nothing is computed here.

- ``changes``: Changes from a current tariff: how much exposure changes by how much, and where.
- ``curves``: Lorenz and ROC curves, and calibration.
"""
