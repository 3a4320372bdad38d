"""Decimal numbers with a scale below 0 or above the precision, as PostgreSQL and Oracle allow them."""

from __future__ import annotations

from schemaman.model.types import Decimal

_SIGN = 2048
_MOST = 1000


def make_decimal(precision: int, scale: int) -> Decimal:
    """Make a type with digits for every value: `(5,-2)` has seven before the point, `(3,5)` five after it."""
    return Decimal(precision - scale, 0) if scale < 0 else Decimal(max(precision, scale), scale)


def restore_scale_sign(scale: int) -> int:
    """Restore the sign of PostgreSQL's scale, whose eleven bits the driver reads as unsigned.

    Source: PostgreSQL `numeric_typmod_scale`; PostgreSQL JDBC driver, TypeInfoCache.getScale.
    """
    return scale - _SIGN if scale > _MOST else scale
