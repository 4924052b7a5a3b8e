"""Real files become memory-mapped rows, whole or not at all.

- ``cache``: A folder of raw arrays and ``meta.json``: there as a whole or not at all, and memory-mapped when it is
  used.
- ``criteo``: Criteo's text as columns of numbers: ``train.txt[.gz|.zst]`` or a Parquet sample of it.
- ``files``: Large text files, plain or compressed, as blocks of whole lines that know their line numbers.
- ``higgs``: HIGGS: 28 standardised features of 11 million rows, from ``HIGGS.csv[.gz|.zst]`` or a Parquet sample of
  it.
- ``ids``: Criteo's columns as active ids of one table, in the two ways of the paper.
- ``miniature``: Small random files in the formats of HIGGS and Criteo: to try a pipeline in seconds, without the
  data.
- ``rows``: Rows to learn from, memory-mapped: dense (HIGGS) or active ids and their values (Criteo), split in order or
  as an endless shuffled stream.
"""
