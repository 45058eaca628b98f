// The issuer's keys, ready to sign: kept sealed in the store, made at the very first start, and signing as soon as a key
// set of the root's names them.
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
  /** Keys of backends elsewhere, which the set is to name as well. */
  readonly receiptKeys?: Pick<ReceiptKeyStore, "list">
  readonly secrets: Pick<Secrets, "seal" | "open">
  readonly clock: Clock
  readonly random: Random
  /** The issuer's URL. */
  readonly issuer: string
  /** The newest key set there is, given the keys that it should name; undefined when there is none yet. */
  readonly loadKeySet: (keys: readonly IssuerPublicKey[]) => Promise<SignedKeySet | undefined>
}

export interface IssuerKeyRing {
  /** Loads the keys and the set, and makes the keys at the very first start. @throws Error when a key does not open. */
  start(): Promise<void>
  /**
   * Looks for new keys and another set. Call it every minute or so: when it fails, what was known is gone on with.
   *
   * @throws CanonicalError ISSUER_KEYS_* when the set is not taken.
   */
  tick(): Promise<void>
  /** Makes a key that takes over from the one of the purpose once a set names it. */
  rotate(purpose: IssuerPurpose): Promise<void>
  /** Those that a set is to name: these, and those of backends elsewhere, which have generation 0. */
  publicKeys(): readonly IssuerPublicKey[]
  /** @throws Refused UNAVAILABLE when no set is there, or none names a key of the purpose now. */
  signer(purpose: IssuerPurpose): SyncSigner
  /** @throws Refused UNAVAILABLE when there is no set. */
  issuerKeys(): IssuerKeys
  /** The set as it is handed to clients. */
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
      // Nobody takes it any more, so nothing is signed under it either.
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
