"""Records: policies, settings and revocations as JSON that is kept under its digest, and back.

A trace names these by digest; replay reads them again, long after the files they came from have changed.
"""

from collections.abc import Mapping
from typing import Any

from pegboard.core.catalog import Risk
from pegboard.core.lock import Lock
from pegboard.core.names import Json
from pegboard.core.policy import AccessTemplate, Policy, Reason, Switch
from pegboard.core.revocations import Revocations
from pegboard.engine.asking import NamespaceNote, SelectionSettings
from pegboard.engine.fallback import Action, Cause, FallbackRow
from pegboard.policy.layers import layer_of
from pegboard.retrieval.calibration import Calibration

__all__ = [
    "policy_of",
    "policy_record",
    "revocations_of",
    "revocations_record",
    "settings_of",
    "settings_record",
]


def policy_record(policy: Policy) -> dict[str, Json]:
    """Return everything eligibility was decided on."""
    return {
        # By its digest alone: it is kept apart, as its changes (`lock_records.py`).
        "lock": policy.lock.digest,
        "templates": {name: template.to_json() for name, template in policy.templates.items()},
        "used": sorted(map(str, policy.used)),
        "switches": {
            tool: {"enabled": switch.enabled, "pinned": None if switch.pinned is None else list(switch.pinned)}
            for tool, switch in policy.switches.items()
        },
        **({} if policy.layer is None else {"cedar": dict(policy.layer.texts)}),
    }


def policy_of(record: Mapping[str, Any], lock: Lock) -> Policy:
    """Rebuild a policy with the lock that its record names; its `version` is the one it was kept under.

    Raises:
        ConfigError: It has Cedar policies, and Cedar's engine is not installed or does not take them any more.
    """
    return Policy(
        lock=lock,
        templates={name: _template(value) for name, value in record["templates"].items()},
        used=frozenset(map(Reason, record["used"])),
        switches={
            tool: Switch(enabled=value["enabled"], pinned=None if value["pinned"] is None else tuple(value["pinned"]))
            for tool, value in record["switches"].items()
        },
        layer=None if "cedar" not in record else layer_of(record["cedar"]),
    )


def settings_record(settings: SelectionSettings) -> dict[str, Json]:
    """Return every setting that a selection depends on."""
    return {
        "limit": settings.limit,
        "budget_tokens": settings.budget_tokens,
        "minimum_confidence": settings.minimum_confidence,
        "safe_set": list(settings.safe_set),
        "fallback": [
            {"cause": row.cause, "risk": row.risk, "environment": row.environment, "do": row.do}
            for row in settings.fallback
        ],
        "all_tools_at_most": settings.all_tools_at_most,
        "namespaces": {
            path: {"description": note.description, "advertise": note.advertise, "approved": note.approved}
            for path, note in settings.namespaces.items()
        },
        "calibration": None if settings.calibration is None else settings.calibration.to_json(),
        "client_prefix": settings.client_prefix,
    }


def settings_of(record: Mapping[str, Any]) -> SelectionSettings:
    """Rebuild the settings."""
    return SelectionSettings(
        limit=record["limit"],
        budget_tokens=record["budget_tokens"],
        minimum_confidence=record["minimum_confidence"],
        safe_set=tuple(record["safe_set"]),
        fallback=tuple(
            FallbackRow(
                cause=Cause(row["cause"]),
                risk=None if row["risk"] is None else Risk(row["risk"]),
                environment=row["environment"],
                do=Action(row["do"]),
            )
            for row in record["fallback"]
        ),
        all_tools_at_most=record["all_tools_at_most"],
        namespaces={path: NamespaceNote(**note) for path, note in record["namespaces"].items()},
        calibration=None if record["calibration"] is None else Calibration.from_json(record["calibration"]),
        # Records of before there was one have none.
        client_prefix=record.get("client_prefix", ""),
    )


def revocations_record(revocations: Revocations) -> Json:
    """Return what was revoked."""
    return sorted(revocations.targets)


def revocations_of(record: list[str], as_of: float) -> Revocations:
    """Rebuild the revocations as they were read at *as_of*."""
    return Revocations(targets=frozenset(record), as_of=as_of)


def _template(value: Mapping[str, Any]) -> AccessTemplate:
    stated: dict[str, Any] = {name: frozenset(item) if isinstance(item, list) else item for name, item in value.items()}
    return AccessTemplate(**stated)
