"""Wiring: the one place that joins ports to adapters and builds a running system from a configuration."""

import os
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from pegboard.adapters.clock import SystemClock
from pegboard.adapters.encoders import OnnxEncoder, StaticEncoder
from pegboard.adapters.endpoint_encoder import EndpointEncoder
from pegboard.adapters.files import LockFileAt
from pegboard.adapters.mcp_settings import ServerSettings
from pegboard.adapters.memory import MemoryLockFile, MemoryStore
from pegboard.adapters.sqlite import SqliteStore
from pegboard.adapters.token_settings import IntrospectionSettings, JwtSettings
from pegboard.adapters.tokens import token_counter
from pegboard.adapters.upstream import Session, Sessions, UpstreamPool
from pegboard.adapters.vector_cache import RememberingEncoder
from pegboard.config.load import load_config
from pegboard.config.values import Config, RankingChoice, Retrieval
from pegboard.core.errors import ConfigError, UnreachableServerError
from pegboard.service.approver import Approver
from pegboard.service.audit import Audit
from pegboard.service.calibrator import Calibrator
from pegboard.service.calls import RecordedCalls
from pegboard.service.deployment import Deployment
from pegboard.service.dispatching import Dispatcher
from pegboard.service.encoding import Encoders, Progress
from pegboard.service.evaluator import Evaluator
from pegboard.service.gatekeeper import Gatekeeper
from pegboard.service.halts import Halts
from pegboard.service.health import GuardedServers, HealthBook
from pegboard.service.identity import Identity, TokenVerifier
from pegboard.service.importer import Importer
from pegboard.service.judging import Judging
from pegboard.service.keys import Keys
from pegboard.service.lockkeeper import LockKeeper
from pegboard.service.observer import Observer
from pegboard.service.observing import ObservedServers
from pegboard.service.ports import Clock, Encoder, Ledger, LockFile, ToolServers
from pegboard.service.pruner import Pruner
from pegboard.service.published import Catalog
from pegboard.service.refresher import Refresher
from pegboard.service.replayer import Replayer
from pegboard.service.rollout import Rollouts
from pegboard.service.selector import Selector
from pegboard.service.shadow import Shadow
from pegboard.service.telemetry import QUIET, Telemetry
from pegboard.service.traces import Traces
from pegboard.service.tracing import TraceWriter
from pegboard.service.watcher import Watcher

__all__ = [
    "Served",
    "System",
    "build",
    "encoders_of",
    "identity_of",
    "in_memory",
    "open_system",
    "packages",
    "read_config",
    "served",
]

# The packages that a selection's bytes depend on; a trace names their versions.
_PACKAGES = ("pegboard", "numpy", "pystemmer")
# … and those of them that are optional: where one is missing, token counts or vectors differ.
_OPTIONAL_PACKAGES = ("bpe-openai", "onnxruntime", "pegboard-minilm")


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A running system: the service's verbs over one store and one lock."""

    store: SqliteStore | MemoryStore
    ledger: Ledger
    audit: Audit
    servers: ToolServers
    health: HealthBook
    pool: UpstreamPool | None
    """None where the servers came from outside."""
    watcher: Watcher
    catalog: Catalog
    writer: TraceWriter
    traces: Traces
    telemetry: Telemetry
    selector: Selector
    rollouts: Rollouts
    observer: Observer
    shadow: Shadow
    gatekeeper: Gatekeeper
    approver: Approver
    halts: Halts
    calls: RecordedCalls
    keys: Keys
    refresher: Refresher
    keeper: LockKeeper
    importer: Importer
    pruner: Pruner
    calibrator: Calibrator
    evaluator: Evaluator
    replayer: Replayer

    def sessions(self) -> AbstractAsyncContextManager[None]:
        """Keep sessions with servers open for the time of the body, as whoever serves many calls does."""
        return nullcontext() if self.pool is None else self.pool.running()

    async def flush(self) -> None:
        """Write what is written behind: observations, traces, and what the audit still holds.

        Raises:
            StoreError: It could not all be written.
        """
        try:
            await self.shadow.flush()
        finally:
            await self.writer.flush()
            await self.audit.flush()

    def close(self) -> None:
        """Close the store; what was not flushed before is lost."""
        self.store.close()


