"""What a store in PostgreSQL has to stand: other users and tables, lost connections, wrong addresses."""

from __future__ import annotations

import gzip
import random
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from schemaman.debezium.observation import Observation
from schemaman.errors import SchemamanError, StoreUnavailable, UsageError
from schemaman.history.epochs import Verdicts
from schemaman.history.versions import TableHistory
from schemaman.model.schema import TableId
from schemaman.registry import Registry
from schemaman.store.log import ObservationEntry
from schemaman.store.sql.store import SqlStore
from schemaman_cli.main import main
from tests.live.database import GUARDED, schema_of_its_own
from tests.live.process import free_port
from tests.support import log_entries as orders
from tests.support.checkout import CAPTURES
from tests.support.log_entries import batch, covered, said, schema

PASSWORD = "t0p-s3cret/wörd"
ENCODED = "t0p-s3cret%2Fw%C3%B6rd"

Fold = Callable[[Iterable[Observation], TableId], TableHistory | None]


@pytest.fixture
def url(database: str) -> str:
    return schema_of_its_own(database)


@pytest.fixture
def server(database: str) -> Iterator[psycopg.Connection]:
    """Somebody else in the same database, who may do everything."""
    with psycopg.connect(f"{database}/postgres", autocommit=True) as connection:
        yield connection


def named(url: str) -> str:
    """The schema of a store's address."""
    return url.partition("schema=")[2]


def reopened(url: str, **options: object) -> SqlStore:
    return SqlStore.open(url, fold=orders.fold, **options)  # type: ignore[arg-type]


def filled(url: str) -> None:
    """Make a store with a little history."""
    with reopened(url, create=True) as store:
        for number in range(3):
            store.append(batch(number), 4 * number)


def role(server: psycopg.Connection, name: str, *rights: str) -> None:
    """A role that may log in, with no rights but these."""
    server.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(name)))
    for right in rights:
        server.execute(right.format(name).encode())


def told(error: SchemamanError) -> str:
    """All that a user sees."""
    return f"{error.message}\n{error.hint}"


# Where the store lies


def test_a_store_is_there_again_after_closing(url: str):
    filled(url)
    with reopened(url) as first:
        identity, entries = first.id, list(first.read())
    for address in (url, url.replace("postgresql://", "postgres://")):
        with reopened(address) as again:
            assert (again.id, list(again.read())) == (identity, entries)
            assert again.check() == ()


def test_stores_of_two_schemas_know_nothing_of_each_other(database: str):
    one, other = schema_of_its_own(database), schema_of_its_own(database)
    filled(one)
    with reopened(other, create=True) as store:
        assert store.end() == 0
        store.append(batch(0), 0)
    with reopened(one) as store:
        assert store.end() == 12
        assert store.check() == ()


def test_the_usual_schema_is_called_as_the_program(database: str, server: psycopg.Connection):
    server.execute("CREATE DATABASE usual")
    filled(f"{database}/usual")
    with psycopg.connect(f"{database}/usual") as connection:
        found = connection.execute("SELECT count(*) FROM schemaman.log").fetchone()
    assert found == (12,)


def test_a_schema_of_any_name_will_do(database: str, server: psycopg.Connection):
    filled(f"{database}/postgres?schema=Ein%20%22Sch%C3%A4ma%22%3B")
    assert server.execute('SELECT count(*) FROM "Ein ""Schäma"";".log').fetchone() == (12,)


def test_names_longer_than_an_index_entry_are_kept(url: str):
    letters = random.Random(1)
    name = "".join(chr(letters.randrange(33, 0x2FFF)) for _ in range(20_000))
    odd = TableId(name[:5000], name, name[::-1], name[1:], name[:7000])
    with reopened(url, create=True) as store:
        store.append([ObservationEntry(said(schema("id"), 0, table=odd)), covered(0, 0, odd)], 0)
        assert store.tables() == (odd,)
        assert len(store.read_ranges(odd.stream)) == 1
        assert store.check() == ()


