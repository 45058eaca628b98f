"""What all targets have in common: one requirement, decided before what it guards runs."""
from __future__ import annotations

from typing import Callable, Dict, Optional, Union

from .authorize import AuthDecision, Deny, RequestFacts
from .context import AuthContext
from .grants import ResourceRef
from .guard import Guard
from .refusals import Reason
from .requirement import Public, Readable, Requirement, ResourceAction, Tenant, checks_in, check_requirement
from .requirement import resource_key, tenant_key


FindResource = Callable[[str, str], Optional[ResourceRef]]
"""Returns the resource of a type and id from the store of the service that owns it; None when there is none."""

OnDeny = Callable[[Deny, Union[AuthContext, Reason]], None]
"""Called with every denial, with its true reason, and the caller. For the audit."""

ReadValue = Callable[[str, str], Optional[str]]
"""Returns the text that a request has at a source and field; None when there is none, or more than one."""

# What a request says is worth nothing before the caller is known, so nothing is read before.
Prepare = Callable[[], ReadValue]


class Target:
    """Decides calls by one requirement. Threads may share it."""

    def __init__(
        self,
        guard: Guard,
        requirement: Requirement,
        readable: Readable,
        find_resource: Optional[FindResource] = None,
        on_deny: Optional[OnDeny] = None,
    ) -> None:
        """Raises ValueError when the requirement cannot be checked with what the target can read."""
        check_requirement(requirement, readable)
        self.requirement = requirement
        self._guard, self._find_resource, self._on_deny = guard, find_resource, on_deny
        checks = checks_in(requirement)
        self._tenants = [check for check in checks if isinstance(check, Tenant)]
        self._resources = [check for check in checks if isinstance(check, ResourceAction)]
        if self._resources and find_resource is None:
            raise ValueError("the requirement names a resource, so find_resource is required")

    def authenticate(self, credential: Optional[str]) -> Union[AuthContext, Reason]:
        """Returns the caller. A stale token must not stop a sign-in: nobody looks at it where all may call."""
        if isinstance(self.requirement.check, Public):
            return "NO_CREDENTIAL"
        return self._guard.authenticate(credential)

    def authorize(self, caller: Union[AuthContext, Reason], prepare: Prepare) -> AuthDecision:
        """Decides. Raises what `prepare` and `find_resource` raise."""
        facts = RequestFacts() if isinstance(caller, str) else self._facts_of(prepare)
        decision = self._guard.authorize(caller, self.requirement, facts)
        if isinstance(decision, Deny) and self._on_deny is not None:
            self._on_deny(decision, caller)
        return decision

    def _facts_of(self, prepare: Prepare) -> RequestFacts:
        if not self._tenants and not self._resources:
            return RequestFacts()
        read = prepare()
        tenants: Dict[str, str] = {}
        for tenant in self._tenants:
            named = read(tenant.source, tenant.field)
            if named is not None:
                tenants[tenant_key(tenant)] = named
        resources: Dict[str, ResourceRef] = {}
        for check in self._resources:
            named = read(check.source, check.field)
            if named is not None and self._find_resource is not None:
                resource = self._find_resource(check.type, named)
                if resource is not None:
                    resources[resource_key(check)] = resource
        return RequestFacts(tenants, resources)
