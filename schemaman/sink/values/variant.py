"""Checks JSON documents that a lake holds as VARIANT; they are passed on as text.

Law: a document that Spark's `parse_json` would refuse, or would write as another value, is unfit.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from decimal import Decimal as Number
from typing import NoReturn

from schemaman.migration.type_mapping import MAX_DIGITS
from schemaman.sink.values.values import UnfitValue, Value, abbreviate_value

_MAX_DEPTH = 500
"""The greatest depth of nested arrays and objects; Jackson, Spark's reader, allows 1000."""
_MAX_LENGTH = 4 << 20
"""The greatest number of characters; a VARIANT has at most 16 MiB. Source: Spark `VariantUtil.SIZE_LIMIT`."""
_MAX_DIGITS = 1_000
"""The greatest length of a number. Source: Jackson `StreamReadConstraints.DEFAULT_MAX_NUM_LEN`."""


def check_document(value: object) -> Value:
    """Return the text of a document if a VARIANT holds it exactly.

    Source: Spark `VariantBuilder`: whole numbers of 64 bits and decimals of 38 digits are kept as such, all
    other numbers as doubles; a repeated key is an error.
    """
    if type(value) is not str:
        raise UnfitValue(f"{abbreviate_value(value)} is no JSON text")
    if len(value) > _MAX_LENGTH:
        raise UnfitValue(f"a document of {len(value)} characters is too large for a VARIANT")
    try:
        found = json.loads(
            value,
            object_pairs_hook=_check_object,
            parse_float=_check_number,
            parse_int=_check_number,
            parse_constant=_refuse_constant,
        )
        _check_depth(found)
        if "\\u" in value:
            json.dumps(found, ensure_ascii=False).encode()
    except UnfitValue:
        raise
    except UnicodeEncodeError:
        raise UnfitValue("a document with half a surrogate pair, which is no Unicode") from None
    except RecursionError:
        raise UnfitValue("a document that is nested too deeply for a VARIANT") from None
    except ValueError as error:
        raise UnfitValue(f"not a JSON document that a VARIANT can hold: {error}") from None
    return value


def _check_object(entries: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(entries)
    if len(found) < len(entries):
        raise UnfitValue("a document with a key that comes twice, which a VARIANT cannot hold")
    return found


def _check_number(text: str) -> int:
    """Raises UnfitValue for a number that would be rounded; the returned number is not used."""
    number = Number(text) if len(text) <= _MAX_DIGITS else Number("NaN")
    digits, exponent = number.as_tuple().digits, number.as_tuple().exponent
    plain = "e" not in text.lower() and isinstance(exponent, int)
    if plain and max(len(digits), -int(exponent)) <= MAX_DIGITS:
        return 0
    nearest = float(text) if number.is_finite() else math.inf
    if not math.isfinite(nearest) or Number(repr(nearest)) != number:
        raise UnfitValue(f"a VARIANT cannot hold the number {text[:50]} of a document exactly")
    return 0


def _refuse_constant(text: str) -> NoReturn:
    raise UnfitValue(f"a document with {text}, which is no JSON")


def _check_depth(found: object) -> None:
    level, depth = [found], 0
    while level:
        depth += 1
        if depth > _MAX_DEPTH:
            raise RecursionError
        level = [one for each in level for one in _list_children(each)]


def _list_children(found: object) -> Iterable[object]:
    match found:
        case dict():
            return found.values()
        case list():
            return found
        case _:
            return ()
