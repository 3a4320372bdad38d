"""The catalogues of the settings: what Spark is told, what is refused, and what nobody may see."""

from __future__ import annotations

import pytest

from schemaman.errors import BadConfiguration
from schemaman.migration.settings import (
    CatalogSetting,
    list_packages,
    read_catalogs,
    spark_settings,
)
from schemaman.settings import SettingsFile, read_settings
from schemaman.store.urls import is_secret, without_password

TEXT = """
[catalogs.lake]
type = "rest"
uri = "https://catalog.example/api"
credential = "env:LAKE_CREDENTIAL"
s3.path-style-access = true
"client.region" = "eu-central-1"

[catalogs.team]
type = "jdbc"
uri = "jdbc:postgresql://db/iceberg"
warehouse = "s3://lake/warehouse"
packages = ["org.apache.iceberg:iceberg-aws-bundle:1.11.0"]
"""


def catalogs(text: str) -> tuple[CatalogSetting, ...]:
    return read_settings({}, {}, SettingsFile("/p/schemaman.toml", text)).catalogs.value


def test_a_catalogue_becomes_settings_of_spark() -> None:
    lake, team = catalogs(TEXT)
    assert spark_settings(lake, {"LAKE_CREDENTIAL": "who:what"}) == {
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "rest",
        "spark.sql.catalog.lake.cache-enabled": "false",
        "spark.sql.catalog.lake.uri": "https://catalog.example/api",
        "spark.sql.catalog.lake.credential": "who:what",
        "spark.sql.catalog.lake.s3.path-style-access": "true",
        "spark.sql.catalog.lake.client.region": "eu-central-1",
    }
    assert spark_settings(team, {})["spark.sql.catalog.team.jdbc.schema-version"] == "V1"


def test_what_a_catalogue_says_wins_over_what_its_type_does() -> None:
    (own,) = catalogs("[catalogs.own]\ntype = 'jdbc'\ncache-enabled = true\njdbc.schema-version = 'V0'")
    told = spark_settings(own, {})
    assert told["spark.sql.catalog.own.cache-enabled"] == "true"
    assert told["spark.sql.catalog.own.jdbc.schema-version"] == "V0"


def test_the_jars_that_catalogues_need_are_named_once() -> None:
    glue = CatalogSetting("g", "glue")
    assert list_packages([*catalogs(TEXT), glue]) == (
        "org.postgresql:postgresql:42.7.8",
        "org.apache.iceberg:iceberg-aws-bundle:1.11.0",
    )


def test_a_secret_comes_from_the_environment_or_not_at_all() -> None:
    lake, _ = catalogs(TEXT)
    with pytest.raises(
        BadConfiguration, match=r"catalogs.lake.credential .* LAKE_CREDENTIAL, which is not set"
    ):
        spark_settings(lake, {})


@pytest.mark.parametrize(
    "option",
    ["credential", "token", "jdbc.password", "s3.secret-access-key", "s3.access-key-id",
     "header.Authorization", "s3.session-token"],
)  # fmt: skip
def test_what_is_secret_is_known_by_its_name(option: str) -> None:
    assert is_secret(f"spark.sql.catalog.lake.{option}")


def test_the_token_in_the_address_of_a_server_is_hidden() -> None:
    told = without_password("sc://spark.example:15002/;token=abc;user_id=me")
    assert told == "sc://spark.example:15002/;token=***;user_id=me"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("catalogs = 'rest'", "catalogues are written as [catalogs.NAME]"),
        ("[catalogs]\ntype = 'rest'", "catalogues are written as [catalogs.NAME]"),
        ("[catalogs.lake]\nuri = 'x'", "needs a type, one of rest, jdbc, hadoop, hive, glue; found None"),
        ("[catalogs.lake]\ntype = 'nessie'", "one of rest, jdbc, hadoop, hive, glue; found 'nessie'"),
        ("[catalogs.'a-b']\ntype = 'rest'", "'a-b' cannot be the name of a catalogue"),
        ("[catalogs.spark_catalog]\ntype = 'rest'", "'spark_catalog' cannot be the name of a catalogue"),
        ("[catalogs.lake]\ntype = 'rest'\nuri = ['x']", "[catalogs.lake]: uri is no text: ['x']"),
        ("[catalogs.lake]\ntype = 'rest'\npackages = 'x'", "packages is a list of Maven coordinates"),
    ],
)  # fmt: skip
def test_a_catalogue_that_cannot_be_is_refused(text: str, message: str) -> None:
    with pytest.raises(BadConfiguration) as caught:
        catalogs(text)
    assert message in caught.value.message
    assert "/p/schemaman.toml: catalogs: " in caught.value.message


def test_options_are_read_whether_quoted_or_not() -> None:
    quoted = {"lake": {"type": "rest", "s3.endpoint": "http://x"}}
    bare = {"lake": {"type": "rest", "s3": {"endpoint": "http://x"}}}
    assert read_catalogs(quoted) == read_catalogs(bare)
