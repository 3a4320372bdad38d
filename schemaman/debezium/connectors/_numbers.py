"""Decimal numbers whose scale lies outside of their precision, as PostgreSQL and Oracle allow them."""

from __future__ import annotations

from schemaman.model.types import Decimal

_SIGN = 2048
_MOST = 1000


def make_decimal(precision: int, scale: int) -> Decimal:
    """The digits that hold every value: `(5,-2)` has seven before the point, `(3,5)` five behind it."""
    return Decimal(precision - scale, 0) if scale < 0 else Decimal(max(precision, scale), scale)


def restore_scale_sign(scale: int) -> int:
    """A scale of PostgreSQL, whose eleven bits the driver reads without their sign.

    Source: PostgreSQL `numeric_typmod_scale`; PostgreSQL JDBC driver, TypeInfoCache.getScale.
    """
    return scale - _SIGN if scale > _MOST else scale
