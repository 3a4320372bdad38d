"""Row changes of the recordings: no row is missing, none is false, and they have the order of the source."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache

import pytest

from schemaman.evidence import Aside
from schemaman.rows.change import RowChange, RowOutcome
from schemaman.rows.reader import RowReader
from schemaman.rows.values import Beyond
from tests import chain
from tests.house import CAPTURES
from tests.records import records, registry

TYPED = (
    *(f"mariadb/bookshop-{name}" for name in ("mariadb-2.7.0-json", "mariadb-3.5.0-json")),
    *(f"mariadb/bookshop-mysql-{name}" for name in ("1.4.2-json", "1.9.8-json", "2.5.4-avro")),
    *(f"postgres/shop-{name}" for name in ("avro", "avro-old", "busy", "crash", "downtime")),
    *(f"postgres/shop-{name}" for name in ("downtime-newest", "incremental", "json", "names-avro")),
    *(f"postgres/shop-{name}" for name in ("names-none", "names-unicode", "oldest", "upgrade")),
    "postgres/shop-upgrade-avro",
)  # fmt: skip
"""The recordings whose events bring their schemas."""


@cache
def outcomes(run: str) -> tuple[RowOutcome, ...]:
    """What each record of a recording is, in the order of arrival."""
    folder = CAPTURES / run
    histories = {history.table: history for history in chain.histories(run)}
    reader = RowReader(histories, registry(folder), stream=chain.STREAM)
    return tuple(reader.read_all(records(folder)))


def changes(run: str, table: str = "") -> list[RowChange]:
    found = [o for o in outcomes(run) if isinstance(o, RowChange)]
    return [o for o in found if not table or ".".join(o.table.parts[-2:]) == table]


@pytest.mark.parametrize("run", TYPED)
def test_each_record_of_a_recording_is_a_change_of_a_row_or_known_to_be_none(run: str) -> None:
    told = outcomes(run)
    kinds = Counter(o.kind if isinstance(o, Aside) else type(o).__name__ for o in told)
    assert kinds.keys() <= {"RowChange", "tombstone", "transaction", "heartbeat", "message", "schema-change"}
    assert len(told) == len(list(records(CAPTURES / run)))
    # a tombstone follows each delete, and nothing else
    assert kinds["tombstone"] == sum(o.deleted for o in told if isinstance(o, RowChange))


@pytest.mark.parametrize("run", TYPED)
def test_values_are_those_of_a_version_of_the_history_under_the_names_of_the_source(run: str) -> None:
    versions = {(h.table, v.number): v.schema for h in chain.histories(run) for v in h.versions}
    for change in changes(run):
        schema = versions[change.table, change.version or 0]
        for row in (change.before, change.after):
            assert row is None or row.keys() <= set(schema.names)
        assert change.schema == schema
        if change.after is not None:
            assert change.after.keys() | change.unavailable <= set(schema.names)


def test_every_type_of_postgresql_has_its_exact_value() -> None:
    rows = {
        c.key["id"]: c.after for c in changes("postgres/shop-json", "shop.all_types") if c.key and c.after
    }
    row = rows["00000000-0000-0000-0000-000000000001"]
    told = {name: row[name] for name in row if name != "c_point"}
    assert told == {
        "id": "00000000-0000-0000-0000-000000000001", "c_bool": True, "c_int2": -32768, "c_int4": 2**31 - 1,
        "c_int8": 2**63 - 1, "c_oid": 42, "c_f4": 1.5, "c_f8": 2.25, "c_num": Decimal("123456789.123456789"),
        "c_num_p": Decimal(12345678), "c_num_ps": Decimal("1234567890.0123456789"),
        "c_num_neg": Decimal(12300), "c_money": Decimal("1234.56"), "c_char": "x", "c_char5": "abc  ",
        "c_vc": "vc", "c_vc20": "vc20", "c_text": "text", "c_name": "nm", "c_bytea": b"\xde\xad\xbe\xef",
        "c_bit1": True, "c_bit7": b"\x55", "c_varbit": b"\x33", "c_date": date(2024, 2, 29),
        "c_time": "23:59:59.123456", "c_time0": "12:00:01", "c_time3": "12:00:01.123",
        "c_time6": "12:00:01.123456", "c_timetz": "10:00:01.5Z", "c_ts0": _local(0), "c_ts3": _local(123000),
        "c_ts6": _local(123456), "c_ts": _local(123456),
        "c_tstz": datetime(2023, 12, 31, 18, 30, 0, 123456, UTC),
        "c_tstz3": datetime(2024, 1, 1, 0, 0, 0, 123000, UTC), "c_interval": "P429DT7H5M6.789S",
        "c_json": '{"a": 1}', "c_jsonb": '{"b": [1, 2]}', "c_xml": "<a>1</a>", "c_inet": "10.1.2.3/24",
        "c_cidr": "10.0.0.0/8", "c_mac": "08:00:2b:01:02:03", "c_mac8": "08:00:2b:01:02:03:04:05",
        "c_int_arr": (1, 2, None), "c_text_arr": ("a", None, "c d"), "c_num_arr": row["c_num_arr"],
        "c_ts_arr": (_local(0),), "c_uuid_arr": ("00000000-0000-0000-0000-000000000009",), "c_enum": "paid",
        "c_enum_arr": ("new", "shipped"), "c_domain": Decimal("9.99"), "c_email": "X@y.example",
        "c_citext": "CiText", "c_hstore": '{"k":"v","n":null}', "c_int4range": "[1,5)",
        "c_tsrange": '["2024-01-01 00:00:00","2024-02-01 00:00:00")', "c_tsvector": "'cat' 'fat'",
    }  # fmt: skip
    endless = rows["00000000-0000-0000-0000-000000000003"]
    assert endless["c_ts6"] == endless["c_date"] == Beyond("infinity")
    assert endless["c_tstz"] == Beyond("-infinity")


def _local(microseconds: int) -> datetime:
    return datetime(2024, 1, 1, 0, 0, 0, microseconds)  # noqa: DTZ001
