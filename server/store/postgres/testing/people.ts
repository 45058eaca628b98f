// Records of people with ids of their own, for tests of the store.
import { randomBytes } from "node:crypto"
import type { AuditEvent } from "@signet/kernel/audit/event"
import { type IdKinds, newId } from "@signet/kernel/ids"
import type { Store } from "@signet/kernel/ports"
import type { Identity, Membership, Principal, ProviderAccount, RefreshToken, Session } from "@signet/kernel/records"
import * as samples from "@signet/kernel/testing/records"

export const { app, providerClient } = samples

export const freshId = <K extends keyof IdKinds>(kind: K): IdKinds[K] => newId(kind, Date.now(), randomBytes(10))

export interface Person {
  identity: Identity
  account: ProviderAccount
  principal: Principal
  membership: Membership
}

/** A new person that is not stored yet. */
export function newPerson(): Person {
  const identity = { ...samples.identity, id: freshId("idn") }
  const principal = { ...samples.principal, id: freshId("prn"), identityId: identity.id }
  return {
    identity,
    principal,
    account: { ...samples.account, id: freshId("pac"), identityId: identity.id, subject: freshId("idn") },
    membership: { ...samples.membership, id: freshId("mem"), principalId: principal.id },
  }
}

export function newSession(person: Person, change: Partial<Session> = {}): Session {
  return {
    ...samples.session,
    id: freshId("ses"),
    identityId: person.identity.id,
    principalId: person.principal.id,
    providerAccountId: person.account.id,
    ...change,
  }
}

export function newToken(session: Session, change: Partial<RefreshToken> = {}): RefreshToken {
  const tokenHash = new Uint8Array(randomBytes(32))
  return {
    ...samples.refreshToken,
    id: freshId("rtk"),
    sessionId: session.id,
    familyId: session.id,
    tokenHash,
    ...change,
  }
}

/** Stores the app and its provider client. */
export function putApp(store: Store): Promise<void> {
  return store.transaction(async (tx) => {
    await tx.apps.putApp(app)
    await tx.apps.putProviderClient(providerClient)
  })
}

/** Stores a new person with a membership of the app. */
export function putPerson(store: Store, person: Person = newPerson()): Promise<Person> {
  return store.transaction(async (tx) => {
    await tx.identities.insertIdentity(person.identity, person.account, person.principal)
    await tx.identities.insertMembership(person.membership)
    return person
  })
}

/** Stores a new person with a session and its first refresh token. */
export async function putSession(store: Store, change: Partial<Session> = {}) {
  const person = await putPerson(store)
  const session = newSession(person, change)
  const token = newToken(session)
  await store.transaction(async (tx) => {
    await tx.sessions.insert(session)
    await tx.refreshTokens.insert(token)
  })
  return { person, session, token }
}

const sessionCreated = (session: Session): AuditEvent => ({
  id: freshId("aud"),
  occurredAtMs: session.createdAtMs,
  kind: "session.created",
  outcome: "SUCCESS",
  reason: null,
  appId: session.appId,
  tenantId: session.tenantId,
  contextId: session.contextId,
  actorPrincipalId: session.principalId,
  subjectPrincipalId: session.principalId,
  subjectIdentityId: session.identityId,
  sessionId: session.id,
  target: null,
  request: { id: "", route: "", ipTruncated: null },
})

/** Stores a session as a sign-in does: with its first refresh token, the use of the account, and an audit event. */
export async function putSignIn(store: Store, person: Person, used: { email: string | null } | null): Promise<Session> {
  const session = newSession(person)
  await store.transaction(async (tx) => {
    tx.signIns.insertSession(session, newToken(session), used)
    await tx.audit.append(sessionCreated(session))
  })
  return session
}
