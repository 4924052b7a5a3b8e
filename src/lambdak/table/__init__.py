"""Any table to design rows and back.

Modules: ``read``, ``cells`` what they are, and what is refused, ``plain`` short tables cell by cell; ``seen`` what a
column is chosen and fitted by, ``column_contract``, ``cell_rules`` a column as data, ``numeric_column``,
``curve_column`` and quantile levels, ``linear_column``, ``category_column``, ``column_types`` the registry; ``knots``,
``category_levels``; ``whole_columns`` of whole numbers, ``band_words`` how bands read, ``number_scale`` where numbers
stand on an axis; ``sparse``; ``design``, ``encoder``; ``rows`` targets, weights and offsets, and the rows that
count; ``frames`` results as tables and as plain text, ``shown`` in notebooks; ``content_hash`` a table as one number;
``matching`` the columns that users list, and those of another table in the order of training, ``close_names`` what a
wrong name may mean, also of an argument; ``event_times`` what was observed of rows; ``dates`` as numbers;
``doubtful_columns`` identifiers, and stray text among
numbers; ``visible`` text that neither a terminal nor a spreadsheet obeys; ``large/`` tables that do not fit into
memory: ``batches``, ``parquet`` their rows, ``summary`` what one pass learns of them, ``sketches`` of columns,
``sample`` of rows, with seals by which a later pass knows them, ``packed`` design rows as compact records, ``cache``
them on disk, shuffled.
"""
