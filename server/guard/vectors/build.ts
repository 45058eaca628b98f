// Converts decisions.md to test vectors, with everything that another implementation needs to reproduce them.
import { challengeOf } from "@signet/guard/challenge"
import type { ResourceRef } from "@signet/kernel/authz/grants"
import { type Reason, Refused, refusals } from "@signet/kernel/errors"
import { newId } from "@signet/kernel/ids"
import { createIssuer, ids } from "../testing/issuer.ts"
import { requirements } from "./requirements.ts"
import { contextId, now, roles, type Situation, scopePermissions, situations } from "./situations.ts"
import { readTable } from "./table.ts"

export type Expected =
  /** `caller` null: the guarded code runs without a caller. */
  | { readonly allow: true; readonly caller?: null }
  | {
      readonly allow: false
      readonly reason: string
      readonly status: number
      readonly message: string
      readonly metadata: Readonly<Record<string, string>>
      /** WWW-Authenticate on HTTP targets; null for none. */
      readonly challenge: string | null
    }

export interface Case {
  readonly requirement: string
  readonly situation: string
  readonly expected: Expected
}

/** LivenessFacts of an active user. */
export const active = {
  principal: "ACTIVE",
  actor: "ACTIVE",
  identity: "ACTIVE",
  session: { status: "ACTIVE", idleExpiresAtMs: 9e15, absoluteExpiresAtMs: 9e15 },
  membership: "ACTIVE",
  app: "ACTIVE",
  tenant: "ACTIVE",
  context: null,
  revoked: [],
  minimum: { principal: 0, policy: 0 },
  current: null,
} as const

/** The resources in the target's store. */
export const resources = {
  own: { type: "note", id: "own", appId: ids.app, tenantId: ids.tenant, contextId: null },
  foreign: { type: "note", id: "foreign", appId: ids.app, tenantId: null, contextId: null },
  elsewhere: {
    type: "note",
    id: "elsewhere",
    appId: newId("app", 2, new Uint8Array(10)),
    tenantId: ids.tenant,
    contextId: null,
  },
  "in context": { type: "note", id: "in context", appId: ids.app, tenantId: ids.tenant, contextId },
  folder: { type: "folder", id: "folder", appId: ids.app, tenantId: ids.tenant, contextId: null },
} satisfies Record<string, ResourceRef>

/** The claims of every token before a situation changes them. */
export function baseClaims(): Record<string, unknown> {
  return { ...createIssuer().claims(), tenant_id: ids.tenant, auth_time: now - 10 }
}

const detailNames: Partial<Record<Reason, string>> = {
  MISSING_SCOPE: "scope",
  MISSING_PERMISSION: "permission",
  MISSING_ROLE: "role",
  STEP_UP_REQUIRED: "max_age",
}

function isReason(name: string): name is Reason {
  return Object.hasOwn(refusals, name)
}

function expectedOf(decision: string, detail: string | undefined): Expected {
  if (decision === "allow") {
    if (detail !== undefined && detail !== "nobody") throw new Error(`allow ${detail}`)
    return detail === undefined ? { allow: true } : { allow: true, caller: null }
  }
  if (!isReason(decision)) throw new Error(`no reason: ${decision}`)
  const name = detailNames[decision]
  if ((name === undefined) !== (detail === undefined)) throw new Error(`${decision}: ${detail}`)
  const metadata = name === undefined ? {} : { [name]: detail ?? "" }
  const refused = new Refused(decision, { metadata })
  const { status, message } = refused
  return { allow: false, reason: decision, status, message, metadata, challenge: challengeOf(refused) ?? null }
}

function known<Value>(values: ReadonlyMap<string, Value>, name: string): Value {
  const value = values.get(name)
  if (value === undefined) throw new Error(`decisions.md names an unknown "${name}"`)
  return value
}

export function buildVectors() {
  const { issuer, audience, header } = createIssuer()
  const cases = readTable().map(({ requirement, situation, decision, detail }): Case => {
    known(requirements, requirement)
    known(new Map<string, Situation>(Object.entries(situations)), situation)
    return { requirement, situation, expected: expectedOf(decision, detail) }
  })
  return {
    now,
    issuer,
    audience,
    header,
    claims: baseClaims(),
    liveness: active,
    resources,
    roles,
    scopes: scopePermissions,
    requirements: Object.fromEntries(requirements),
    situations,
    cases,
  }
}

/** JSON with one line for each requirement, situation and case. */
export function vectorText(): string {
  const { requirements: rows, situations: columns, cases, ...rest } = buildVectors()
  const entries = (of: object) =>
    Object.entries(of).map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`)
  const block = (name: string, [open, close]: string, lines: readonly string[]) =>
    `${JSON.stringify(name)}:${open}\n${lines.join(",\n")}\n${close}`
  return `{\n${[
    ...entries(rest),
    block("requirements", "{}", entries(rows)),
    block("situations", "{}", entries(columns)),
    block(
      "cases",
      "[]",
      cases.map((one) => JSON.stringify(one)),
    ),
  ].join(",\n")}\n}\n`
}
