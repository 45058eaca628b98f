// Grants a service's token for itself. For a client that this process knows, one statement counts the call and records
// the grant. Otherwise one statement counts the caller's network and finds the client, and another one counts the client
// and records the grant.
import type { HandlerContext } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import type { ClientQuestion, TaggedClient } from "@signet/kernel/machine/ports"
import { auditEvent } from "../audit/audit.ts"
import { dropLimitHeaders, limited, limitedWith, networkOf, refuseKnown } from "../limit.ts"
import { type Claim, type Client, claimOf, prove, proveKnown } from "./authenticate-client.ts"
import type { ClientCredential } from "./client-credential.ts"
import { type ClientCredentialsCall, clientCredentials, type OwnGrant } from "./client-credentials-grant.ts"
import { lockOf, throwCounted } from "./client-limits.ts"
import { issuedContext, ownContext } from "./context-grant.ts"
import type { KnowingDeps, TokenDeps } from "./deps.ts"
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
export async function ownGrant(deps: KnowingDeps, context: HandlerContext, call: OwnCall): Promise<IssuedToken> {
  const known = await grantToKnown(deps, context, call)
  if (known !== undefined) return known
  const client = await clientOf(deps, context, call)
  if (client instanceof Refused) return throwCounted(deps, context, call.proof, client)

  const nowMs = deps.clock.nowMs()
  const given = grantOf(deps, client, call, nowMs)
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
  return issuedBy(deps, call, given)
}

const grantOf = (deps: TokenDeps, client: Client, call: OwnCall, nowMs: number): OwnGrant | Refused =>
  call.is === "own_context" ? ownContext(deps, client, call, nowMs) : clientCredentials(deps, client, call, nowMs)

const issuedBy = (deps: TokenDeps, call: OwnCall, { claims }: OwnGrant): IssuedToken =>
  call.is === "own_context" ? issuedContext(deps, claims) : issued(deps, claims)

/**
 * Grants in one statement, which counts and records only if the client is as this process knows it. Undefined for every
 * call that needs the current facts: of an unknown or changed client, with a wrong secret, or with a refused grant.
 *
 * @throws Refused RATE_LIMITED, and CLIENT_INVALID for a client that was revoked while the statement waited.
 */
async function grantToKnown(
  deps: KnowingDeps,
  context: HandlerContext,
  call: OwnCall,
): Promise<IssuedToken | undefined> {
  const { proof } = call
  if (proof.is !== "secret") return undefined
  const at = { clientId: proof.clientId, tenantId: call.tenantId, contextId: call.contextId }
  const known = deps.knownClients.find(at)
  const nowMs = deps.clock.nowMs()
  const claim = claimOf(deps, proof, nowMs)
  if (known === undefined || claim === undefined) return undefined
  const client = await proveKnown(deps, claim, known, nowMs)
  const given = client && grantOf(deps, client, call, nowMs)
  if (client === undefined || given === undefined || given instanceof Refused) return undefined

  const event = auditEvent(deps, context, nowMs, given.event)
  const question = { who: claim, tenantId: call.tenantId, contextId: call.contextId, nowMs }
  const subjects = { ip: networkOf(context), client: client.account.id }
  const outcome = { is: "changed" as Awaited<ReturnType<typeof deps.store.clients.countAndAppendOf>>["is"] }
  const tooMany = await limitedWith(deps, context, route, subjects, lockOf(proof), async (counting) => {
    const asked = { client: question, tag: known.tag }
    const { is, ...taken } = await deps.store.clients.countAndAppendOf(counting, asked, event)
    outcome.is = is
    return taken
  })
  if (tooMany !== undefined) throw tooMany
  switch (outcome.is) {
    case "appended":
      return issuedBy(deps, call, given)
    case "late":
      return grantCounted(deps, context, call, { ...question, claim })
    default:
      deps.knownClients.forget(at)
      dropLimitHeaders(context)
      return undefined
  }
}

/** Grants a call that is counted, by the client's current facts: it may have been revoked during the wait. */
async function grantCounted(
  deps: KnowingDeps,
  context: HandlerContext,
  call: OwnCall,
  { claim, ...question }: ClientQuestion & { readonly claim: Claim },
): Promise<IssuedToken> {
  const { clients } = deps.store
  const found = await clients.find(question)
  const client = await prove(deps, claim, found, clients, question.nowMs)
  if (client instanceof Refused) {
    dropLimitHeaders(context)
    return throwCounted(deps, context, call.proof, client)
  }
  const given = grantOf(deps, client, call, question.nowMs)
  if (given instanceof Refused) throw given
  const event = auditEvent(deps, context, question.nowMs, given.event)
  await clients.countAndAppend({ asks: [], locks: [], nowMs: question.nowMs }, event)
  return issuedBy(deps, call, given)
}

/** Counts the caller's network before any look-up. */
async function clientOf(
  deps: KnowingDeps,
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
  const known: { found: TaggedClient | undefined } = { found: undefined }
  const tooMany = await limitedWith(deps, context, route, address, lock, async (counting) => {
    const { found, ...taken } = await clients.countAndFind(counting, { who: claim, tenantId, contextId, nowMs })
    known.found = found
    return taken
  })
  if (tooMany !== undefined) return tooMany
  const client = await prove(deps, claim, known.found?.client, clients, nowMs)
  if (!(client instanceof Refused))
    deps.knownClients.remember({ clientId: claim.clientId, tenantId, contextId }, known.found)
  return client
}
