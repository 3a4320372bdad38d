"""Fixtures of every test: the one Spark session, a database server, `--bless`, and a place for figures."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer

from tests.live.database import database_server
from tests.live.process import NotReady
from tests.proof import FIGURES, Figures
from tests.support import small_session
from tests.support.checkout import PROOF
from tests.workers import SHARED, SharedRun, order_of_start

settings.register_profile("quick", max_examples=30, derandomize=True, deadline=None)
settings.register_profile(
    "proof", max_examples=1000, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("proof" if PROOF else "quick")

# The browser belongs to `make proof`, which asks for Chromium, and so do tests of the example job, each of
# which costs a start of Spark or more; a plain run does not collect these at all.
_JOBS = (
    "spark/test_example_job_killed.py",
    "spark/test_example_job.py",
    "live/test_example_job.py",
    "live/test_automatic_page.py",
)
collect_ignore = [] if PROOF else ["browser", *_JOBS]

_FIGURES = pytest.StashKey[Figures]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--bless` writes what came out into the stories and goldens; the reviewer reads the diff."""
    parser.addoption("--bless", action="store_true", help="rewrite expected blocks and golden files")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> SharedRun:
    """Where several processes share a run."""
    return SharedRun(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs Java or a server, and let the long groups start first."""
    for item in items:
        folder = Path(item.nodeid.partition("::")[0]).parts[1]
        if folder in {*SHARED, "browser"} or {"database", "spark"} & {*getattr(item, "fixturenames", ())}:
            item.add_marker(pytest.mark.servers)
    items.sort(key=lambda item: order_of_start(item.nodeid))


def pytest_configure(config: pytest.Config) -> None:
    """A run has one set of figures, and hears SIGINT, though a shell started it in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    config.stash[_FIGURES] = Figures()
    if not PROOF:
        _write_to_memory()
        os.environ.setdefault("SPARK_SUBMIT_OPTS", small_session.JAVA_OPTIONS)


def _write_to_memory(folder: str = "/dev/shm") -> None:
    """Put temporary files into memory: thousands of small stores then wait for no disk. A proof does wait."""
    if "TMPDIR" not in os.environ and os.access(folder, os.W_OK) and shutil.disk_usage(folder).free > 4 << 30:
        os.environ["TMPDIR"] = folder
        tempfile.tempdir = None


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A piece of a proof in which nothing failed writes its figures down."""
    place = os.environ.get(FIGURES)
    if PROOF and place and not session.testsfailed:
        session.config.stash[_FIGURES].save(Path(place), session.testscollected)


@pytest.fixture(scope="session")
def bless(request: pytest.FixtureRequest) -> bool:
    """Whether expected texts are to be rewritten instead of compared."""
    return bool(request.config.getoption("--bless"))


@pytest.fixture(scope="session")
def figure(request: pytest.FixtureRequest) -> Callable[[str, object], None]:
    """`figure("kills of ingest", 20)` puts a line into `docs/proof.md` when a run is a proof."""
    return request.config.stash[_FIGURES].add


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the lake tables of this run lie."""
    return tmp_path_factory.mktemp("warehouse")


@pytest.fixture(scope="session")
def database() -> Iterator[str]:
    """`postgresql://` URL, without a database, of a PostgreSQL server with logical decoding."""
    try:
        with database_server() as url:
            yield url
    except NotReady as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None


@pytest.fixture(scope="session")
def spark(warehouse: Path) -> Iterator[object]:
    """The one Spark session of a run, with Delta and Iceberg, on two local cores."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # Spark costs seconds to import: only runs that ask for it pay.
    from schemaman.spark.session import start_session

    spark = start_session(
        warehouse=warehouse, master="local[2]", settings={} if PROOF else small_session.SETTINGS
    )
    if not PROOF:
        small_session.keep_classes(spark)
    yield spark
    spark.stop()
