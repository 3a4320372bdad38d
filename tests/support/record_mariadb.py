"""Records what a MariaDB server makes of generated migrations.

`python -m tests.support.record_mariadb SOCKET COUNT` asks a server without passwords. A line of
`fixtures/migrations/mariadb.jsonl` has the statements that the server ran, as one script, and its tables
afterwards, from `information_schema`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import count
from random import Random

from tests.support.checkout import FIXTURES
from tests.support.generated_mariadb_migrations import Migrations

STATEMENTS = 25
_COLUMNS = (
    "SELECT hex(table_name), hex(column_name), hex(column_type), is_nullable FROM information_schema.columns "
    "WHERE table_schema = '{}' AND table_name <> 'v' ORDER BY table_name, ordinal_position"
)
_KEYS = (
    "SELECT hex(table_name), hex(column_name) FROM information_schema.key_column_usage "
    "WHERE table_schema = '{}' AND constraint_name = 'PRIMARY' ORDER BY table_name, ordinal_position"
)


class Client:
    """The client `mariadb` of the PATH, which goes on after an error."""

    def __init__(self, socket: str) -> None:
        options = [
            "--no-defaults",
            "--user=root",
            "--force",
            "-N",
            "-B",
            "-n",
            "--default-character-set=utf8mb4",
        ]
        self.process = subprocess.Popen(
            ["mariadb", *options, "-S", socket], text=True, encoding="utf-8",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self.numbers = count()

    def ask(self, sql: str) -> list[str]:
        """Run statements, and return the lines that the client prints."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        end = f"@@end{next(self.numbers)}@@"
        self.process.stdin.write(f"{sql}\n;\nSELECT '{end}';\n")
        self.process.stdin.flush()
        return list(iter(lambda: self.process.stdout.readline().rstrip("\n"), end))  # type: ignore[union-attr]


def record(client: Client, seed: int) -> dict[str, object]:
    """Run the statements of a seed, and describe the tables afterwards."""
    database = f"m{seed}"
    client.ask(f"DROP DATABASE IF EXISTS {database}; CREATE DATABASE {database}; USE {database}")
    migrations = Migrations(Random(seed), database)
    statements = [migrations.statement() for _ in range(STATEMENTS)]
    ran = [s for s in statements if not any(line.startswith("ERROR") for line in client.ask(s))]
    columns, keys = (
        [tuple(_decode(cell) for cell in line.split("\t")) for line in client.ask(query.format(database))]
        for query in (_COLUMNS, _KEYS)
    )
    client.ask(f"DROP DATABASE {database}")
    tables = {
        name: {
            "columns": [[c, type, nullable] for t, c, type, nullable in columns if t == name],
            "key": [c for t, c in keys if t == name],
        }
        for name in dict.fromkeys(row[0] for row in columns)
    }
    return {"script": migrations.script(ran), "tables": tables}


def _decode(cell: str) -> object:
    return cell == "YES" if cell in ("YES", "NO") else bytes.fromhex(cell).decode()


if __name__ == "__main__":
    socket, scripts = sys.argv[1:]
    client = Client(socket)
    lines = [json.dumps(record(client, seed), ensure_ascii=False) for seed in range(int(scripts))]
    folder = FIXTURES / "migrations"
    folder.mkdir(exist_ok=True)
    (folder / "mariadb.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
