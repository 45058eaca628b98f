// The root key signs the issuer's key set. Clients pin its public half. The private half is used offline; only the
// development profile gives it to a server.
import { seedSigner } from "@signet/canonical/ed25519"
import { issuerIdOf } from "@signet/canonical/hash"
import { issueIssuerKeySet } from "@signet/canonical/issuer-keys"
import { nodeSigner } from "@signet/canonical/node/ed25519"
import type { IssuerKeyRecord, IssuerPurpose } from "@signet/kernel/keys/issuer-keys"
import { KeyPurpose } from "@signet/proto/credential/v1/issuer_key_set"
import { SignatureScheme } from "@signet/proto/credential/v1/signed"

/** The public part of a key for the key set. */
export type IssuerPublicKey = Pick<IssuerKeyRecord, "purpose" | "generation" | "publicKey" | "createdAtMs">

/** A signed key set, with the root that signed it. */
export interface SignedKeySet {
  /** 32 bytes. */
  readonly rootKey: Uint8Array
  /** A SignedBytesV1 of an IssuerKeySetBodyV1. */
  readonly issuerKeySet: Uint8Array
}

const day = 86_400
/** Five years: longer than any signature must verify. Credentials live 400 days. */
const keySeconds = 5 * 365 * day
/** Tolerance for verifiers' clocks that are behind, in seconds. */
const earlySeconds = 3_600

const purposes: Record<IssuerPurpose, KeyPurpose> = {
  CREDENTIAL: KeyPurpose.CREDENTIAL,
  PROOF: KeyPurpose.PROOF,
  RECEIPT: KeyPurpose.RECEIPT,
  LIST: KeyPurpose.LIST,
}

/** The public half of a root's 32-byte seed. */
export const rootPublicKey = (seed: Uint8Array): Uint8Array => seedSigner(seed).publicKey

/**
 * Signs the keys of an issuer.
 *
 * @param of.seed The root's 32 secret bytes.
 * @param of.version Higher than that of every earlier set, such as Unix seconds. Two sets with one version are a fork.
 * @param of.days How long clients accept the set. Sign the next one before.
 * @throws CanonicalError ISSUER_KEYS_MALFORMED for a duplicate key, or the root key itself.
 */
export async function signKeySet(of: {
  seed: Uint8Array
  issuer: string
  keys: readonly IssuerPublicKey[]
  version: bigint
  nowMs: number
  days: number
}): Promise<SignedKeySet> {
  const now = BigInt(Math.floor(of.nowMs / 1_000))
  const root = nodeSigner(of.seed)
  const keys = of.keys.map(({ purpose, publicKey, createdAtMs }) => {
    const madeAt = BigInt(Math.floor(createdAtMs / 1_000))
    return {
      scheme: SignatureScheme.ED25519,
      key: publicKey,
      purpose: purposes[purpose],
      notBefore: madeAt - BigInt(earlySeconds),
      notAfter: madeAt + BigInt(keySeconds),
    }
  })
  const issuerKeySet = await issueIssuerKeySet(
    {
      issuerId: issuerIdOf(of.issuer),
      setVersion: of.version,
      notBefore: now - BigInt(earlySeconds),
      notAfter: now + BigInt(of.days * day),
      keys: keys.filter(({ notAfter }) => notAfter > now),
    },
    root,
  )
  return { rootKey: root.publicKey, issuerKeySet }
}
