// The keys that credentials, proofs, lists and receipts are signed with. They are named by a key set that the root signs
// offline, so a new key is made long before it signs.

/** What a key signs. Receipt keys sign claim tickets too, and are a messaging backend's. */
export const issuerPurposes = ["CREDENTIAL", "PROOF", "LIST", "RECEIPT"] as const
export type IssuerPurpose = (typeof issuerPurposes)[number]

/** An Ed25519 key as it is kept: the private half sealed under the service's key. */
export interface IssuerKeyRecord {
  readonly purpose: IssuerPurpose
  /** From 1, one more for each key that takes over. */
  readonly generation: number
  /** 32 bytes. */
  readonly publicKey: Uint8Array
  readonly privateSealed: Uint8Array
  readonly createdAtMs: number
}

export interface IssuerKeyStore {
  /** All that were ever made. */
  list(): Promise<readonly IssuerKeyRecord[]>
  /** Keeps those whose purpose and generation are not taken: of two processes that make one, the first's stays. */
  add(keys: readonly IssuerKeyRecord[]): Promise<void>
}

/** A key of a messaging backend elsewhere, for its receipts and claim tickets. Its private half is the backend's alone. */
export interface ReceiptKey {
  /** 32 bytes. */
  readonly publicKey: Uint8Array
  /** For people. */
  readonly name: string
  readonly createdAtMs: number
}

/** The backends' keys that a key set is to name: 16 at most. */
export interface ReceiptKeyStore {
  /** Oldest first. */
  list(): Promise<readonly ReceiptKey[]>
  /** Again is no error, and changes nothing. */
  add(key: ReceiptKey): Promise<void>
  /** False when it was not there. */
  remove(publicKey: Uint8Array): Promise<boolean>
}

/** A key set holds 64 keys in all. */
export const mostReceiptKeys = 16

/** The purposes that have no key yet: what a first start makes. */
export function missingPurposes(keys: readonly Pick<IssuerKeyRecord, "purpose">[]): readonly IssuerPurpose[] {
  return issuerPurposes.filter((purpose) => keys.every((key) => key.purpose !== purpose))
}

/** The generation that follows all there are of the purpose. */
export function nextGeneration(
  keys: readonly Pick<IssuerKeyRecord, "purpose" | "generation">[],
  purpose: IssuerPurpose,
): number {
  return Math.max(0, ...keys.filter((key) => key.purpose === purpose).map(({ generation }) => generation)) + 1
}

/**
 * The key of the purpose that signs: the newest that the key set names now. A key that the set does not name yet waits,
 * since nobody could verify it.
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
