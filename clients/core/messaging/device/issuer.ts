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

export interface IssuerOptions {
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
  readonly keep: (signed: Uint8Array) => Promise<Uint8Array>
}

/** @param kept The newest stored set; empty for none. */
export function openIssuer(options: IssuerOptions, kept: Uint8Array): Issuer {
  const issuerId = issuerIdOf(options.issuer)
  let newest = kept
  let seen: { readonly version: bigint; readonly hash: Uint8Array } | undefined =
    kept.length === 0 ? undefined : { version: versionOf(kept), hash: hash("issuer-keys", kept) }
  const take = (signed: Uint8Array): IssuerKeys => {
    const atSeconds = BigInt(Math.floor(options.nowMs() / 1_000))
    const { roots, verify } = options
    return verifyIssuerKeySet(signed, { roots, issuerId, atSeconds, seen, verify })
  }
  return {
    keys() {
      if (newest.length === 0) throw new MessagingError("ISSUER_KEYS_REFUSED", "no key set was fetched yet")
      // Verified at every use: a set expires even if the service withholds the next one. The signature check is cached.
      return refusing(() => take(newest))
    },
    async refresh() {
      const signed = await options.fetch()
      const next = refusing(() => take(signed))
      const kept = next.version === seen?.version ? signed : await options.keep(signed)
      seen = next
      newest = signed
      if (equalBytes(kept, signed)) return next
      // Another tab has stored a newer set, which must not contradict this one.
      const theirs = refusing(() => take(kept))
      seen = theirs
      newest = kept
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
