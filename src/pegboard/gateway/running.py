"""What the gateway needs of a running system: the service's verbs, and nothing of how they are joined."""

from typing import Protocol

from pegboard.service.approver import Approver
from pegboard.service.audit import Audit
from pegboard.service.gatekeeper import Gatekeeper
from pegboard.service.halts import Halts
from pegboard.service.health import HealthBook
from pegboard.service.identity import Identity
from pegboard.service.lockkeeper import LockKeeper
from pegboard.service.observer import Observer
from pegboard.service.ports import Ledger
from pegboard.service.published import Catalog
from pegboard.service.refresher import Refresher
from pegboard.service.replayer import Replayer
from pegboard.service.rollout import Rollouts
from pegboard.service.selector import Selector
from pegboard.service.shadow import Shadow
from pegboard.service.traces import Traces

__all__ = ["Running"]


class Running(Protocol):
    """A running system, as `wiring.System` is one."""

    @property
    def catalog(self) -> Catalog: ...

    @property
    def identity(self) -> Identity: ...

    @property
    def selector(self) -> Selector: ...

    @property
    def rollouts(self) -> Rollouts: ...

    @property
    def observer(self) -> Observer: ...

    @property
    def shadow(self) -> Shadow: ...

    @property
    def gatekeeper(self) -> Gatekeeper: ...

    @property
    def approver(self) -> Approver: ...

    @property
    def halts(self) -> Halts: ...

    @property
    def ledger(self) -> Ledger: ...

    @property
    def keeper(self) -> LockKeeper: ...

    @property
    def refresher(self) -> Refresher: ...

    @property
    def traces(self) -> Traces: ...

    @property
    def replayer(self) -> Replayer: ...

    @property
    def audit(self) -> Audit: ...

    @property
    def health(self) -> HealthBook: ...
