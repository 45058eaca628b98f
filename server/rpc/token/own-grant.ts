// Grants a service's token for itself in two statements: one counts the caller's network and finds the client, the
// other counts the client and records the grant.
import type { HandlerContext } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import { auditEvent } from "../audit/audit.ts"
import { limited, limitedWith, networkOf, refuseKnown } from "../limit.ts"
import { type Client, claimOf, prove } from "./authenticate-client.ts"
import type { ClientCredential } from "./client-credential.ts"
import { type ClientCredentialsCall, clientCredentials } from "./client-credentials-grant.ts"
import { lockOf, throwCounted } from "./client-limits.ts"
import { issuedContext, ownContext } from "./context-grant.ts"
import type { TokenDeps } from "./deps.ts"
import { type IssuedToken, issued } from "./issued.ts"
import { clientRefusal } from "./refuse.ts"

type Proof = Extract<ClientCredential, { is: "secret" | "assertion" }>

interface OwnCall extends ClientCredentialsCall {
  is: "client_credentials" | "own_context"
  proof: Proof
}

const route = "client_credentials"

/**
 * Grants the token. A revocation of the client between the two statements revokes the token too, as if it had been
 * issued before.
 *
 * @throws Refused CLIENT_INVALID, RATE_LIMITED, and the refusals of the grant.
 */
export async function ownGrant(deps: TokenDeps, context: HandlerContext, call: OwnCall): Promise<IssuedToken> {
  const client = await clientOf(deps, context, call)
  if (client instanceof Refused) return throwCounted(deps, context, call.proof, client)

  const nowMs = deps.clock.nowMs()
  const give = call.is === "own_context" ? ownContext : clientCredentials
  const given = give(deps, client, call, nowMs)
  const subjects = { client: client.account.id }
  const lock = lockOf(call.proof)
  if (given instanceof Refused) {
    throw (await limited(deps, context, route, subjects, lock)) ?? given
  }
  const event = auditEvent(deps, context, nowMs, given.event)
  const tooMany = await limitedWith(deps, context, route, subjects, lock, (counting) =>
    deps.store.clients.countAndAppend(counting, event),
  )
  if (tooMany !== undefined) throw tooMany
  return call.is === "own_context" ? issuedContext(deps, given.claims) : issued(deps, given.claims)
}

/** Counts the caller's network before any look-up. */
async function clientOf(
  deps: TokenDeps,
  context: HandlerContext,
  { proof, tenantId, contextId }: OwnCall,
): Promise<Client | Refused> {
  const { clients } = deps.store
  const address = { ip: networkOf(context) }
  const lock = lockOf(proof)
  refuseKnown(deps, context, route, address, lock)
  const nowMs = deps.clock.nowMs()
  const claim = claimOf(deps, proof, nowMs)
  if (claim === undefined) {
    return (await limited(deps, context, route, address, lock)) ?? clientRefusal()
  }
  const found = { facts: undefined as Awaited<ReturnType<typeof clients.find>> }
  const tooMany = await limitedWith(deps, context, route, address, lock, async (counting) => {
    const { client, ...taken } = await clients.countAndFind(counting, { who: claim, tenantId, contextId, nowMs })
    found.facts = client
    return taken
  })
  return tooMany ?? prove(deps, claim, found.facts, clients, nowMs)
}
