"""New rows of several models, written together."""

from itertools import groupby

from django.db import models

_AT_ONCE = 500
"""Rows of one statement."""


def insert_together(*rows: models.Model) -> None:
    """Write new objects of any models, in their order, and set their keys.

    Neighbours of one model share a statement. Their ``save`` is not called, and no signals are
    sent. None may need the key that another one gets here. The caller holds the transaction.
    """
    for model, group in groupby(rows, key=lambda row: row._meta.model):
        model._base_manager.bulk_create(list(group), batch_size=_AT_ONCE)
