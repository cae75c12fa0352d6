"""Wiring: the one place that joins ports to adapters and builds a running system from a configuration."""

import os
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, replace
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
from pegboard.adapters.tokens import token_counter
from pegboard.adapters.vector_cache import RememberingEncoder
from pegboard.config.load import load_config
from pegboard.config.values import Config, RankingChoice, Retrieval
from pegboard.core.errors import ConfigError, UnreachableServerError
from pegboard.service.calibrator import Calibrator
from pegboard.service.deployment import Deployment
from pegboard.service.encoding import Encoders, Progress
from pegboard.service.gatekeeper import Gatekeeper
from pegboard.service.importer import Importer
from pegboard.service.lockkeeper import LockKeeper
from pegboard.service.ports import Clock, Encoder, LockFile, ToolServer, ToolServers
from pegboard.service.published import Catalog
from pegboard.service.refresher import Refresher
from pegboard.service.replayer import Replayer
from pegboard.service.selector import Selector

__all__ = ["System", "build", "in_memory", "open_system", "packages", "read_config"]

# The packages that a selection's bytes depend on; a trace names their versions.
_PACKAGES = ("pegboard", "numpy", "pystemmer")
# … and those of them that are optional: where one is missing, token counts or vectors differ.
_OPTIONAL_PACKAGES = ("bpe-openai", "onnxruntime", "pegboard-minilm")


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A running system: the service's verbs over one store and one lock."""

    store: SqliteStore | MemoryStore
    servers: ToolServers
    catalog: Catalog
    selector: Selector
    gatekeeper: Gatekeeper
    refresher: Refresher
    keeper: LockKeeper
    importer: Importer
    calibrator: Calibrator
    replayer: Replayer

    def close(self) -> None:
        """Close the store."""
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
    channels = _channels(config.retrieval)
    store = SqliteStore.open(config.store)
    encoders = Encoders(channels, store, progress)
    return _system(store, LockFileAt(config.lock), servers, SystemClock(), config.deployment(), encoders)


def in_memory(
    deployment: Deployment,
    servers: ToolServers | None = None,
    clock: Clock | None = None,
    retrieval: Retrieval | None = None,
) -> System:
    """Build a system that keeps everything in this process.

    Raises:
        EncoderError: The ranking that is asked for needs a model that is not here or is damaged.
    """
    store = MemoryStore()
    encoders = Encoders(_channels(retrieval or Retrieval()), store)
    servers = servers or _Servers({}, {})
    return _system(store, MemoryLockFile(), servers, clock or SystemClock(), deployment, encoders)


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

    def names(self) -> tuple[str, ...]:
        return tuple(sorted({*self._settings, *self._problems}))

    def connect(self, server: str) -> AbstractAsyncContextManager[ToolServer]:
        if server in self._problems:
            raise UnreachableServerError(
                server, self._problems[server], f"servers.{server}", "correct its configuration"
            )
        # Imported here: the protocol's library takes half of the time that a `pegboard select` takes, which needs none.
        from pegboard.adapters.mcp_client import McpServers

        return McpServers(self._settings).connect(server)


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


def _system(
    store: SqliteStore | MemoryStore,
    lock_file: LockFile,
    servers: ToolServers,
    clock: Clock,
    deployment: Deployment,
    encoders: Encoders,
) -> System:
    encoding, count_tokens = token_counter()
    complete = replace(deployment, encoding=encoding, count_tokens=count_tokens, packages=packages())
    catalog = Catalog(store, store, lock_file, clock, complete, encoders, store)
    keeper = LockKeeper(catalog)
    return System(
        store=store,
        servers=servers,
        catalog=catalog,
        selector=Selector(catalog, store),
        gatekeeper=Gatekeeper(catalog, store, servers),
        refresher=Refresher(catalog, servers),
        keeper=keeper,
        importer=Importer(catalog, keeper),
        calibrator=Calibrator(catalog),
        replayer=Replayer(catalog, store),
    )