def test_a_server_of_any_name_stops_no_topic(url: str, tmp_path: Path, server: psycopg.Connection):
    letters = random.Random(2)
    name = "".join(letters.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=20_000))
    with gzip.open(
        CAPTURES / "postgres" / "shop-crash" / "records.ndjson.gz", "rt", encoding="utf-8"
    ) as file:
        told = file.read().replace('\\"name\\":\\"shopdb\\"', f'\\"name\\":\\"{name}\\"')
    assert name in told
    (tmp_path / "records.jsonl").write_text(told, encoding="utf-8")
    assert main(["ingest", str(tmp_path / "records.jsonl"), "--quiet", "--store", url]) == 0
    with reopened(url) as store:
        assert {table.server for table in store.tables()} == {name}
    found = server.execute(sql.SQL("SELECT count(*) FROM {}.form").format(sql.Identifier(named(url))))
    assert found.fetchone() != (0,)


def test_tables_of_others_are_left_alone(url: str, server: psycopg.Connection):
    place = sql.Identifier(named(url))
    server.execute(sql.SQL("CREATE SCHEMA {}").format(place))
    server.execute(sql.SQL("CREATE TABLE {}.log AS SELECT 1 AS line").format(place))
    with pytest.raises(StoreUnavailable, match="contains tables of another program: log") as caught:
        reopened(url, create=True)
    assert "schema=NAME" in (caught.value.hint or "")
    server.execute(sql.SQL("CREATE TABLE {}.meta AS SELECT 'layout' AS what").format(place))
    for create in (False, True):
        with pytest.raises(StoreUnavailable, match=r"column meta\.value does not exist"):
            reopened(url, create=create)
    tables = server.execute(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = %s ORDER BY 1", [named(url)]
    )
    assert tables.fetchall() == [("log",), ("meta",)]


def test_a_missing_store_is_not_made_by_reading(url: str, server: psycopg.Connection):
    with pytest.raises(StoreUnavailable, match="is not a store") as caught:
        reopened(url)
    assert "schemaman ingest" in (caught.value.hint or "")
    found = server.execute("SELECT count(*) FROM pg_namespace WHERE nspname = %s", [named(url)])
    assert found.fetchone() == (0,)


def test_a_newer_layout_is_refused(url: str, server: psycopg.Connection):
    filled(url)
    server.execute(
        sql.SQL("UPDATE {}.meta SET value = '99' WHERE name = 'layout'").format(sql.Identifier(named(url)))
    )
    with pytest.raises(StoreUnavailable, match="has layout 99"):
        reopened(url, create=True)


def test_a_store_is_made_once_however_many_make_it(url: str):
    gate, made, failures = threading.Barrier(6), list[str](), list[BaseException]()

    def make() -> None:
        try:
            gate.wait()
            with reopened(url, create=True) as store:
                made.append(store.id)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=make) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(made) == 6
    assert len(set(made)) == 1


# Who may do what


def test_who_may_only_read_reads(database: str, url: str, server: psycopg.Connection):
    filled(url)
    name = f"reader_{named(url)}"
    place = named(url)
    role(
        server,
        name,
        f"GRANT USAGE ON SCHEMA {place} TO {{}}",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {place} TO {{}}",
    )
    address = url.replace("postgres@", f"{name}@")
    for create in (False, True):
        with reopened(address, create=create) as store:
            assert store.end() == 12
            assert store.check() == ()
            with pytest.raises(StoreUnavailable, match="permission denied for table meta") as caught:
                store.append(batch(3), 12)
            assert "INSERT" in (caught.value.hint or "")
            with pytest.raises(StoreUnavailable, match="permission denied"):
                store.acquire("ice", "anna", 0, 1)
    with reopened(url) as store:
        assert store.end() == 12


def test_who_may_nothing_is_told_what_to_ask_for(url: str, server: psycopg.Connection):
    filled(url)
    name = f"nobody_{named(url)}"
    role(server, name)
    address = url.replace("postgres@", f"{name}@")
    with pytest.raises(StoreUnavailable, match="permission denied for schema") as caught:
        reopened(address)
    assert "USAGE on the schema" in (caught.value.hint or "")
    with pytest.raises(StoreUnavailable, match="permission denied for database") as caught:
        reopened(address.replace("schema=", "schema=other_"), create=True)
    assert "a schema of its own" in (caught.value.hint or "")


def test_a_schema_of_its_own_is_enough_to_make_a_store(url: str, server: psycopg.Connection):
    name = f"owner_{named(url)}"
    role(server, name, f"CREATE SCHEMA {named(url)} AUTHORIZATION {{}}")
    mine = url.replace("postgres@", f"{name}@")
    filled(mine)
    with reopened(mine) as store:
        assert (store.end(), store.check()) == (12, ())


