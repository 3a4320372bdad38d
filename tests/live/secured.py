"""A second door of the broker: TLS, and a user with a password."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PASSWORD = "hush-hush"


@dataclass(frozen=True, slots=True)
class Secured:
    """Where it listens, and the PEM file with its key and certificate."""

    address: str
    certificate: Path

    @property
    def settings(self) -> dict[str, object]:
        """What the broker has to know. Source: Kafka documentation, "Security"; KIP-651 for PEM."""
        login = "org.apache.kafka.common.security.plain.PlainLoginModule"
        return {
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.secured.plain.sasl.jaas.config": f'{login} required user_reader="{PASSWORD}";',
            "listener.name.secured.ssl.keystore.type": "PEM",
            "listener.name.secured.ssl.keystore.location": self.certificate,
        }

    def options(self, password: str = PASSWORD) -> dict[str, str]:
        """What a client has to know."""
        return {
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(self.certificate),
            "sasl.mechanism": "PLAIN",
            "sasl.username": "reader",
            "sasl.password": password,
        }
