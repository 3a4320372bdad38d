"""Row changes of the recordings: no row is missing, none is false, and they have the order of the source."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache

import pytest

from schemaman.debezium.observation import Reject, Skipped
from schemaman.model.name_adjustment import list_adjusted_forms
from schemaman.model.types import Integer
from schemaman.sink.reader import RowReader
from schemaman.sink.row_change import RowChange, RowOutcome
from schemaman.sink.values.connector_modes import UNKNOWN_MODES, ConnectorModes
from schemaman.sink.values.values import OutOfRange
from tests.lake_state import cells as judged
from tests.lake_state import recording as judge
from tests.lake_state.cells import UNAVAILABLE, Wire, cell
from tests.lake_state.without_schemas import untold_wire
from tests.support import chain
from tests.support.checkout import CAPTURES
from tests.support.records import records, registry

Figure = Callable[[str, object], None]

TYPED = (
    *(f"mariadb/bookshop-{name}" for name in ("mariadb-2.7.0-json", "mariadb-3.5.0-json")),
    *(f"mariadb/bookshop-mysql-{name}" for name in ("1.4.2-json", "1.9.8-json", "2.5.4-avro")),
    *(f"postgres/shop-{name}" for name in ("avro", "avro-old", "busy", "crash", "downtime")),
    *(f"postgres/shop-{name}" for name in ("downtime-newest", "incremental", "json", "names-avro")),
    *(f"postgres/shop-{name}" for name in ("names-none", "names-unicode", "oldest", "upgrade")),
    "postgres/shop-upgrade-avro",
    "postgres/shop-flat-routed",
)  # fmt: skip
"""The recordings whose events bring their schemas."""


PLAIN = {
    "mariadb": ConnectorModes(
        decimal="precise", time="adaptive_time_microseconds", binary="bytes", unsigned="long"
    ),
    "db2": ConnectorModes(decimal="precise", time="adaptive", binary="bytes"),
}
"""What the connectors do where nothing is configured, in the recordings without schemas."""
DB2 = tuple(
    f"db2/{name}"
    for name in ("shop-1.9.8-json", "shop-2.5.4-avro", "shop-3.4.1-avro-unicode", "shop-3.4.1-transactions",
                 "incremental-3.4.1-json")
)  # fmt: skip


@cache
def outcomes(run: str) -> tuple[RowOutcome, ...]:
    """What each record of a recording is, in the order of arrival."""
    folder = CAPTURES / run
    histories = {history.table: history for history in chain.histories(run)}
    modes = PLAIN.get(run.partition("/")[0], UNKNOWN_MODES) if run.endswith("-plain") else UNKNOWN_MODES
    reader = RowReader(histories, registry(folder), stream=chain.STREAM, modes=modes)
    return tuple(reader.read_all(records(folder)))


def last_state(run: str) -> dict[str, dict[object, object]]:
    """The rows of each table with a key, by its key, as the greatest change of each left them."""
    newest: dict[tuple[str, object], RowChange] = {}
    for change in sorted(changes(run), key=lambda c: c.order):
        table = ".".join(change.table.parts[-2:])
        if change.op == "t":
            newest = {place: c for place, c in newest.items() if place[0] != table}
        elif change.key is not None:
            newest[table, tuple(sorted(change.key.items()))] = change
    found: dict[str, dict[object, object]] = {}
    for (table, key), change in newest.items():
        if not change.deleted and not change.unavailable:
            found.setdefault(table, {})[key] = change.after
    return found


def changes(run: str, table: str = "") -> list[RowChange]:
    found = [o for o in outcomes(run) if isinstance(o, RowChange)]
    return [o for o in found if not table or ".".join(o.table.parts[-2:]) == table]


@pytest.mark.parametrize("run", [*TYPED, *DB2])
def test_each_record_of_a_recording_is_a_change_of_a_row_or_known_to_be_none(run: str) -> None:
    told = outcomes(run)
    kinds = Counter(o.kind if isinstance(o, Skipped) else type(o).__name__ for o in told)
    # 1.4 declares no structure: -1 is 2^64-1 of a BIGINT UNSIGNED there, and might be itself
    assert kinds.pop("Reject", 0) == (1 if run.endswith("mysql-1.4.2-json") else 0)
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
    assert endless["c_ts6"] == endless["c_date"] == OutOfRange("infinity")
    assert endless["c_tstz"] == OutOfRange("-infinity")


@pytest.mark.parametrize(("run", "rows"), [("mariadb/bookshop-mariadb-3.5.0", 35), ("db2/shop-3.4.1", 31)])
def test_rows_without_schemas_have_the_values_of_rows_with_schemas(run: str, rows: int) -> None:
    plain, full = changes(f"{run}-plain"), changes(f"{run}-json")
    assert len(plain) == len(full) == rows
    for one, other in zip(plain, full, strict=True):
        assert (one.table, one.op, one.key, one.before, one.after) == (
            (other.table, other.op, other.key, other.before, other.after)
        )
        assert (one.version, one.order) == (other.version, other.order)


def test_rows_without_schemas_are_refused_where_a_mode_could_change_them() -> None:
    folder = CAPTURES / "mariadb/bookshop-mariadb-3.5.0-plain"
    histories = {h.table: h for h in chain.histories("mariadb/bookshop-mariadb-3.5.0-plain")}
    told = [RowReader(histories).read(r) for r in records(folder) if r.value is not None]
    reasons = {o.reason.partition(": ")[2] for o in told if isinstance(o, Reject)}
    assert reasons == {
        f"it came without a schema, and {setting} is not configured"
        for setting in ("time.precision.mode", "decimal.handling.mode", "bigint.unsigned.handling.mode")
    }
    # a row that holds nothing of the kind is read, and of one that was deleted nothing but its key is asked
    assert sum(isinstance(o, RowChange) for o in told) == 21
    gone = [o for o in told if isinstance(o, RowChange) and o.deleted]
    assert [bool(o.unread_reasons) for o in gone] == [True, True]
    assert all("is not configured" in reason for o in gone for reason in o.unread_reasons.values())


@pytest.mark.parametrize("run", ["shop-modes", "shop-flat-plain"])
def test_rows_that_only_json_types_are_rejected_each_with_the_reason(run: str) -> None:
    told = outcomes(f"postgres/{run}")
    rejected = [o for o in told if isinstance(o, Reject)]
    assert {type(o).__name__ for o in told} - {"Skipped"} <= {"Reject", "RowChange"}
    assert {o.op for o in told if isinstance(o, RowChange)} <= {"t"}
    assert len(rejected) == {"shop-modes": 389, "shop-flat-plain": 93}[run]
    why = Counter(_why(o.reason) for o in rejected)
    # a tombstone behind a delete that is rejected is part of it; where a delete is a bare null itself, nobody
    # knows where it stands in a table that has nothing but such rows
    deletes = {
        "shop-modes": {},
        "shop-flat-plain": {"of several tables": 3, "how far its partition": 3},
    }[run]
    assert why == {"does not contain the type": len(rejected) - sum(deletes.values())} | deletes


def _why(reason: str) -> str:
    words = ("does not contain the type", "of several tables", "how far its partition")
    return next((word for word in words if word in reason), reason)


def test_shards_in_one_topic_are_told_apart_and_deletes_that_were_rewritten_are_deletes() -> None:
    told = [o for o in outcomes("postgres/shop-flat-routed") if isinstance(o, RowChange)]
    assert {c.table.table for c in told} == {"parts", "sales_eu", "sales_us"}
    assert all(not name.startswith("__") for c in told for name in c.schema.names)
    assert all(c.key is not None and set(c.key) <= {"id", "code"} for c in told)
    gone = [(c.table.table, c.key) for c in told if c.deleted]
    assert ("sales_us", {"id": 20}) in gone
    assert all(c.after is None for c in told if c.deleted)


@pytest.mark.parametrize("run", ["avro", "avro-old", "oldest"])
def test_the_same_statements_leave_the_same_rows_whatever_wrote_them(run: str) -> None:
    one, other = last_state("postgres/shop-json"), last_state(f"postgres/shop-{run}")
    compared = 0
    for table in one.keys() & other.keys():
        for key in one[table].keys() & other[table].keys():
            here, there = one[table][key], other[table][key]
            assert isinstance(here, dict)
            assert isinstance(there, dict)
            for name in (here.keys() & there.keys()) - OF_THE_MOMENT:
                assert here[name] == there[name], (table, key, name)
                compared += 1
    assert compared > 2000


OF_THE_MOMENT = {"created_at", "placed_at", "updated_at", "d_now", "d_uuid"}
"""Columns that the database fills with the time, or with a new identifier."""


@pytest.mark.parametrize("run", [name for name in (*TYPED, *DB2) if name != "postgres/shop-crash"])
def test_the_order_of_a_row_is_that_in_which_its_changes_arrived(run: str) -> None:
    arrived: dict[object, list[RowChange]] = {}
    for change in changes(run):
        key = None if change.key is None else tuple(sorted(change.key.items()))
        arrived.setdefault((change.table, change.record.topic, change.record.partition, key), []).append(
            change
        )
    for told in arrived.values():
        assert [c.order for c in told] == sorted(c.order for c in told)


def test_what_a_crash_delivered_again_takes_the_place_that_it_had() -> None:
    told = changes("postgres/shop-crash")
    ordered = sorted(told, key=lambda c: c.order)
    places = [(c.position.rank, c.op == "r") for c in ordered]
    assert places == sorted(places, key=lambda p: (p[0], not p[1]))
    # thrice it arrived, and the rows are as if it had come once
    first: dict[object, RowChange] = {}
    for change in told:
        first.setdefault((change.table, change.position, change.op, str(change.key)), change)
    assert len(first) == len(told) - 28
    for change in told:
        again = first[change.table, change.position, change.op, str(change.key)]
        assert change.after == again.after or change.schema != again.schema


def test_transactions_that_overlap_are_ordered_by_their_commits() -> None:
    told = [c for c in changes("postgres/shop-busy") if c.op != "r"]
    ordered = sorted(told, key=lambda c: c.order)
    commits = [int(c.position.commit) for c in ordered if c.position.commit]
    assert commits == sorted(commits)
    assert [c.position.rank[1] for c in ordered] != sorted(c.position.rank[1] for c in ordered)


def _local(microseconds: int) -> datetime:
    return datetime(2024, 1, 1, 0, 0, 0, microseconds)  # noqa: DTZ001


@pytest.mark.parametrize("run", [*TYPED, "mariadb/bookshop-mariadb-3.5.0-plain"])
def test_each_cell_is_what_a_reader_of_its_own_finds_in_it(run: str, figure: Figure) -> None:
    told = {(c.record.topic, c.record.partition, c.record.offset): c for c in changes(run)}
    settings = json.loads((CAPTURES / run / "meta.json").read_text("utf-8"))["settings"][0]
    compared = 0
    refused = {(o.topic, o.partition, o.offset) for o in outcomes(run) if isinstance(o, Reject)}
    events = {e.place: e for e in judge.read(CAPTURES / run) if e.place not in refused}
    assert events.keys() == told.keys()
    for place, event in events.items():
        change = told[place]
        assert change.op == event.op
        if change.deleted and "flat" in run:
            continue
        for image, cells in ((event.before, change.before), (event.after, change.after)):
            # of what was deleted nothing is after
            assert (image is None) == (cells is None)
            for field, raw in (image or {}).items():
                name = _column(field, tuple(image or ()), change.schema.names)
                assert cells is not None
                wire = event.wires[field] if event.wires is not None else _untold(change, name, settings)
                wanted = cell(wire, raw)
                if wanted is UNAVAILABLE:
                    assert name not in cells
                    assert image is event.before or name in change.unavailable
                else:
                    assert _agree(cells[name], _without_sign(wanted, change, name)), (
                        place,
                        name,
                        cells[name],
                        wanted,
                    )
                    compared += 1
    figure(f"cells of {run} compared with an independent reader", compared)
    assert compared > 50


def _column(field: str, fields: tuple[str, ...], names: tuple[str, ...]) -> str:
    """The column that travels in a field: by its place, as adjusted names may be those of other columns."""
    if len(fields) == len(names):
        return names[fields.index(field)]
    return field if field in names else next(name for name in names if field in list_adjusted_forms(name))


def _untold(change: RowChange, name: str, settings: dict[str, str]) -> Wire:
    column = change.schema.column(name)
    assert column is not None
    return untold_wire((column.source_type or "").lower(), settings)


def _without_sign(value: object, change: RowChange, name: str) -> object:
    column = change.schema.column(name)
    unsigned = column is not None and column.type == Integer(64, signed=False)
    return value + 2**64 if unsigned and isinstance(value, int) and value < 0 else value


def _agree(own: object, wanted: object) -> bool:
    """Whether a value is a cell of the judge, who has spans where here are texts."""
    match wanted:
        case judged.Beyond():
            return isinstance(own, OutOfRange)
        case timedelta():
            return isinstance(own, str) and _span(own) == wanted
        case tuple():
            return isinstance(own, tuple) and len(own) == len(wanted) and all(map(_agree, own, wanted))
        case dict():
            return isinstance(own, dict) and own.keys() == wanted.keys() and all(
                _agree(own[name], wanted[name]) for name in wanted
            )  # fmt: skip
        case _:
            return type(own) is type(wanted) and own == wanted


def _span(text: str) -> timedelta:
    clock = re.fullmatch(r"(-?)(\d+):(\d\d):(\d\d)(?:\.(\d+))?", text)
    if clock is not None:
        sign, hours, minutes, seconds, behind = clock.groups()
        micros = int((behind or "").ljust(6, "0"))
        found = timedelta(hours=int(hours), minutes=int(minutes), seconds=int(seconds), microseconds=micros)
        return -found if sign else found
    parts = re.fullmatch(r"(-?)P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d+))?S)?)?", text)
    assert parts is not None, text
    days, hours, minutes, seconds = (int(part or 0) for part in parts.groups()[1:5])
    micros = int((parts[6] or "").ljust(6, "0"))
    found = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds, microseconds=micros)
    return -found if parts[1] else found
