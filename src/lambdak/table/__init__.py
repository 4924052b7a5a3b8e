"""Any table to design rows and back.

Modules: ``read``, ``cells``, ``plain`` short tables cell by cell, ``cell_types`` what cells are, and what is refused;
``column_contract``, ``column_settings`` by which types are chosen, ``cell_rules`` a column as data, ``numeric_column``,
``curve_column``, ``linear_column``, ``category_column``, ``column_types`` the registry; ``seen`` what training saw of a
column; ``knots``, ``category_levels``, ``categorical_features``; ``sparse``; ``design``, ``encoder``;
``quantile_levels``; ``rows`` targets, weights and offsets, and the rows that count; ``frames`` results as tables;
``column_cells`` cells in
the order of training; ``content_hash`` a table as one number; ``matching`` columns of another table with those of
training, ``close_names`` what a wrong name may mean; ``dates`` as numbers; ``doubtful_columns``: ``identifiers`` and
``stray_text`` among numbers, ``notices`` warnings at the user's line; ``visible`` text that a terminal does not obey,
``formula_text`` nor a spreadsheet; ``printed_columns`` tables as plain text; ``large/`` tables that do not fit into
memory: ``batches``, ``parquet`` their rows, ``summary`` what one pass learns of them, ``sketches`` of columns,
``sample`` of rows, ``packed`` design rows as compact records, ``cache`` them on disk, shuffled, ``seals`` whether a
later pass finds the same.
"""
