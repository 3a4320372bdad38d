"""A certificate for 127.0.0.1 that signs itself, made anew for each run."""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

_NAME = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])


def self_signed(folder: Path, pass_phrase: bytes = b"") -> Path:
    """A PEM file with a key and its certificate, valid for an hour; the key is PKCS#8, as Java wants it.

    With a pass phrase, the key is encrypted.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.datetime.now(datetime.UTC)
    hour = datetime.timedelta(hours=1)
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder(_NAME, _NAME, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - hour)
        .not_valid_after(now + hour)
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    written: serialization.KeySerializationEncryption = serialization.NoEncryption()
    if pass_phrase:
        written = serialization.BestAvailableEncryption(pass_phrase)
    place = folder / "self-signed.pem"
    place.write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, written) + certificate.public_bytes(pem)
    )
    return place