def read_config(path: str | os.PathLike[str]) -> Config:
    """Read a configuration file, with this process's environment for the variables it names.

    An empty file is a valid one; one that is not there is not, since a wrong name would grant and list nothing.

    Raises:
        ConfigError: It is not there, cannot be read, or something in it is wrong.
    """
    if not Path(path).exists():
        fix = "`pegboard init` writes one, and --config names another"
        raise ConfigError("there is no such configuration", str(path), fix)
    return load_config(Path(path), os.environ)


def open_system(path: str | os.PathLike[str]) -> System:
    """Open the deployment that a configuration file describes.

    Raises:
        ConfigError: The file cannot be read, or something in it is wrong.
        StoreError: The store cannot be opened.
    """
    return build(read_config(path))


def build(config: Config, progress: Progress = lambda channel, done, total: None) -> System:
    """Open the deployment of a configuration that was read; *progress* is told how many new texts are encoded.

    Raises:
        StoreError: The store cannot be opened.
    """
    servers = _Servers(config.reachable(), {n: s.problem for n, s in config.servers.items() if s.problem})
    clock = SystemClock()
    pool = UpstreamPool(servers, clock, shared={n for n, s in config.servers.items() if s.shared})
    channels = _channels(config.retrieval)
    store = SqliteStore.open(config.store)
    encoders = Encoders(channels, store, progress)
    return _system(store, LockFileAt(config.lock), pool, clock, config.deployment(), encoders)


