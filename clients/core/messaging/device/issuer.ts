import { equalBytes } from "@signet/canonical/bytes"
import { decode } from "@signet/canonical/canonical"
import type { Verify } from "@signet/canonical/ed25519"
import { CanonicalError } from "@signet/canonical/errors"
import { hash, issuerIdOf } from "@signet/canonical/hash"
import { type IssuerKeys, verifyIssuerKeySet } from "@signet/canonical/issuer-keys"
import { parseSigned } from "@signet/canonical/signed"
import { IssuerKeySetBodyV1Schema } from "@signet/proto/credential/v1/issuer_key_set"
import { MessagingError } from "../errors.ts"

/** The issuer keys that credentials, proofs and receipts are verified with. */
export interface Issuer {
  /** @throws MessagingError ISSUER_KEYS_REFUSED */
  keys(): IssuerKeys
  /** Requests a newer set from the service. An invalid set changes nothing. */
  refresh(): Promise<IssuerKeys>
}

interface IssuerOptions {
  /** The issuer's URL, as tokens name it. */
  readonly issuer: string
  /** The pinned roots, 32 bytes each. */
  readonly roots: readonly Uint8Array[]
  readonly nowMs: () => number
  readonly verify: Verify
  readonly fetch: () => Promise<Uint8Array>
  /**
   * Stores a set.
   *
   * @returns The stored set. It differs if another tab has stored a newer one, or a fork of the same version.
   */
  readonly store: (signed: Uint8Array) => Promise<Uint8Array>
}

/** @param stored The newest stored set; empty for none. */
export function openIssuer(options: IssuerOptions, stored: Uint8Array): Issuer {
  const issuerId = issuerIdOf(options.issuer)
  let newest = stored
  let seen: { readonly version: bigint; readonly hash: Uint8Array } | undefined =
    stored.length === 0 ? undefined : { version: versionOf(stored), hash: hash("issuer-keys", stored) }
  const verified = (signed: Uint8Array): IssuerKeys => {
    const atSeconds = BigInt(Math.floor(options.nowMs() / 1_000))
    const { roots, verify } = options
    return verifyIssuerKeySet(signed, { roots, issuerId, atSeconds, seen, verify })
  }
  return {
    keys() {
      if (newest.length === 0)
        throw new MessagingError("ISSUER_KEYS_REFUSED", "no issuer key set was fetched yet: call `refresh` first")
      // Verified at every use: a set expires even if the service withholds the next one. The signature check is cached.
      return refusing(() => verified(newest))
    },
    async refresh() {
      const signed = await options.fetch()
      const next = refusing(() => verified(signed))
      const inStore = next.version === seen?.version ? signed : await options.store(signed)
      seen = next
      newest = signed
      if (equalBytes(inStore, signed)) return next
      // Another tab has stored a newer set, which must not contradict this one.
      const theirs = refusing(() => verified(inStore))
      seen = theirs
      newest = inStore
      return theirs
    },
  }
}

/**
 * The version of a stored set, or -1n for none. It was verified before it was stored, and the store authenticates it.
 */
export function versionOf(signed: Uint8Array): bigint {
  if (signed.length === 0) return -1n
  const schema = IssuerKeySetBodyV1Schema
  return decode(schema, parseSigned(schema, signed).body).setVersion
}

function refusing<T>(work: () => T): T {
  try {
    return work()
  } catch (cause) {
    if (!(cause instanceof CanonicalError)) throw cause
    throw new MessagingError("ISSUER_KEYS_REFUSED", cause.message, { cause })
  }
}
