// Pending redirect sign-ins: in the store, which only this origin reads, until the callback takes them or ten minutes
// have passed.
import type { SignInOptions } from "../client.ts"
import type { Clock } from "../ports.ts"
import { isText, objectOf } from "../record.ts"
import type { SessionStore } from "../session-store.ts"

export interface Pending {
  /** The key: 192 random bits, which the provider returns. */
  readonly state: string
  readonly createdAtMs: number
  /** Before any hashing. */
  readonly nonce: string
  /** From the service, which created the nonce. */
  readonly transaction: string
  /** RFC 7636 section 4.1. */
  readonly codeVerifier: string
  readonly connection: string
  readonly redirectUri: string
  /** The issuers that the provider's callback may name (RFC 9207). */
  readonly issuers: readonly string[]
  readonly requiresIssuer: boolean
  readonly returnTo: string
  readonly display: "page" | "popup"
  /** Options of the sign-in that follows. */
  readonly options: SignInOptions
}

interface PendingSignIns {
  put(pending: Pending): Promise<void>
  /** @returns Undefined for an unknown, used or expired state. Only one caller gets it. */
  take(state: string): Promise<Pending | undefined>
}

const lifeMs = 600_000
/** The most pending sign-ins; the oldest is dropped first. */
const most = 8
const name = "sign-ins"

export function createPendingSignIns({ sessions, clock }: { sessions: SessionStore; clock: Clock }): PendingSignIns {
  // The machine's clock may have been set back: a time in the future counts as expired too.
  const isLive = ({ createdAtMs }: Pending) => Math.abs(clock.nowMs() - createdAtMs) < lifeMs
  const live = (bytes: Uint8Array | undefined) => parse(bytes).filter(isLive)

  return {
    put: (pending) =>
      sessions.change(name, (before) => ({
        after: encode([...live(before), pending].slice(-most)),
        value: undefined,
      })),
    take: (state) =>
      sessions.change(name, (before) => {
        const all = live(before)
        const value = all.find((each) => each.state === state)
        return { after: value && encode(all.filter((each) => each !== value)), value }
      }),
  }
}

const encode = (all: readonly Pending[]): Uint8Array => new TextEncoder().encode(JSON.stringify(all))

function parse(bytes: Uint8Array | undefined): readonly Pending[] {
  if (bytes === undefined) return []
  try {
    const all: unknown[] = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes))
    return all.map(parseOne).filter((one) => one !== undefined)
  } catch {
    return []
  }
}

/** Undefined for an entry of another version. */
function parseOne(value: unknown): Pending | undefined {
  const one = objectOf(value)
  const {
    state,
    createdAtMs,
    nonce,
    transaction,
    codeVerifier,
    connection,
    redirectUri,
    issuers,
    requiresIssuer,
    returnTo,
  } = one
  if (
    !isText(state) ||
    typeof createdAtMs !== "number" ||
    !isText(nonce) ||
    !isText(transaction) ||
    !isText(codeVerifier)
  )
    return undefined
  if (typeof connection !== "string" || !isText(redirectUri) || !isText(returnTo)) return undefined
  if (!Array.isArray(issuers) || !issuers.every(isText) || typeof requiresIssuer !== "boolean") return undefined
  return {
    ...{
      state,
      createdAtMs,
      nonce,
      transaction,
      codeVerifier,
      connection,
      redirectUri,
      issuers,
      requiresIssuer,
      returnTo,
    },
    display: one.display === "popup" ? "popup" : "page",
    options: optionsOf(objectOf(one.options)),
  }
}

function optionsOf({ tenantId, contextId, invitationCode, cancelDeletion }: Record<string, unknown>): SignInOptions {
  return {
    ...(isText(tenantId) && { tenantId }),
    ...(isText(contextId) && { contextId }),
    ...(isText(invitationCode) && { invitationCode }),
    ...(cancelDeletion === true && { cancelDeletion }),
  }
}