def identity_of(config: Config, system: System) -> Identity:
    """Return what makes a context of a credential, for a server of this deployment."""
    return Identity(
        config.identity,
        system.keys,
        system.store.contexts,
        system.audit,
        system.catalog.clock,
        verifier=_verifier(config.tokens, system.catalog.clock),
        profiles=config.profiles,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Served(System):
    """A running system, and how it finds out who asks: what a gateway serves."""

    identity: Identity


def served(config: Config, system: System) -> Served:
    """Join a system to the identity that its configuration describes."""
    parts = {one.name: getattr(system, one.name) for one in fields(system)}
    return Served(**parts, identity=identity_of(config, system))


def in_memory(
    deployment: Deployment,
    servers: ToolServers | None = None,
    clock: Clock | None = None,
    retrieval: Retrieval | None = None,
    telemetry: Telemetry | None = None,
) -> System:
    """Build a system that keeps everything in this process.

    Raises:
        EncoderError: The ranking that is asked for needs a model that is not here or is damaged.
    """
    store = MemoryStore()
    encoders = Encoders(_channels(retrieval or Retrieval()), store)
    clock = clock or SystemClock()
    servers = servers or UpstreamPool(_Servers({}, {}), clock)
    return _system(store, MemoryLockFile(), servers, clock, deployment, encoders, telemetry)


def encoders_of(retrieval: Retrieval, system: System) -> Encoders:
    """Return the encoders of another way to rank over the store of a system, where vectors are kept.

    Raises:
        EncoderError: The ranking that is asked for needs a model that is not here or is damaged.
    """
    return Encoders(_channels(retrieval), system.store)


def packages() -> dict[str, str]:
    """Return the versions of what a selection's bytes depend on."""
    found = {name: version(name) for name in _PACKAGES}
    for name in _OPTIONAL_PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


class _Servers:
    """The configured servers; one that is configured wrong is there, and cannot be reached for that reason."""

    def __init__(self, settings: Mapping[str, ServerSettings], problems: Mapping[str, str]) -> None:
        self._settings = settings
        self._problems = problems
        self._reached: Sessions | None = None

    def names(self) -> tuple[str, ...]:
        return tuple(sorted({*self._settings, *self._problems}))

    def connect(self, server: str, principal: str | None = None) -> AbstractAsyncContextManager[Session]:
        if server in self._problems:
            raise UnreachableServerError(
                server, self._problems[server], f"servers.{server}", "correct its configuration"
            )
        # Imported here: the protocol's library takes half of the time that a `pegboard select` takes, which needs none.
        from pegboard.adapters.mcp_client import McpServers

        # One for all sessions: it keeps the tokens that they are opened with.
        self._reached = self._reached or McpServers(self._settings)
        return self._reached.connect(server, principal)


@cache
def _static() -> Encoder:
    return RememberingEncoder(StaticEncoder.open())


@cache
def _companion() -> Encoder:
    return RememberingEncoder(OnnxEncoder.open())


def _channels(chosen: Retrieval) -> dict[str, Encoder]:
    """Return the encoders that rank here, by channel.

    Raises:
        EncoderError: The ranking that is asked for needs a model that is not here or is damaged.
    """
    if chosen.ranking is RankingChoice.WORDS:
        return {}
    channels = {"static": _static()}
    if chosen.ranking is RankingChoice.FAST:
        return channels
    if chosen.endpoint is not None:
        one = chosen.endpoint
        endpoint = EndpointEncoder(one.url, one.model, dimensions=one.dimensions, key=one.key)
        return {**channels, "encoder": RememberingEncoder(endpoint)}
    installed = find_spec("pegboard_minilm") is not None and find_spec("onnxruntime") is not None
    if installed or chosen.ranking is RankingChoice.ACCURATE:
        channels["encoder"] = _companion()
    return channels


def _verifier(tokens: JwtSettings | IntrospectionSettings | None, clock: Clock) -> TokenVerifier | None:
    """Return what verifies access tokens, None where none is taken."""
    if tokens is None:
        return None
    # Imported here: what verifies signatures takes 0.3 s to load, and only a server needs it.
    from pegboard.adapters.egress import Egress
    from pegboard.adapters.introspection import Introspection
    from pegboard.adapters.jwks import KeySet, key_source
    from pegboard.adapters.jwt import JwtVerifier

    if isinstance(tokens, IntrospectionSettings):
        return Introspection(tokens, Egress(operators=[tokens.url]), clock)
    egress = Egress(operators=[tokens.issuer, *filter(None, [tokens.jwks_url])])
    return JwtVerifier(tokens, KeySet(key_source(tokens, egress), clock), clock)


def _telemetry() -> Telemetry:
    """Return OpenTelemetry where its SDK is installed: without it nobody can listen."""
    if find_spec("opentelemetry.sdk") is None:
        return QUIET
    from pegboard.adapters.telemetry import OpenTelemetry

    return OpenTelemetry()


def _system(
    store: SqliteStore | MemoryStore,
    lock_file: LockFile,
    servers: ToolServers,
    clock: Clock,
    deployment: Deployment,
    encoders: Encoders,
    telemetry: Telemetry | None = None,
) -> System:
    encoding, count_tokens = token_counter()
    depends = packages() if deployment.layer is None else {**packages(), "cedarpy": version("cedarpy")}
    complete = replace(deployment, encoding=encoding, count_tokens=count_tokens, packages=depends)
    telemetry = telemetry or _telemetry()
    audit = Audit(store.audit, clock, telemetry)
    writer = TraceWriter(store, clock, audit, complete.traces_kept_s, telemetry)
    traces = Traces(store, writer, complete.selection_lifetime_s)
    catalog = Catalog(store, store, lock_file, clock, complete, encoders, store, audit)
    keeper = LockKeeper(catalog)
    health = HealthBook(servers.names(), clock)
    guarded = GuardedServers(servers, health)
    refresher = Refresher(catalog, guarded, keeper)
    rollouts = Rollouts(store.rollout, catalog)
    observer = Observer(rollouts, catalog, telemetry)
    selector = Selector(catalog, store, writer, rollouts, observer, telemetry)
    judging, approver = Judging(catalog, store, store.ledger, rollouts), Approver(store.ledger, audit, clock)
    return System(
        store=store,
        ledger=store.ledger,
        audit=audit,
        writer=writer,
        traces=traces,
        telemetry=telemetry,
        servers=guarded,
        health=health,
        pool=servers if isinstance(servers, UpstreamPool) else None,
        watcher=Watcher(lambda names: refresher.refresh(names), servers, health, clock, complete.polls_s),
        catalog=catalog,
        selector=selector,
        rollouts=rollouts,
        observer=observer,
        shadow=Shadow(selector, observer, rollouts, telemetry),
        gatekeeper=Gatekeeper(
            catalog,
            judging,
            Dispatcher(judging, ObservedServers(guarded, telemetry, clock)),
            store.ledger,
            approver,
            writer,
            audit,
            telemetry,
        ),
        approver=approver,
        halts=Halts(catalog, guarded, audit),
        calls=RecordedCalls(store.ledger, audit, clock, complete),
        keys=Keys(store.keys, audit, clock),
        refresher=refresher,
        keeper=keeper,
        importer=Importer(catalog, keeper),
        pruner=Pruner(catalog, store),
        calibrator=Calibrator(catalog),
        evaluator=Evaluator(catalog),
        replayer=Replayer(catalog, traces),
    )