def test_a_session_that_only_reads_is_told(url: str):
    filled(url)
    with reopened(f"{url}&options=-cdefault_transaction_read_only%3Don") as store:
        assert store.end() == 12
        with pytest.raises(StoreUnavailable, match="read-only transaction") as caught:
            store.append(batch(3), 12)
    assert "name one that can write" in (caught.value.hint or "")


def test_another_default_of_isolation_changes_nothing(url: str):
    options = "options=-cdefault_transaction_isolation%3Dserializable%20-csynchronous_commit%3Doff"
    with reopened(f"{url}&{options}", create=True) as one, reopened(url) as other:
        assert one.append(batch(0), 0) == 4
        assert other.append(batch(1), 4) == 8
        assert one.append(batch(2), 8) == 12
        assert one.check() == ()


# Addresses


@pytest.mark.parametrize(
    ("address", "says"),
    [
        (f"postgresql://anna:{PASSWORD}@h:99999999999999999999x/db", "cannot be read"),
        ("postgresql://anna:s3cr@t@localhost/db", "has one @ too many"),
        ("postgresql://localhost:t0p-s3cret/db", "cannot be read"),
        ("postgresql://localhost/db?schema=pg_mine", "PostgreSQL does not accept the name"),
        (f"postgresql://localhost/db?schema={'ä' * 32}", "PostgreSQL does not accept the name"),
        ("postgresql://localhost/db?schema=a&schema=b", "PostgreSQL does not accept the name"),
        ("postgresql://localhost/d%00b", "cannot be read"),
        ("postgresql://localhost:73473737/db", "ports go from 1 to 65535"),
        ("postgresql://localhost:0/db", "ports go from 1 to 65535"),
        ("postgresql://localhost/db?port=-1", "ports go from 1 to 65535"),
        ("postgresql://localhost/db?port=x", "ports are numbers"),
        ("postgresql://localhost/db?host=a,b&port=1,2,3", "one for all hosts or one for each"),
        ("postgresql://localhost/db?nonsense=1", 'invalid connection option "nonsense"'),
        ("postgresql://localhost/db?autocommit=1", 'invalid connection option "autocommit"'),
        ("postgresql://localhost/db?sslmode=perhaps", 'invalid sslmode value: "perhaps"'),
        ("postgresql://localhost/db?sslmode=require&sslmode=disable", "sslmode is said twice"),
        ("postgresql://localhost/db?connect_timeout=soon", "bad value for connect_timeout"),
        ("postgresql://127.0.0.1/db?hostaddr=here.there", "could not parse network address"),
    ],
)
def test_an_address_that_is_none_is_refused(address: str, says: str):
    with pytest.raises(UsageError, match=says) as caught:
        reopened(address)
    assert "postgresql://USER@HOST" in (caught.value.hint or "") or "%40" in (caught.value.hint or "")
    for secret in ("s3cr", PASSWORD, "73473737"):
        assert secret not in told(caught.value)


@pytest.fixture
def guarded(database: str, server: psycopg.Connection) -> str:
    """An address, without a password, at which one is asked for."""
    if not server.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [GUARDED]).fetchone():
        server.execute(
            sql.SQL("CREATE ROLE {} LOGIN SUPERUSER PASSWORD {}").format(
                sql.Identifier(GUARDED), sql.Literal(PASSWORD)
            )
        )
    return schema_of_its_own(database).replace("postgres@", f"{GUARDED}@")


