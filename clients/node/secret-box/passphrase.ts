// Keys under a passphrase, for machines without a credential store. Nothing chooses this by itself.

import type { Lock, Shelf } from "@signet/client"
import { isSecretBoxError, type SecretBox, type SecretBoxDescription, SecretBoxError } from "@signet/client"
import {
  fromBase64url,
  importSealingKey,
  openBytes,
  type SealingKey,
  scopeText,
  sealBytes,
  toBase64url,
} from "@signet/client/platform"
import { argon2id } from "hash-wasm"
import { createKeptBox, type Keeper } from "./kept-box.ts"
import { formatFile, type KdfParameters, type PassphraseFile, parseFile } from "./passphrase-file.ts"

export interface PassphraseBoxOptions {
  /** Where the file is kept. */
  readonly shelf: Shelf
  readonly lock: Lock
  /**
   * Asked once, when something is opened or sealed.
   *
   * @param isNew There is no file yet: what is answered now is what opens it from now on.
   */
  readonly passphrase: (isNew: boolean) => Promise<string>
  /** Of a new file. Argon2id with 64 MiB, three passes, one lane. */
  readonly parameters?: Pick<KdfParameters, "memoryKiB" | "passes">
}

const name = "passphrase-box"
const description: SecretBoxDescription = {
  backend: "passphrase",
  version: 1,
  hardware: false,
  deviceBound: false,
  persistent: true,
}
const whole = { app: "signet" }
const canary = new TextEncoder().encode("signet passphrase")

export function createPassphraseBox(options: PassphraseBoxOptions): SecretBox {
  const { shelf } = options
  let passphrase: Promise<string> | undefined
  const derived = new Map<string, Promise<SealingKey>>()

  function keyOf(kdf: KdfParameters, isNew: boolean): Promise<SealingKey> {
    const text = JSON.stringify(kdf)
    const known = derived.get(text)
    if (known !== undefined) return known
    passphrase ??= options.passphrase(isNew)
    const made = passphrase.then((said) => deriveKey(said, kdf))
    derived.set(text, made)
    return made
  }

  /** The file, and its key, which the canary proves. */
  async function load(): Promise<{ file: PassphraseFile; key: SealingKey; revision: string } | undefined> {
    const kept = await shelf.read(name)
    if (kept === undefined) return undefined
    const file = parseFile(kept.bytes)
    const key = await keyOf(file.kdf, false)
    await openBytes(
      description,
      () => key,
      { scope: whole, purpose: purposeOf(file.kdf, "canary") },
      file.canary,
    ).catch((error: unknown) => {
      derived.clear()
      passphrase = undefined
      throw isSecretBoxError(error, "STATE_TAMPERED")
        ? new SecretBoxError("WRONG_PASSPHRASE", "that is not the passphrase of this file")
        : error
    })
    return { file, key, revision: kept.revision }
  }

  async function start(): Promise<{ file: PassphraseFile; key: SealingKey; revision: undefined }> {
    const kdf: KdfParameters = {
      memoryKiB: options.parameters?.memoryKiB ?? 65_536,
      passes: options.parameters?.passes ?? 3,
      lanes: 1,
      salt: toBase64url(crypto.getRandomValues(new Uint8Array(16))),
    }
    const key = await keyOf(kdf, true)
    const sealed = await sealBytes(description, key, { scope: whole, purpose: purposeOf(kdf, "canary") }, canary)
    return { file: { kdf, canary: sealed, entries: new Map() }, key, revision: undefined }
  }

  async function save(file: PassphraseFile, revision: string | undefined): Promise<void> {
    if ((await shelf.write(name, formatFile(file), revision)) !== undefined) return
    throw new SecretBoxError("SECURE_STORE_CHANGED", "another program changed the file at the same time: try again")
  }

  const keeper: Keeper = {
    async read(scope) {
      const loaded = await load()
      const sealed = loaded?.file.entries.get(scopeText(scope))
      if (loaded === undefined || sealed === undefined) return undefined
      const { file, key } = loaded
      return openBytes(description, () => key, { scope, purpose: purposeOf(file.kdf, "keys") }, sealed)
    },
    async write(scope, bytes) {
      const { file, key, revision } = (await load()) ?? (await start())
      const sealed = await sealBytes(description, key, { scope, purpose: purposeOf(file.kdf, "keys") }, bytes)
      await save({ ...file, entries: new Map(file.entries).set(scopeText(scope), sealed) }, revision)
    },
    async remove(scope) {
      const loaded = await load()
      if (loaded === undefined) return
      const entries = new Map(loaded.file.entries)
      if (entries.delete(scopeText(scope))) await save({ ...loaded.file, entries }, loaded.revision)
    },
  }
  return createKeptBox(description, keeper, options.lock)
}

/** The parameters are authenticated with all that the file holds. */
const purposeOf = (kdf: KdfParameters, what: string): string => `${what} ${JSON.stringify(kdf)}`

async function deriveKey(passphrase: string, { memoryKiB, passes, lanes, salt }: KdfParameters): Promise<SealingKey> {
  const raw = await argon2id({
    password: passphrase.normalize("NFKC"),
    salt: fromBase64url(salt),
    memorySize: memoryKiB,
    iterations: passes,
    parallelism: lanes,
    hashLength: 32,
    outputType: "binary",
  })
  const key = await importSealingKey(raw)
  raw.fill(0)
  return key
}
