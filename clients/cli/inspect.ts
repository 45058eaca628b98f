// Inspects a token locally: its kind, whether its issuer signed it, and the decision of a requirement. The token is
// sent nowhere.
import { createVerifier } from "@signet/guard/access-token"
import { createKeySet } from "@signet/guard/key-set"
import { requirementOf } from "@signet/guard/requirement"
import { webTokenCrypto } from "@signet/guard/token-crypto"
import type { AuthContext } from "@signet/kernel/authz/context"
import { type Explained, explain } from "@signet/kernel/authz/explain"
import { describe, type Requirement } from "@signet/kernel/authz/requirement"
import { parseOpaque } from "@signet/kernel/token/opaque"
import { decodeToken } from "./claims.ts"
import type { Cli } from "./cli.ts"
import { usage } from "./failure.ts"
import { methodNamed } from "./methods.ts"

export interface Inspected {
  readonly kind: string
  /** Null for a valid token. */
  readonly reason: string | null
  readonly header?: Readonly<Record<string, unknown>>
  readonly claims?: Readonly<Record<string, unknown>>
  readonly requirement?: { readonly describes: string; readonly allowed: boolean; readonly because: readonly string[] }
}

export interface Asked {
  /** The expected issuer. */
  readonly issuer: string
  /** The URL of the issuer's keys. */
  readonly server: string
  readonly audience: string | undefined
  readonly method: string | undefined
  readonly scopes: readonly string[]
}

const secrets = [
  ["sgpat_", "a personal access token", "PAT_NOT_BEARER"],
  ["sgrt_", "a refresh token", "REFRESH_TOKEN_NOT_BEARER"],
  ["sgsec_", "a service's secret", "MALFORMED_CREDENTIAL"],
  ["sginv_", "an invitation", "MALFORMED_CREDENTIAL"],
] as const

export async function inspectToken(cli: Cli, token: string, asked: Asked): Promise<Inspected> {
  if (token === "") throw usage("there is no token on standard input")
  const requirement = requirementAsked(asked)
  for (const [prefix, kind, reason] of secrets) {
    if (!token.startsWith(prefix)) continue
    return { kind: parseOpaque(prefix, token) ? kind : `${kind} with a wrong checksum`, reason }
  }
  const decoded = decodeToken(token)
  if (decoded === undefined) return { kind: "no token", reason: "MALFORMED_CREDENTIAL" }
  const clock = { nowMs: cli.nowMs }
  const keySet = createKeySet({
    url: `${asked.server}/.well-known/jwks.json`,
    crypto: webTokenCrypto,
    clock,
    fetch: cli.fetch,
  })
  const audience = asked.audience ?? null
  const verify = createVerifier({ issuer: asked.issuer, audience, keySet, crypto: webTokenCrypto, clock, cacheSize: 0 })
  const context = await verify(token)
  return {
    kind: decoded.header.typ === "at+jwt" ? "an access token" : "a JWT",
    reason: typeof context === "string" ? context : null,
    ...decoded,
    ...(requirement && typeof context !== "string" && { requirement: judge(requirement, context, cli.nowMs()) }),
  }
}

function requirementAsked({ method, scopes }: Asked): Requirement | undefined {
  if (method !== undefined && scopes.length > 0) throw usage("--method or --scope is required")
  if (method !== undefined) return requirementOf(methodNamed(method))
  const [first, ...rest] = scopes.map((scope) => ({ is: "scope", scope }) as const)
  if (first === undefined) return undefined
  return rest.length === 0 ? first : { is: "allOf", of: [first, ...rest] }
}

/** The decision as far as the token determines it: only the service knows its session and grants. */
function judge(requirement: Requirement, context: AuthContext, nowMs: number): NonNullable<Inspected["requirement"]> {
  const { decision, requirement: explained } = explain({
    context,
    requirement,
    expected: { issuer: context.issuer, audience: context.audience },
    request: {},
    liveness: "unknown",
    defaultFreshness: { maxStalenessMs: 930_000, onStale: "INTROSPECT" },
    snapshot: null,
    nowMs,
  })
  return {
    describes: describe(requirement),
    allowed: decision.allow,
    because: explained === undefined ? [] : linesOf(explained, ""),
  }
}

function linesOf({ asked, holds, failed, found, of }: Explained, indent: string): readonly string[] {
  const why = failed === undefined ? "" : `: ${failed.reason}`
  return [
    `${indent}${holds ? "yes" : "no "} ${asked}${why}`,
    ...found.map((line) => `${indent}    ${line}`),
    ...of.flatMap((part) => linesOf(part, `${indent}  `)),
  ]
}
