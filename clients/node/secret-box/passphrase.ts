// Keys under a passphrase, for machines without a credential store. Never selected by default.

import type { ByteStorage, Lock } from "@signet/client"
import { isSecretBoxError, type SecretBox, type SecretBoxDescription, SecretBoxError } from "@signet/client"
import { stretchPassphrase, usualArgon2 } from "../../core/passphrase-key.ts"
import {
  fromBase64url,
  importSealingKey,
  openBytes,
  type SealingKey,
  scopeText,
  sealBytes,
  toBase64url,
} from "../../core/platform.ts"
import { createKeptBox, type Keeper } from "./kept-box.ts"
import { formatFile, type KdfParameters, type PassphraseFile, parseFile } from "./passphrase-file.ts"

export interface PassphraseBoxOptions {
  /** The store of the file. */
  readonly storage: ByteStorage
  readonly lock: Lock
  /**
   * Prompts for the passphrase, once, at the first seal or open.
   *
   * @param isNew True if no file exists: the answer becomes its passphrase.
   */
  readonly passphrase: (isNew: boolean) => Promise<string>
  /**
   * Holds the derived key between processes. Without one, every process prompts for the passphrase and derives the key.
   */
  readonly holder?: KeyHolder
  /** Parameters of a new file. Default: Argon2id with 64 MiB, three passes, one lane. */
  readonly parameters?: Pick<KdfParameters, "memoryKiB" | "passes">
}

/** Holds the key derived from a passphrase, for later processes. */
export interface KeyHolder {
  /**
   * Finds the key of a file; undefined without one. The box verifies it with the file's canary, and wipes the bytes.
   *
   * @param id Names the file by its salt and parameters. Not secret.
   */
  find(id: string): Promise<Uint8Array | undefined>
  /** Holds a key that the canary has verified. The bytes are wiped after the call. An error fails the operation. */
  hold(id: string, key: Uint8Array): Promise<void>
}

interface Stretched {
  readonly key: SealingKey
  /** True for the holder's key, which no passphrase has verified in this process. */
  readonly isHeld: boolean
  /** The raw key, until it is verified and passed to the holder. */
  raw: Uint8Array | undefined
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
  const { storage, holder } = options
  let isHeldWrong = false
  let passphrase: Promise<string> | undefined
  const derived = new Map<string, Promise<Stretched>>()

  function keyOf(kdf: KdfParameters, isNew: boolean): Promise<Stretched> {
    const id = JSON.stringify(kdf)
    const known = derived.get(id)
    if (known !== undefined) return known
    const made = obtain(kdf, isNew)
    derived.set(id, made)
    return made
  }

  async function obtain(kdf: KdfParameters, isNew: boolean): Promise<Stretched> {
    const held = isNew || isHeldWrong ? undefined : await holder?.find(JSON.stringify(kdf))
    if (held !== undefined) {
      const key = await importSealingKey(held)
      held.fill(0)
      return { key, isHeld: true, raw: undefined }
    }
    passphrase ??= options.passphrase(isNew)
    const raw = await stretchPassphrase(await passphrase, kdf, fromBase64url(kdf.salt))
    return { key: await importSealingKey(raw), isHeld: false, raw }
  }

  /** Passes a verified key to the holder, once. */
  async function share(kdf: KdfParameters, stretched: Stretched): Promise<void> {
    const { raw } = stretched
    if (raw === undefined) return
    stretched.raw = undefined
    try {
      await holder?.hold(JSON.stringify(kdf), raw)
    } finally {
      raw.fill(0)
    }
  }

  /** The file and its key, which the canary verifies. */
  async function load(): Promise<{ file: PassphraseFile; key: SealingKey; revision: string } | undefined> {
    const kept = await storage.read(name)
    if (kept === undefined) return undefined
    const file = parseFile(kept.bytes)
    const stretched = await keyOf(file.kdf, false)
    const { key } = stretched
    const place = { scope: whole, purpose: purposeOf(file.kdf, "canary") }
    try {
      await openBytes(description, () => key, place, file.canary)
    } catch (error) {
      derived.clear()
      passphrase = undefined
      stretched.raw?.fill(0)
      if (!isSecretBoxError(error, "STATE_TAMPERED")) throw error
      // A held key that does not open the file is ignored: the passphrase decides.
      if (!stretched.isHeld) {
        throw new SecretBoxError("WRONG_PASSPHRASE", "the passphrase is wrong")
      }
      isHeldWrong = true
      return load()
    }
    await share(file.kdf, stretched)
    return { file, key, revision: kept.revision }
  }

  async function start(): Promise<{ file: PassphraseFile; key: SealingKey; revision: undefined }> {
    const kdf: KdfParameters = {
      ...usualArgon2,
      ...options.parameters,
      salt: toBase64url(crypto.getRandomValues(new Uint8Array(16))),
    }
    const { key } = await keyOf(kdf, true)
    const sealed = await sealBytes(description, key, { scope: whole, purpose: purposeOf(kdf, "canary") }, canary)
    return { file: { kdf, canary: sealed, entries: new Map() }, key, revision: undefined }
  }

  async function save(file: PassphraseFile, revision: string | undefined): Promise<void> {
    if ((await storage.write(name, formatFile(file), revision)) !== undefined) return
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

/** All entries of the file authenticate the parameters. */
const purposeOf = (kdf: KdfParameters, what: string): string => `${what} ${JSON.stringify(kdf)}`
