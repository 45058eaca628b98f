import type { HandlerContext } from "@connectrpc/connect"
import type { Deps } from "../../deps.ts"
import { identityShape, membershipShape, principalShape, sessionShape } from "../../shape.ts"
import { issueTokens } from "../issue-tokens.ts"
import type { SignedIn } from "../login.ts"

/** The answer of every sign-in method. */
export function signedInShape(deps: Deps, context: HandlerContext, signedIn: SignedIn) {
  const { session, principal, identity, membership, created } = signedIn
  return {
    ...issueTokens(deps, context, signedIn),
    session: sessionShape(session, deps.clock.nowMs(), session.id),
    principal: principalShape(principal),
    identity: identityShape(identity),
    membership: membershipShape(membership),
    created,
  }
}
