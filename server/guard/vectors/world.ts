// Builds the guard, store and call of a situation.

import type { PermissionSnapshot } from "@signet/kernel/authz/effective"
import type { ResourceRef } from "@signet/kernel/authz/grants"
import type { LivenessFacts } from "@signet/kernel/authz/liveness-ports"
import type { Question } from "@signet/kernel/authz/question"
import { anyApp, createGuard, type Guard } from "../guard.ts"
import { createLocalKeySet } from "../key-set.ts"
import { nodeTokenCrypto } from "../node/token-crypto.ts"
import type { FindResource } from "../request-values.ts"
import { createActors } from "../testing/actors.ts"
import { createIssuer, encode, ids } from "../testing/issuer.ts"
import { active, baseClaims, resources } from "./build.ts"
import { type LivenessChange, now, roles, type Situation, scopePermissions } from "./situations.ts"
import type { Call } from "./targets/target.ts"

const issuer = createIssuer()
const stranger = createIssuer()
const keySet = createLocalKeySet(issuer, nodeTokenCrypto)
export const clock = { nowMs: () => now * 1_000 }
/** Test actors for mailboxes, and one that posts. */
export const actors = createActors(issuer)
export const poster = actors.actor({ clientId: "svc-mail", principalId: ids.service, mailboxes: ["svc-notes/*"] })

export function guardOf(situation: Situation): Guard {
  const { liveness = {}, introspection } = situation
  const agoMs = (situation.livenessAgeSeconds ?? 0) * 1_000
  return createGuard({
    issuer: issuer.issuer,
    audience: issuer.audience,
    appId: situation.targetApp ?? anyApp,
    keySet,
    clock,
    crypto: nodeTokenCrypto,
    ...(liveness === "unknown" ? {} : { liveness: async () => known(liveness, agoMs) }),
    permissions: async () => snapshotOf(situation.grants ?? []),
    ...(introspection === undefined ? {} : { introspect: async () => known(introspection, 0) }),
  })
}

/** The facts about the caller without any request; undefined if nothing answers. */
export function factsOf(situation: Situation): Pick<Question, "liveness" | "snapshot"> | undefined {
  const { liveness = {}, livenessAgeSeconds = 0, introspection, grants = [] } = situation
  if (liveness === "down" || introspection !== undefined || typeof grants === "string") return undefined
  const snapshot = snapshotOf(grants)
  if (typeof snapshot === "string") return undefined
  return { liveness: liveness === "unknown" ? liveness : known(liveness, livenessAgeSeconds * 1_000), snapshot }
}

function snapshotOf(grants: NonNullable<Situation["grants"]>): PermissionSnapshot | "PERMISSIONS_STALE" {
  if (grants === "down") throw new Error("down")
  if (grants === "stale") return "PERMISSIONS_STALE"
  return {
    roles: new Map(
      Object.entries(roles).map(([key, { permissions, inheritable }]) => [
        key,
        { key, permissions: new Set(permissions), inheritable },
      ]),
    ),
    scopes: new Map(Object.entries(scopePermissions).map(([scope, permissions]) => [scope, new Set(permissions)])),
    grants: grants.map(({ role, tenantId = null, contextId = null, resource = null, expiresAtMs = null }) => ({
      roleId: role,
      appId: ids.app,
      ...{ tenantId, contextId, resource, expiresAtMs },
    })),
  }
}

function known(change: LivenessChange | "down", agoMs: number) {
  if (change === "down") throw new Error("down")
  const session = Object.assign({}, active.session, change.session)
  const facts: LivenessFacts = Object.assign({}, active, change, { session })
  return { facts, asOfMs: now * 1_000 - agoMs }
}

export function callOf(situation: Situation): Call {
  const { authorization, request = {} } = situation
  return {
    authorization: authorization === undefined ? `Bearer ${tokenOf(situation)}` : authorization,
    contextToken: authorization === undefined ? contextTokenOf(situation) : bearerOf(authorization),
    scopes: scopesOf(situation),
    request,
  }
}

function tokenOf({ claims = {}, header = {}, signer = "issuer" }: Situation): string {
  const changed = Object.entries({ ...baseClaims(), ...claims }).filter(([, value]) => value !== null)
  const { signParts } = signer === "issuer" ? issuer : stranger
  return signParts(encode({ ...issuer.header, ...header }), encode(Object.fromEntries(changed)))
}

/** The same claims as a context token for messages of the poster. */
function contextTokenOf({ claims = {}, header = {}, signer = "issuer" }: Situation): string {
  const changed = Object.entries({ ...baseClaims(), aud: ids.service, ...claims }).filter(([, value]) => value !== null)
  const payload = Object.fromEntries(changed)
  if (signer === "issuer") return actors.sign("ctx+jwt", payload, header)
  return stranger.signParts(encode({ alg: "ES256", typ: "ctx+jwt", kid: "context-1", ...header }), encode(payload))
}

const bearerOf = (authorization: string | null): string => authorization?.replace(/^Bearer /, "") ?? ""

function scopesOf({ claims = {} }: Situation): readonly string[] {
  const { scp } = { ...baseClaims(), ...claims }
  return Array.isArray(scp) ? scp : []
}

export const findResource: FindResource = async (_, id) =>
  Object.values<ResourceRef>(resources).find((resource) => resource.id === id)
