"""What a requirement says of a call whose caller is known: its checks, and the composites of them."""
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Sequence, Union

from .check import Failure, Inherited, KnownCall, failure_of
from .requirement import AllOf, AnyOf, BodyCredential, Delegated, Public, Requirement


@dataclass(frozen=True)
class Passed:
    takes_actor: bool
    """A token with an actor is accepted, too."""


Outcome = Union[Passed, Failure]


def evaluate(requirement: Requirement, call: KnownCall, inherited: Inherited) -> Outcome:
    """Returns the outcome. Raises ValueError for a requirement that must not stand where it does."""
    options = _narrow(inherited, requirement)
    check = requirement.check
    if isinstance(check, (Public, BodyCredential)):
        raise ValueError("an open requirement inside a composite")
    if isinstance(check, (AnyOf, AllOf)):
        if len(check.of) == 0:
            raise ValueError("an empty composite")
        outcomes = [evaluate(part, call, options) for part in check.of]
        passed = [outcome for outcome in outcomes if isinstance(outcome, Passed)]
        failures = [outcome for outcome in outcomes if isinstance(outcome, Failure)]
        if passed if isinstance(check, AnyOf) else not failures:
            return Passed(requirement.allow_delegated or any(outcome.takes_actor for outcome in passed))
        return _pick(failures, is_any=isinstance(check, AnyOf))
    failure = failure_of(check, call, options)
    if failure is not None:
        return failure
    return Passed(isinstance(check, Delegated) or requirement.allow_delegated)


def _narrow(inherited: Inherited, own: Requirement) -> Inherited:
    """Returns what holds inside of a requirement: the least age of the sign-in, and the nearest freshness."""
    age, own_age = inherited.max_auth_age_seconds, own.max_auth_age_seconds
    if own_age > 0:
        age = own_age if age is None else min(age, own_age)
    return Inherited(inherited.freshness if own.freshness is None else own.freshness, age)


def _pick(failures: Sequence[Failure], is_any: bool) -> Failure:
    """Returns the failure of the part that got furthest for any_of, the earliest for all_of; of equals the first."""
    # max and min return the first of equals.
    told = (max if is_any else min)(failures, key=lambda failure: failure.step)
    return replace(told, introspect=any(failure.introspect for failure in failures))
