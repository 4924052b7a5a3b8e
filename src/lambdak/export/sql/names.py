"""Names in a query: which of them a database cannot tell apart, and what the results are called."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lambdak.export.formula import Formula
from lambdak.export.sql.dialects import Dialect
from lambdak.export.sql.script import PREFIX
from lambdak.model.rows import check_offset


def check_columns(dialect: Dialect, names: Sequence[str]) -> None:
    """Refuse columns of the model that would be one column of a table."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(identity(dialect, name), name)
        if other != name:
            raise ValueError(
                f"columns {other!r} and {name!r} are one name for {dialect.title}, which {_reason(dialect)}: rename "
                "one of them before the fit"
            )


def check_results(dialect: Dialect, results: Sequence[str], taken: Iterable[str]) -> None:
    """Refuse results that would have the name of a column, or of each other."""
    columns = {identity(dialect, name): name for name in taken}
    seen: set[str] = set()
    for name in results:
        same = identity(dialect, name)
        if same in columns:
            raise ValueError(
                f"the result {name!r} would have the name of the column {columns[same]!r}: choose another prefix, such "
                "as prefix='model_'"
            )
        if same in seen:
            raise ValueError(
                f"two results would be called {name!r} by {dialect.title}, which {_reason(dialect)}: rename classes or "
                f"columns before the fit{', or choose a shorter prefix' if dialect.most_name_bytes is not None else ''}"
            )
        seen.add(same)


def table_name(dialect: Dialect, table: str | Sequence[str]) -> str:
    """A table, or a schema and a table, as quoted names."""
    parts = [table] if isinstance(table, str) or not isinstance(table, Iterable) else list(table)
    if not parts or not all(isinstance(part, str) and part for part in parts):
        raise ValueError(f"table must be a name, or a schema and a name such as ('main', 'rows'); got {table!r}")
    if len(parts) == 1 and parts[0].lower().startswith(PREFIX):
        raise ValueError(f"table must not begin with {PREFIX!r}, as the steps of the query do; got {parts[0]!r}")
    return ".".join(map(dialect.name, parts))


def column_names(names: str | Sequence[str] | None, what: str) -> list[str] | None:
    """One or several names of columns."""
    if names is None:
        return None
    found = [names] if isinstance(names, str) or not isinstance(names, Iterable) else list(names)
    if not found or not all(isinstance(name, str) and name for name in found):
        raise ValueError(f"{what} must be the name of a column, or several; got {names!r}")
    return found


def offset_name(formula: Formula, offset: str | None) -> str | None:
    """The name of the column that is added to raw scores, of a model that takes one."""
    if offset is None:
        return None
    check_offset(formula.model.loss)
    if not isinstance(offset, str) or not offset:
        raise ValueError(f"offset must be the name of a column; got {offset!r}")
    return offset


def result_names(formula: Formula) -> dict[str, str]:
    """What the columns of the last step are called: p0, p1, … and label."""
    names = {f"p{i}": name for i, name in enumerate(formula.result_names)}
    return names | ({"label": "label"} if formula.labels else {})


def identity(dialect: Dialect, name: str) -> str:
    """What two names have in common if they are one for the database."""
    if dialect.most_name_bytes is not None:
        name = name.encode(errors="surrogatepass")[: dialect.most_name_bytes].decode(errors="ignore")
    return name.lower() if dialect.folds_case else name


def _reason(dialect: Dialect) -> str:
    if dialect.folds_case:
        return "does not tell upper from lower case"
    return f"reads the first {dialect.most_name_bytes} bytes of a name only"
