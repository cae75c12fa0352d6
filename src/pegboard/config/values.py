"""What a configuration says, as values: `Config` and its parts.

Everything that may hold a secret (what a server's process or requests are given, and the store's address) is left
out of every `repr`, so that none reaches a log or a traceback by accident.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from pegboard.adapters.credential_settings import ServerCredential
from pegboard.adapters.mcp_settings import CALL_TIMEOUT_S, ServerSettings
from pegboard.adapters.token_settings import IntrospectionSettings, JwtSettings
from pegboard.config.evaluation import ArmPart, Evaluation
from pegboard.config.parsers import nearest
from pegboard.core.context import RuntimeContext
from pegboard.core.errors import ConfigError
from pegboard.core.layer import Layer
from pegboard.core.policy import DIMENSIONS, AccessTemplate, Reason, Switch
from pegboard.engine.approvals import ApprovalRules
from pegboard.engine.asking import NamespaceNote, SelectionSettings
from pegboard.engine.compose import Curation
from pegboard.engine.guards import Guards
from pegboard.engine.limits import Limits
from pegboard.engine.proposals import ProposeRule
from pegboard.engine.trace import Naming, Record
from pegboard.engine.trust import Trust
from pegboard.gateway.settings import GatewaySettings
from pegboard.policy.layers import layer_of
from pegboard.service.claims import IdentitySettings
from pegboard.service.deployment import Deployment
from pegboard.service.inputs import Kind

__all__ = [
    "Config",
    "Endpoint",
    "Notice",
    "RankingChoice",
    "Retrieval",
    "ServerConfig",
    "ToolConfig",
    "Trust",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Something that an operator should know and that stops nothing."""

    where: str
    problem: str

    def __str__(self) -> str:
        return f"{self.where}: {self.problem}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """One tool server, its environment variables and credential resolved.

    `problem` says why it cannot be reached as configured (a variable that is not set); such a server is reported
    and stops no other.
    """

    name: str
    origin: str
    """The file and the place in it."""
    command: tuple[str, ...] | None = field(default=None, repr=False)
    cwd: str | None = None
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    url: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    credential: ServerCredential | None = field(default=None, repr=False)
    """What it is shown where that is no header of every request."""
    namespace: str
    trust: Trust = Trust.REVIEW
    propose: tuple[ProposeRule, ...] = ()
    connect_timeout_s: float | None = None
    list_timeout_s: float | None = None
    call_timeout_s: float | None = None
    refresh_timeout_s: float | None = None
    poll_s: float | None = None
    shared: bool = False
    """Whether one session serves every principal."""
    may_ask: frozenset[Kind] = frozenset()
    """What it may ask of whoever calls it."""
    problem: str | None = None

    def settings(self) -> ServerSettings:
        """Return what the client needs to reach this server.

        Raises:
            ConfigError: It cannot be reached as configured.
        """
        if self.problem is not None:
            raise ConfigError(f"server {self.name!r} cannot be used: {self.problem}", self.origin)
        waits = {
            name: seconds
            for name in ("connect_timeout_s", "list_timeout_s", "call_timeout_s")
            if (seconds := getattr(self, name)) is not None
        }
        return ServerSettings(
            name=self.name,
            command=self.command,
            cwd=self.cwd,
            env=self.env,
            url=self.url,
            headers=self.headers,
            credential=self.credential,
            may_ask=self.may_ask,
            **waits,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolConfig:
    """What `[tools."id"]` says; None leaves the catalog's word."""

    enabled: bool | None = None
    pinned: tuple[str, ...] | None = None
    summary: str | None = None
    keywords: tuple[str, ...] | None = None
    examples: tuple[str, ...] | None = None
    cost: float | None = None
    key_argument: str | None = None


