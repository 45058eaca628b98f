// The keys that sign credentials, proofs, lists and receipts. A key set that the offline root signs names them, so a
// key is created long before it signs.

/** The purpose of a key. Receipt keys belong to a messaging backend and also sign claim tickets. */
export const issuerPurposes = ["CREDENTIAL", "PROOF", "LIST", "RECEIPT"] as const
export type IssuerPurpose = (typeof issuerPurposes)[number]

/** A stored Ed25519 key; its private half is sealed under the service's key. */
export interface IssuerKeyRecord {
  readonly purpose: IssuerPurpose
  /** From 1; each new key of the purpose increments it. */
  readonly generation: number
  /** 32 bytes. */
  readonly publicKey: Uint8Array
  readonly privateSealed: Uint8Array
  readonly createdAtMs: number
}

export interface IssuerKeyStore {
  /** All keys ever created. */
  list(): Promise<readonly IssuerKeyRecord[]>
  /** Inserts the keys whose purpose and generation are free. If two processes create one, the first one's is kept. */
  add(keys: readonly IssuerKeyRecord[]): Promise<void>
}

/**
 * A key of an external messaging backend for its receipts and claim tickets. Only the backend holds the private half.
 */
export interface ReceiptKey {
  /** 32 bytes. */
  readonly publicKey: Uint8Array
  /** A name for operators. */
  readonly name: string
  readonly createdAtMs: number
}

/** The external backends' keys for the next key set: at most 16. */
export interface ReceiptKeyStore {
  /** Oldest first. */
  list(): Promise<readonly ReceiptKey[]>
  /** Idempotent. */
  add(key: ReceiptKey): Promise<void>
  /** False if it did not exist. */
  remove(publicKey: Uint8Array): Promise<boolean>
}

/** A key set holds 64 keys in total. */
export const maxReceiptKeys = 16

/** The purposes without a key, which the first start creates. */
export function missingPurposes(keys: readonly Pick<IssuerKeyRecord, "purpose">[]): readonly IssuerPurpose[] {
  return issuerPurposes.filter((purpose) => keys.every((key) => key.purpose !== purpose))
}

/** The next unused generation of the purpose. */
export function nextGeneration(
  keys: readonly Pick<IssuerKeyRecord, "purpose" | "generation">[],
  purpose: IssuerPurpose,
): number {
  return Math.max(0, ...keys.filter((key) => key.purpose === purpose).map(({ generation }) => generation)) + 1
}

/**
 * Returns the signing key of the purpose: the newest one that the current key set names. A key that it does not name
 * cannot be verified yet.
 */
export function signingKey<K extends Pick<IssuerKeyRecord, "purpose" | "generation">>(
  keys: readonly K[],
  purpose: IssuerPurpose,
  isNamed: (key: K) => boolean,
): K | undefined {
  return keys
    .filter((key) => key.purpose === purpose && isNamed(key))
    .toSorted((a, b) => b.generation - a.generation)[0]
}
