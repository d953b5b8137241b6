"""Answers made of objects: a schema names where in the object each of its values stands."""

from typing import Any

from ninja import Schema
from pydantic import AliasPath, ConfigDict, Field


class Answer(Schema):
    """A schema with all its keys in every answer, also those with a default."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)


def value_at(path: str, default: Any = ..., description: str | None = None) -> Any:
    """A field with the value at ``path``; ``default`` where a part of the path is None."""
    return Field(default, validation_alias=AliasPath(*path.split(".")), description=description)


class With:
    """The object with more attributes, which its schema has besides."""

    def __init__(self, row: Any, **more: Any) -> None:
        self.__dict__.update(more)
        self._row = row

    def __getattr__(self, name: str) -> Any:
        return getattr(self._row, name)
