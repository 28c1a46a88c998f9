"""Handles on one tenant, sync and asyncio: how many turns it has, in all partitions."""

from __future__ import annotations

from typing import Any

from queuepool.client.effects import Steps
from queuepool.client.holding import check_settings
from queuepool.client.network import AsyncNetwork, Network
from queuepool.client.questions import ask_everywhere
from queuepool.models import TenantLoad, TenantStatus
from queuepool.models.tenants import largest, tenant_bytes
from queuepool.routing.views import View
from queuepool.settings.config import PoolConfig
from queuepool.verbs import Verb
from queuepool.verbs.producer import tenants

_MOST_LISTED = 20
_SUMMED = ("ready", "groups", "running", "done", "died", "cancelled", "expired")


def largest_tenants(config: PoolConfig, most: int) -> Steps[list[TenantLoad]]:
    """Return the tenants that have the most ready jobs, of 20 in each partition."""
    found = yield from ask_everywhere(config, lambda _: tenants.largest(_MOST_LISTED))
    return largest((one for some in found for one in some), min(most, _MOST_LISTED))


class _Tenant:
    """What the tenants of both pools share."""

    __slots__ = ("_network", "name")

    def __init__(self, network: Any, name: str) -> None:
        tenant_bytes(name)
        self._network, self.name = network, name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def _configure(self, *, hold: bool | None = None, **settings: int | None) -> Steps[bool]:
        check_settings(**settings)
        name = tenant_bytes(self.name)

        def verb_of(view: View) -> Verb[bool]:
            return tenants.configure(name, hold=hold, version=view.version, **settings)

        return any((yield from ask_everywhere(self._network.config, verb_of)))

    def _status(self) -> Steps[TenantStatus]:
        verb = tenants.find(tenant_bytes(self.name))
        known = yield from ask_everywhere(self._network.config, lambda _: verb)
        sums = {name: sum(getattr(each, name) for each in known) for name in _SUMMED}
        return TenantStatus(
            **sums,
            max_running=max((each.max_running for each in known if each.max_running), default=None),
            held_ms=min((each.held_ms for each in known if each.held_ms), default=None),
            weight=max(each.weight for each in known),
        )


class Tenant(_Tenant):
    """A tenant, which takes turns with others. Holds no state: each call asks the servers.

    >>> pool.enqueue("greet", {"name": "Ada"}, partition_key="order-1", tenant="acme").accepted
    True
    >>> tenant = pool.tenant("acme")
    >>> tenant.configure(weight=3), tenant.status().weight, tenant.configure(weight=1)
    (True, 3, True)
    """

    __slots__ = ()
    _network: Network

    def configure(self, *, max_running: int | None = None, weight: int | None = None) -> bool:
        """Set how the tenant's jobs may run; returns whether that changed anything.

        None leaves a setting unchanged. max_running: how many of its jobs run at once in each
        partition, in all of its groups together; 0: any number. Jobs that wait for this do not
        count as backlog. weight: 1 to 100, its share of turns, beside 1 of others. Settings last
        until they are taken back, whether the tenant has jobs or not.
        """
        return self._network.do(self._configure(max_running=max_running, weight=weight))

    def hold(self) -> bool:
        """Start none of the tenant's jobs until it is released; returns False if it was held.

        Running jobs continue, as do those that a consumer has already claimed. Held jobs do not
        count as backlog. The hold also covers jobs enqueued later, and does not affect the holds of
        the tenant's groups.
        """
        return self._network.do(self._configure(hold=True))

    def release(self) -> bool:
        """End the hold; returns False if there was none."""
        return self._network.do(self._configure(hold=False))

    def status(self) -> TenantStatus:
        """Count the tenant's jobs, in all partitions, except those that its groups keep waiting."""
        return self._network.do(self._status())


class AsyncTenant(_Tenant):
    """A tenant; the asyncio twin of Tenant."""

    __slots__ = ()
    _network: AsyncNetwork

    async def configure(self, *, max_running: int | None = None, weight: int | None = None) -> bool:
        """Set how the tenant's jobs may run, as Tenant.configure does."""
        return await self._network.do(self._configure(max_running=max_running, weight=weight))

    async def hold(self) -> bool:
        """Start none of the tenant's jobs until it is released; returns False if it was held."""
        return await self._network.do(self._configure(hold=True))

    async def release(self) -> bool:
        """End the hold; returns False if there was none."""
        return await self._network.do(self._configure(hold=False))

    async def status(self) -> TenantStatus:
        """Count the tenant's jobs, as Tenant.status does."""
        return await self._network.do(self._status())
