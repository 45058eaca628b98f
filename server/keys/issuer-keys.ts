// The issuer's signing keys: stored sealed, created at the first start, and used once a key set of the root names them.
import { equalBytes, toHex } from "@signet/canonical/bytes"
import type { SyncSigner } from "@signet/canonical/ed25519"
import { CanonicalError } from "@signet/canonical/errors"
import { issuerIdOf, keyIdOf } from "@signet/canonical/hash"
import { type IssuerKeys, verifyIssuerKeySet } from "@signet/canonical/issuer-keys"
import { nodeSigner, nodeVerify } from "@signet/canonical/node/ed25519"
import { Refused } from "@signet/kernel/errors"
import {
  type IssuerKeyRecord,
  type IssuerKeyStore,
  type IssuerPurpose,
  missingPurposes,
  nextGeneration,
  type ReceiptKeyStore,
  signingKey,
} from "@signet/kernel/keys/issuer-keys"
import type { Secrets } from "@signet/kernel/keys/ports"
import { issuerKeyLabel } from "@signet/kernel/keys/sealed-columns"
import type { Clock, Random } from "@signet/kernel/ports"
import { KeyPurpose } from "@signet/proto/credential/v1/issuer_key_set"
import type { IssuerPublicKey, SignedKeySet } from "./root-key.ts"

export interface IssuerKeyRingOptions {
  readonly keys: IssuerKeyStore
  /** Receipt keys of external backends, which the key set must name, too. */
  readonly receiptKeys?: Pick<ReceiptKeyStore, "list">
  readonly secrets: Pick<Secrets, "seal" | "open">
  readonly clock: Clock
  readonly random: Random
  /** The issuer's URL. */
  readonly issuer: string
  /** Loads the newest key set. Undefined if there is none yet. @param keys The keys that it should name. */
  readonly loadKeySet: (keys: readonly IssuerPublicKey[]) => Promise<SignedKeySet | undefined>
}

export interface IssuerKeyRing {
  /** Loads keys and key set; creates the keys at the first start. @throws Error if a key cannot be opened. */
  start(): Promise<void>
  /**
   * Loads new keys and a newer key set. Call it about once a minute. After a failure the known keys stay in use.
   *
   * @throws CanonicalError ISSUER_KEYS_* if the key set is rejected.
   */
  tick(): Promise<void>
  /** Creates the next key of the purpose. It signs once a key set names it. */
  rotate(purpose: IssuerPurpose): Promise<void>
  /** The keys that a key set must name: these, and those of external backends, which have generation 0. */
  publicKeys(): readonly IssuerPublicKey[]
  /** @throws Refused UNAVAILABLE without a key set, or if it names no valid key of the purpose. */
  signer(purpose: IssuerPurpose): SyncSigner
  /** @throws Refused UNAVAILABLE without a key set. */
  issuerKeys(): IssuerKeys
  /** The key set for clients; undefined if there is none yet. */
  keySet(): SignedKeySet | undefined
}

type OpenKey = IssuerPublicKey & { readonly signer: SyncSigner }

const purposes: Record<IssuerPurpose, KeyPurpose> = {
  CREDENTIAL: KeyPurpose.CREDENTIAL,
  PROOF: KeyPurpose.PROOF,
  LIST: KeyPurpose.LIST,
  RECEIPT: KeyPurpose.RECEIPT,
}

export function createIssuerKeyRing(options: IssuerKeyRingOptions): IssuerKeyRing {
  const { keys, clock, issuer } = options
  const issuerId = issuerIdOf(issuer)
  let open: readonly OpenKey[] = []
  let elsewhere: readonly IssuerPublicKey[] = []
  let adopted: { readonly signed: SignedKeySet; readonly keys: IssuerKeys } | undefined

  const nowSeconds = () => BigInt(Math.floor(clock.nowMs() / 1_000))

  async function load(): Promise<void> {
    const kept = await keys.list()
    open = kept.map((key) => open.find((known) => equalBytes(known.publicKey, key.publicKey)) ?? openKey(options, key))
    const receiptKeys = (await options.receiptKeys?.list()) ?? []
    elsewhere = receiptKeys
      .filter(({ publicKey }) => !open.some((key) => equalBytes(key.publicKey, publicKey)))
      .map(({ publicKey, createdAtMs }) => ({ purpose: "RECEIPT", generation: 0, publicKey, createdAtMs }))
  }

  async function adopt(): Promise<void> {
    const signed = await options.loadKeySet(publicKeys())
    if (signed === undefined) return
    try {
      const verified = verifyIssuerKeySet(signed.issuerKeySet, {
        roots: [signed.rootKey],
        issuerId,
        atSeconds: nowSeconds(),
        seen: adopted?.keys,
        verify: nodeVerify,
      })
      adopted = { signed, keys: verified }
    } catch (error) {
      // Clients reject an expired key set, so nothing is signed under it.
      if (error instanceof CanonicalError && error.code === "ISSUER_KEYS_EXPIRED") adopted = undefined
      throw error
    }
  }

  async function make(purposes: readonly IssuerPurpose[]): Promise<void> {
    await keys.add(purposes.map((purpose) => newKey(options, purpose, nextGeneration(open, purpose))))
    await load()
  }

  const publicKeys = (): readonly IssuerPublicKey[] => [
    ...open.map(({ purpose, generation, publicKey, createdAtMs }) => ({ purpose, generation, publicKey, createdAtMs })),
    ...elsewhere,
  ]

  function issuerKeys(): IssuerKeys {
    if (adopted === undefined) throw new Refused("UNAVAILABLE", { cause: new Error("no issuer key set is configured") })
    return adopted.keys
  }

  return {
    async start() {
      await load()
      const missing = missingPurposes(open)
      if (missing.length > 0) await make(missing)
      await adopt()
    },
    async tick() {
      await load()
      await adopt()
    },
    rotate: (purpose) => make([purpose]),
    publicKeys,
    issuerKeys,
    keySet: () => adopted?.signed,
    signer(purpose) {
      const named = issuerKeys().keys
      const now = nowSeconds()
      const key = signingKey(open, purpose, ({ publicKey }) => {
        const entry = named.get(toHex(keyIdOf(publicKey)))
        return entry?.purpose === purposes[purpose] && entry.notBefore <= now && now < entry.notAfter
      })
      if (key === undefined) {
        throw new Refused("UNAVAILABLE", { cause: new Error(`the key set names no ${purpose} key of this issuer`) })
      }
      return key.signer
    },
  }
}

function newKey(
  { random, secrets, clock }: IssuerKeyRingOptions,
  purpose: IssuerPurpose,
  generation: number,
): IssuerKeyRecord {
  const seed = random.bytes(32)
  const { publicKey } = nodeSigner(seed)
  const privateSealed = secrets.seal(issuerKeyLabel({ purpose, generation }), seed)
  return { purpose, generation, publicKey, privateSealed, createdAtMs: clock.nowMs() }
}

function openKey({ secrets }: IssuerKeyRingOptions, key: IssuerKeyRecord): OpenKey {
  const { purpose, generation, publicKey, createdAtMs } = key
  const seed = secrets.open(issuerKeyLabel(key), key.privateSealed)
  if (seed === undefined) throw new Error(`issuer key ${purpose} ${generation} does not open under the sealing key`)
  const signer = nodeSigner(seed)
  if (!equalBytes(signer.publicKey, publicKey)) {
    throw new Error(`issuer key ${purpose} ${generation} does not match its row`)
  }
  return { purpose, generation, publicKey, createdAtMs, signer }
}
