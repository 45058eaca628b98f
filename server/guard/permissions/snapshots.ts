// Permission snapshots of callers, fetched from the issuer once per version and cached: a version never changes.
import type { AuthContext } from "@signet/kernel/authz/context"
import type { PermissionSnapshot } from "@signet/kernel/authz/effective"
import { maxSnapshotLength, parseSnapshot, type SnapshotKey } from "@signet/kernel/authz/snapshot"
import type { Clock } from "@signet/kernel/ports"
import { fetchText, StatusError } from "../fetch-text.ts"
import { createJwtVerifier, type Json, untimely } from "../jwt.ts"
import type { KeySet } from "../key-set.ts"
import type { RevocationFeed } from "../revocation/feed.ts"
import { type ServiceToken, withToken } from "../service-token.ts"
import { createSharedRun } from "../shared-run.ts"
import { decodeObject } from "../strict-json.ts"
import { type TokenCrypto, webTokenCrypto } from "../token-crypto.ts"
import type { FindPermissions } from "./permissions.ts"

/**
 * A cache for signed snapshots that outlives the process. Entries are verified at each read, and its errors are
 * ignored.
 */
export interface SnapshotCache {
  get(key: string): Promise<string | undefined>
  put(key: string, jws: string): Promise<void>
}

export interface PermissionSnapshotsOptions {
  /** Accepted `iss`. */
  readonly issuer: string
  /** The issuer's base URL. Configured, never from a request or a token. */
  readonly baseUrl: string
  /** The keys of `/.well-known/statement-keys.json`. Other keys do not sign statements. */
  readonly statementKeys: KeySet
  /** The guard's feed: snapshots that a revoked key signed are neither accepted nor cached. */
  readonly revocations?: Pick<RevocationFeed, "withoutRevoked">
  /** This service's own access token for the issuer, with the scope `auth.permissions.read`. */
  readonly token: ServiceToken
  readonly clock: Clock
  readonly fetch: typeof fetch
  readonly crypto?: TokenCrypto
  readonly cache?: SnapshotCache
  /** Maximum number of snapshots in memory. 1,000. */
  readonly capacity?: number
  /** Maximum total length of their signed form, in characters. 33,554,432. */
  readonly maxHeldLength?: number
}

/** 1,024 bytes for the JSON around the snapshot. */
const limits = { timeoutMs: 5_000, maxBytes: maxSnapshotLength + 1_024 }

type Held = { readonly outdated: true; readonly length: number } | (Known & { readonly outdated: false })

interface Known {
  readonly snapshot: PermissionSnapshot
  readonly kid: string
  readonly length: number
}

/** Finds the permissions of callers of any app. Throws if the issuer does not answer correctly. */
export function createPermissionSnapshots(options: PermissionSnapshotsOptions): FindPermissions {
  const { issuer, revocations, cache, capacity = 1_000, maxHeldLength = 33_554_432 } = options
  const statementKeys = revocations?.withoutRevoked(options.statementKeys) ?? options.statementKeys
  const held = new Map<string, Held>()
  let heldLength = 0
  const shared = createSharedRun<Held>(options.clock, limits.timeoutMs)
  const verify = createJwtVerifier<Json>({
    typ: "perm+jwt",
    keySet: statementKeys,
    crypto: options.crypto ?? webTokenCrypto,
    clock: options.clock,
    cacheSize: 0,
    maxLength: maxSnapshotLength,
    read: (payload, nowMs) => untimely(payload, nowMs) ?? payload,
  })

  /** Undefined unless it is the issuer's statement for exactly this key. */
  async function read(jws: string, key: SnapshotKey): Promise<Known | undefined> {
    const payload = await verify(jws)
    const snapshot = typeof payload === "string" ? undefined : parseSnapshot(payload, issuer, key)
    const kid = decodeObject(jws.slice(0, jws.indexOf(".")))?.object.kid
    return snapshot === undefined || typeof kid !== "string" ? undefined : { snapshot, kid, length: jws.length }
  }

  async function load(name: string, key: SnapshotKey): Promise<Held> {
    const cached = await cache?.get(name).catch(() => undefined)
    const kept = cached === undefined ? undefined : await read(cached, key)
    if (kept !== undefined) return { outdated: false, ...kept }
    const jws = await ask(options, key)
    if (jws === undefined) return { outdated: true, length: 0 }
    const asked = await read(jws, key)
    if (asked === undefined) throw new Error("the issuer's snapshot does not match the request")
    await cache?.put(name, jws).catch(() => undefined)
    return { outdated: false, ...asked }
  }

  function forget(name: string): void {
    heldLength -= held.get(name)?.length ?? 0
    held.delete(name)
  }

  function keep(name: string, one: Held): void {
    forget(name)
    held.set(name, one)
    heldLength += one.length
    for (const oldest of held.keys()) {
      if (held.size <= capacity && heldLength <= maxHeldLength) break
      forget(oldest)
    }
  }

  /** Returns a snapshot from memory and marks it as recently used. Snapshots of a withdrawn key are dropped. */
  async function remembered(name: string): Promise<Held | undefined> {
    const known = held.get(name)
    if (known === undefined) return undefined
    if (!known.outdated && typeof (await statementKeys.find(known.kid)) === "string") {
      forget(name)
      return undefined
    }
    keep(name, known)
    return known
  }

  async function find(caller: AuthContext): Promise<PermissionSnapshot | "PERMISSIONS_STALE"> {
    const key = keyOf(caller)
    const name = nameOf(key)
    const known = (await remembered(name)) ?? (await shared(name, () => load(name, key)))
    keep(name, known)
    return known.outdated ? "PERMISSIONS_STALE" : known.snapshot
  }

  return Object.assign(find, {
    async held(caller: AuthContext) {
      const known = await remembered(nameOf(keyOf(caller)))
      return known === undefined || known.outdated ? undefined : known.snapshot
    },
  })
}

const keyOf = ({ principal, appId, tenantId, contextId, permVer }: AuthContext): SnapshotKey => ({
  principalId: principal.id,
  appId,
  tenantId,
  contextId,
  permVer,
})

/** Unique per key, because ids contain no spaces. */
const nameOf = ({ principalId, appId, tenantId, contextId, permVer }: SnapshotKey): string =>
  `signet-perm ${principalId} ${appId} ${tenantId ?? "-"} ${contextId ?? "-"} ${permVer}`

/** Undefined if permissions changed after this version. */
async function ask(options: PermissionSnapshotsOptions, key: SnapshotKey): Promise<string | undefined> {
  const { principalId, appId, tenantId, contextId, permVer } = key
  const query = new URLSearchParams({
    appId,
    ...(tenantId === null ? {} : { tenantId }),
    ...(contextId === null ? {} : { contextId }),
    permVer: String(permVer),
  })
  const url = `${options.baseUrl}/auth/permissions/${principalId}?${query}`
  try {
    const text = await withToken(options.token, (token) =>
      fetchText(options.fetch, url, limits, { headers: { authorization: `Bearer ${token}` } }),
    )
    return jwsIn(text)
  } catch (error) {
    // SNAPSHOT_OUTDATED is the only conflict of this call.
    if (error instanceof StatusError && error.status === 409) return undefined
    throw error
  }
}

/** @throws Error if the response is malformed. */
function jwsIn(text: string): string {
  const answer: { jws?: unknown } | null = JSON.parse(text)
  if (typeof answer?.jws !== "string") throw new Error("no snapshot answer")
  return answer.jws
}
