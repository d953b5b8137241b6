"""The published studies that ship with fsbench, as data, and how they reach the database.

A study is a folder named by its slug with ``study.json`` and, where the paper printed values that
can be ranked, ``scores.csv``. ``study.json`` holds the columns of ``Study``, the hardware, and
``sections``: what the study says of itself, in a small vocabulary that one template renders.
Every section has ``id``, ``title`` and ``kind``, and may have ``text``, ``note`` and ``source``.

- facts: ``items``: [[label, value], ...]
- table: ``columns``: [...], ``rows``: [[cell, ...], ...], ``numeric``: columns set right, from 0
- list: ``items``: [sentence, ...]
- missing: ``items``: figures that were printed without values; listed, never guessed
- chart: ``unit`` (less of it is better), ``rows``: ``[[label, value as text or null, "" or "more
  than"], ...]``; null is not stated, "more than" a lower bound. ``group``: "combined" puts it next
  to the combined charts
- combined: ``category``: best write plus best read of each file system, from the study's scores
- tables: how the study's delta tables are shown: ``by`` as in a comparison, ``tests``: {test: what
  readers call it} in their order. It is no section of its own
- statements: ``items``: what the text states, ``[{"text", "place" in the paper, "check"}]``, set
  against the tables (compare.tables.statements has the kinds of checks). Without a check "why" says
  what is missing to make one
"""