def test_the_password_is_taken_from_where_clients_have_it(guarded: str, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(StoreUnavailable, match=r"cannot be reached: .*no password supplied") as caught:
        reopened(guarded, create=True)
    assert "PGPASSWORD or ~/.pgpass" in (caught.value.hint or "")
    filled(guarded.replace(GUARDED, f"{GUARDED}:{ENCODED}"))
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    with reopened(guarded) as store:
        assert store.end() == 12
        assert PASSWORD not in store.where


@pytest.mark.parametrize(
    ("part", "by", "says", "hint"),
    [
        (ENCODED, "wrong", "password authentication failed", "PGPASSWORD"),
        (GUARDED, "nemo", 'role "nemo" does not exist', "create this user"),
        ("/postgres", "/nowhere", 'database "nowhere" does not exist', "createdb"),
        ("PORT", "1", "refused", "check that the server runs"),
        ("127.0.0.1", "256.1.2.3", "cannot be reached", "host and port"),
        ("schema=", "sslmode=require&schema=", "SSL", "check"),
        ("schema=", "nonsense=1&schema=", 'invalid connection option "nonsense"', ""),
        ("schema=", "sslmode=perhaps&schema=", 'invalid sslmode value: "perhaps"', ""),
    ],
)
def test_a_server_that_cannot_be_reached_is_named_without_the_password(
    guarded: str, part: str, by: str, says: str, hint: str
):
    address = guarded.replace(f"{GUARDED}@", f"{GUARDED}:{ENCODED}@")
    if part == "PORT":
        address = address.replace(address.rpartition(":")[2].partition("/")[0], str(free_port()))
    with pytest.raises((StoreUnavailable, UsageError), match=says) as caught:
        reopened(address.replace(part, by, 1))
    assert hint in (caught.value.hint or "")
    assert "postgresql://" in caught.value.message or isinstance(caught.value, UsageError)
    for secret in (PASSWORD, ENCODED, "wrong"):
        assert secret not in told(caught.value)


# Others at the same time


def test_a_writer_in_the_middle_hinders_no_reader_and_is_not_waited_for_without_end(
    url: str, server: psycopg.Connection
):
    filled(url)
    with reopened(url, busy_ms=50) as store:
        with server.transaction():
            place = sql.Identifier(named(url))
            server.execute(sql.SQL("SELECT value FROM {}.meta FOR UPDATE").format(place))
            server.execute(sql.SQL("UPDATE {}.meta SET value = value").format(place))
            assert store.end() == 12
            assert store.check() == ()
            with pytest.raises(StoreUnavailable, match="in use by another process"):
                store.append(batch(3), 12)
        assert store.append(batch(3), 12) == 16


def test_a_check_beside_writers_sees_one_moment(url: str):
    filled(url)
    ended = threading.Event()

    def write() -> None:
        with reopened(url) as writer:
            for number in range(3, 40):
                writer.append(batch(number), 4 * number)
        ended.set()

    thread = threading.Thread(target=write)
    thread.start()
    checks = 0
    with reopened(url) as reader:
        while not ended.is_set():
            assert reader.check() == ()
            checks += 1
    thread.join()
    assert checks > 1


def test_a_race_that_the_server_ends_is_run_again(url: str, server: psycopg.Connection):
    filled(url)
    place = named(url)
    server.execute(f"CREATE SEQUENCE {place}.races".encode())
    server.execute(
        f"""CREATE FUNCTION {place}.race() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF nextval('{place}.races') < 3 THEN
                RAISE EXCEPTION 'could not serialize access' USING ERRCODE = '40001';
            END IF; RETURN NEW; END $$""".encode()
    )
    server.execute(
        f"CREATE TRIGGER race BEFORE INSERT ON {place}.log EXECUTE FUNCTION {place}.race()".encode()
    )
    with reopened(url) as store:
        recorded = Registry(store, lambda: 0).record([said(schema("id"), 90)], [covered(90, 90)])
        assert recorded.observations == 1
        assert store.end() == 14
        assert store.check() == ()


def end_sessions(server: psycopg.Connection) -> None:
    """End every other connection of schemaman, as a restart does."""
    ours = "pg_stat_activity WHERE application_name = 'schemaman'"
    server.execute(f"SELECT pg_terminate_backend(pid) FROM {ours}".encode())


def test_a_connection_that_was_lost_meanwhile_is_made_again(url: str, server: psycopg.Connection):
    with reopened(url, create=True) as store:
        store.append(batch(0), 0)
        end_sessions(server)
        assert store.append(batch(1), 4) == 8
        end_sessions(server)
        assert store.end() == 8


def test_a_connection_that_is_lost_in_the_middle_leaves_the_log_as_it_was(
    url: str, server: psycopg.Connection
):
    filled(url)

    def cutting(o: Iterable[Observation], table: TableId, verdicts: Verdicts) -> TableHistory | None:
        end_sessions(server)
        return orders.fold(o, table, verdicts)

    with SqlStore.open(url, fold=cutting) as store:
        with pytest.raises(StoreUnavailable, match=r"the connection to postgresql://.* was lost: ") as caught:
            store.append(batch(3), 12)
        assert "run the same command again" in (caught.value.hint or "")
        assert store.end() == 12
    with reopened(url) as store:
        assert store.check() == ()
        assert store.append(batch(3), 12) == 16