class RankingChoice(StrEnum):
    """With which channels tools are ranked, beside their words."""

    BEST = "best"
    """The best that is installed."""
    ACCURATE = "accurate"
    """The companion distribution's encoder, or the configured endpoint; an error where neither is there."""
    FAST = "fast"
    """The static table alone: no model runs."""
    WORDS = "words"
    """No vectors at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """An OpenAI-compatible endpoint for embeddings, in place of the companion's encoder."""

    url: str = field(repr=False)
    """What stands before `/embeddings`."""
    model: str
    dimensions: int
    key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """How tools are ranked."""

    ranking: RankingChoice = RankingChoice.BEST
    endpoint: Endpoint | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """A whole configuration. Paths are absolute or relative to the working directory, as the file's own path is."""

    file: Path
    environment: str = "production"
    store: Path
    """The SQLite file."""
    lock: Path
    used: frozenset[Reason] = DIMENSIONS
    access: Mapping[str, AccessTemplate] = field(default_factory=dict)
    servers: Mapping[str, ServerConfig] = field(default_factory=dict)
    mcp_config: tuple[Path, ...] = ()
    namespaces: Mapping[str, NamespaceNote] = field(default_factory=dict)
    tools: Mapping[str, ToolConfig] = field(default_factory=dict)
    """What is said of tools here and in the curation files."""
    curation: Path | None = None
    """The file that `pegboard catalog curate` writes."""
    tenants: frozenset[str] = frozenset()
    """Those that templates and profiles name."""
    selection: SelectionSettings = field(default_factory=SelectionSettings)
    profiles: Mapping[str, RuntimeContext] = field(default_factory=dict)
    """Each with the environment it names, or else this deployment's."""
    identity: IdentitySettings = field(default_factory=IdentitySettings)
    gateway: GatewaySettings = field(default_factory=GatewaySettings)
    tokens: JwtSettings | IntrospectionSettings | None = None
    """How access tokens are verified; None: none is taken."""
    policies: Mapping[str, str] = field(default_factory=dict)
    """The texts of the Cedar policy files, by file name; none: there is no second layer."""
    approvals: ApprovalRules = field(default_factory=ApprovalRules)
    limits: Limits = field(default_factory=Limits)
    guards: Guards = field(default_factory=Guards)
    retrieval: Retrieval = Retrieval()
    record: Record = Record.TERMS
    naming: Naming = Naming.NAME
    """How traces name the caller."""
    traces_kept_s: float = 30 * 24 * 3600.0
    ledger_kept_s: float | None = None
    audit_kept_s: float | None = None
    evaluation: Evaluation = field(default_factory=Evaluation)
    arms: Mapping[str, ArmPart] = field(default_factory=dict)
    """Ways to select that evaluations compare."""
    warnings: tuple[Notice, ...] = ()

    def context(self, profile: str, *, stage: str | None = None) -> RuntimeContext:
        """Return the runtime context of a profile, in another stage where one is given.

        Raises:
            ConfigError: There is no such profile.
        """
        found = self.profiles.get(profile)
        if found is None:
            raise ConfigError(
                f"there is no profile {profile!r}", f"{self.file}: profiles", nearest(profile, self.profiles)
            )
        return found if stage is None else replace(found, stage=stage)

    def reachable(self) -> dict[str, ServerSettings]:
        """Return the settings of every server that has no problem."""
        return {name: server.settings() for name, server in self.servers.items() if server.problem is None}

    def deployment(self) -> Deployment:
        """Return what the service's verbs need of this configuration.

        Raises:
            ConfigError: A Cedar policy cannot be used.
        """
        tools = self.tools.items()
        servers = self.servers.items()
        return Deployment(
            templates=self.access,
            used=self.used,
            switches={
                name: Switch(enabled=tool.enabled, pinned=tool.pinned)
                for name, tool in tools
                if (tool.enabled, tool.pinned) != (None, None)
            },
            layer=self._layer(),
            curation={
                name: Curation(summary=tool.summary, examples=tool.examples, keywords=tool.keywords)
                for name, tool in tools
                if (tool.summary, tool.examples, tool.keywords) != (None, None, None)
            },
            propose={name: server.propose for name, server in servers if server.propose},
            trust={name: server.trust for name, server in servers if server.trust is not Trust.REVIEW},
            namespaces_of={name: server.namespace for name, server in servers if server.namespace != name},
            deadlines_s={
                name: server.refresh_timeout_s for name, server in servers if server.refresh_timeout_s is not None
            },
            polls_s={name: server.poll_s for name, server in servers if server.poll_s is not None},
            longest_call_s=max((one.call_timeout_s or CALL_TIMEOUT_S for _, one in servers), default=CALL_TIMEOUT_S),
            selection=self.selection,
            record=self.record,
            naming=self.naming,
            traces_kept_s=self.traces_kept_s,
            ledger_kept_s=self.ledger_kept_s,
            audit_kept_s=self.audit_kept_s,
            approvals=self.approvals,
            limits=self.limits,
            guards=self.guards,
            costs={name: tool.cost for name, tool in tools if tool.cost is not None},
            key_arguments={name: tool.key_argument for name, tool in tools if tool.key_argument is not None},
        )

    def _layer(self) -> Layer | None:
        layer = layer_of(self.policies)
        if layer is not None and layer.names_people and self.naming is Naming.DIGEST:
            raise ConfigError(
                "Cedar policies ask who somebody is, and traces that keep digests of names could not be replayed",
                f"{self.file}: traces.principal",
                'write principal = "name", or policies over roles, scopes and organisations',
            )
        return layer
