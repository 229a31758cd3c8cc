"""The types a schema can name, as plain values: no pyarrow, so that `validate` stays quick."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Type:
    """One type: a word (`BIGINT`) and what it carries."""

    name: str
    """BOOLEAN TINYINT SMALLINT INT BIGINT FLOAT DOUBLE DECIMAL STRING BINARY DATE TIMESTAMP ARRAY MAP STRUCT."""
    precision: int = 0
    scale: int = 0
    element: Type | None = None
    """Of an ARRAY its elements, of a MAP its values (the keys are STRING)."""
    fields: tuple[Field, ...] = ()
    """Of a STRUCT."""

    def __str__(self) -> str:
        match self.name:
            case "DECIMAL":
                return f"DECIMAL({self.precision},{self.scale})"
            case "ARRAY":
                return f"ARRAY<{self.element}>"
            case "MAP":
                return f"MAP<STRING, {self.element}>"
            case "STRUCT":
                return f"STRUCT<{', '.join(field.ddl(':') for field in self.fields)}>"
        return self.name


@dataclass(frozen=True, slots=True)
class Field:
    """A named type: a column of the schema, or a field of a STRUCT."""

    name: str
    type: Type
    nullable: bool = True
    comment: str = ""

    def ddl(self, colon: str = "") -> str:
        """This field as DDL text; it reads back as the same field."""
        parts = ["`" + self.name.replace("`", "``") + "`" + colon, str(self.type)]
        if not self.nullable:
            parts.append("NOT NULL")
        if self.comment:
            parts.append("COMMENT '" + self.comment.replace("\\", "\\\\").replace("'", "\\'") + "'")
        return " ".join(parts)


def to_ddl(fields: tuple[Field, ...]) -> str:
    """The schema as DDL text that `parse_ddl` reads back."""
    return ", ".join(field.ddl() for field in fields)
