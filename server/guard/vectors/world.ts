// A guard, a store and a call as a situation describes them.
import type { ResourceRef } from "@signet/kernel/authz/grants"
import type { LivenessFacts } from "@signet/kernel/ports"
import { createGuard, type Guard } from "../guard.ts"
import { createLocalKeySet } from "../key-set.ts"
import { nodeTokenCrypto } from "../node/token-crypto.ts"
import type { FindResource } from "../request-values.ts"
import { createIssuer, encode } from "../testing/issuer.ts"
import { active, baseClaims, resources } from "./build.ts"
import { type LivenessChange, now, type Situation } from "./situations.ts"
import type { Call } from "./targets/target.ts"

const issuer = createIssuer()
const stranger = createIssuer()
const keySet = createLocalKeySet(issuer, nodeTokenCrypto)
const clock = { nowMs: () => now * 1_000 }

export function guardOf(situation: Situation): Guard {
  const { liveness = {}, introspection } = situation
  const agoMs = (situation.livenessAgeSeconds ?? 0) * 1_000
  return createGuard({
    issuer: issuer.issuer,
    audience: issuer.audience,
    keySet,
    clock,
    crypto: nodeTokenCrypto,
    ...(liveness === "unknown" ? {} : { liveness: async () => known(liveness, agoMs) }),
    ...(introspection === undefined ? {} : { introspect: async () => known(introspection, 0) }),
  })
}

function known(change: LivenessChange | "down", agoMs: number) {
  if (change === "down") throw new Error("down")
  const session = Object.assign({}, active.session, change.session)
  const facts: LivenessFacts = Object.assign({}, active, change, { session })
  return { facts, asOfMs: now * 1_000 - agoMs }
}

export function callOf(situation: Situation): Call {
  const { authorization, request = {} } = situation
  return { authorization: authorization === undefined ? `Bearer ${tokenOf(situation)}` : authorization, request }
}

function tokenOf({ claims = {}, header = {}, signer = "issuer" }: Situation): string {
  const changed = Object.entries({ ...baseClaims(), ...claims }).filter(([, value]) => value !== null)
  const { signParts } = signer === "issuer" ? issuer : stranger
  return signParts(encode({ ...issuer.header, ...header }), encode(Object.fromEntries(changed)))
}

export const findResource: FindResource = async (_, id) =>
  Object.values<ResourceRef>(resources).find((resource) => resource.id === id)
