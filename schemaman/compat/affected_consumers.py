"""Which declared consumers a finding concerns, and how badly.

Verdicts for a consumer are derived from the verdicts of a finding; nothing stores them twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from schemaman.compat.consumers import Consumer
from schemaman.compat.impact.graph import ConsumerUse, ImpactGraph
from schemaman.compat.judge import SEVERITIES, Finding, Reader, Severity, Verdict
from schemaman.model.schema import TableId, TableSchema, walk_fields
from schemaman.model.table_patterns import is_matched

SchemaReader = Callable[[], Sequence[TableSchema]]
"""Reads the accepted and the present schema of a table; empty if they are not known."""


@dataclass(frozen=True, slots=True)
class AffectedConsumer:
    """A consumer that a finding concerns, with the worst verdict of its readers.

    `uses` show where its SQL reads the column. `is_certain` is false if only a statement that could not be
    read names the table: the verdict is then at most `danger`.
    """

    consumer: Consumer
    verdict: Verdict
    uses: tuple[ConsumerUse, ...] = ()
    is_certain: bool = True

    @property
    def owners(self) -> tuple[str, ...]:
        """The owners of what breaks, as the uses or the settings name them."""
        named = [use.owner for use in self.uses if use.owner]
        return tuple(dict.fromkeys(named or [self.consumer.owner])) if named or self.consumer.owner else ()


@dataclass(frozen=True, slots=True)
class Readership:
    """All declared consumers, and what their SQL reads.

    `avro` are the readers that a compatibility level protects; None without a level. A level alone decides
    about Avro.
    """

    consumers: tuple[Consumer, ...] = ()
    graph: ImpactGraph = field(default_factory=ImpactGraph)
    avro: tuple[Reader, ...] | None = None

    def list_affected(self, finding: Finding) -> tuple[AffectedConsumer, ...]:
        """List the consumers that a finding concerns, the worst verdict first."""
        found = tuple(self._find_affected(finding))
        return tuple(sorted(found, key=lambda one: (-SEVERITIES.index(one.verdict), one.consumer.name)))

    def list_remarks(self, tables: Mapping[TableId, SchemaReader]) -> tuple[str, ...]:
        """List the patterns of consumers that select nothing: a misspelt name hides findings."""
        return tuple(text for c in self.consumers for text in _list_remarks(c, tables)) if tables else ()

    def rate(self, finding: Finding) -> Severity:
        """Return the worst verdict of a finding among the consumers; `off` if it concerns none."""
        verdicts: list[Severity] = [one.verdict for one in self._find_affected(finding)]
        return max(verdicts, key=SEVERITIES.index, default="off")

    def _find_affected(self, finding: Finding) -> Iterator[AffectedConsumer]:
        paths = tuple(dict.fromkeys(f.path for f in (finding, *finding.claimed)))
        for consumer in self.consumers:
            verdict = self._find_verdict(consumer, finding)
            if verdict is None:
                continue
            uses = tuple(
                dict.fromkeys(
                    use for path in paths for use in self.graph.find_uses(str(finding.table), path)
                    if use.consumer == consumer.name
                )
            )  # fmt: skip
            if uses or any(consumer.declares(finding.table, path) for path in paths):
                yield AffectedConsumer(consumer, verdict, uses)
            elif any(self.graph.may_read(consumer.name, str(finding.table), path) for path in paths):
                capped = min(verdict, "danger", key=SEVERITIES.index)
                yield AffectedConsumer(consumer, capped, is_certain=False)

    def _find_verdict(self, consumer: Consumer, finding: Finding) -> Verdict | None:
        """Find the worst verdict of the consumer's readers; None if a level leaves them out."""
        counted = [
            finding.verdicts[reader]
            for reader in consumer.readers
            if reader in finding.verdicts
            and (self.avro is None or not reader.startswith("avro-") or reader in self.avro)
        ]
        return max(counted, key=SEVERITIES.index, default=None)


def _list_remarks(consumer: Consumer, tables: Mapping[TableId, SchemaReader]) -> Iterator[str]:
    where, listed = f"[consumers.{consumer.name}]", ", ".join(consumer.tables)
    declared = [table for table in tables if consumer.declares(table)]
    if not declared:
        if consumer.tables:
            yield f"{where} reads none of the checked tables: none matches {listed}"
        return
    for pattern in consumer.tables:
        if not any(is_matched(table, pattern) for table in declared):
            yield f"{where}: no checked table matches {pattern}"
    unmatched = [pattern for pattern in consumer.columns if pattern != "*"]
    for table in declared if unmatched else ():
        schemas = tables[table]()
        if not schemas:
            return
        names = {
            ".".join(path[:length])
            for schema in schemas
            for path, _, _ in walk_fields(schema)
            for length in range(1, len(path) + 1)
        }
        unmatched = [p for p in unmatched if not any(fnmatchcase(name, p) for name in names)]
        if not unmatched:
            return
    for pattern in unmatched:
        yield f"{where}: no column of its tables matches {pattern}"
