// What a run is watched for from below: primitives of one device that draw from its seed and tell what they did.
import { createHash } from "node:crypto"
import { nodeSigner } from "@signet/canonical/node/ed25519"
import { originalOf, parseContent } from "../../clients/core/messaging/content.ts"
import type { Suite } from "../../clients/core/messaging/crypto/suite.ts"
import {
  type Engine,
  type EngineOptions,
  type GroupState,
  membersOf,
  stateTag,
  uncheckedEngine,
} from "../../clients/core/messaging/mls.ts"
import { makeNodeSuite } from "../../clients/node/crypto/suite.ts"
import type { Seeded } from "./seeded.ts"
import { once } from "./verdicts.ts"

export const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")
const nameOf = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex").slice(0, 24)

/** What all devices of a run did, and what is wrong with it. */
export interface Witness {
  /** What must never be, in words. */
  readonly violations: string[]
  /** State tags that devices acted in, by group and epoch. */
  readonly tags: Map<string, Map<string, Set<string>>>
  /** The state that a commit leads to, as its maker computed it: by commit. */
  readonly leadsTo: Map<string, Uint8Array>
  /** How often a device has sealed a text: again for another epoch, where it was not told of the first. */
  timesSealed(device: string, text: string): number
  /** Messages that a device has opened. */
  hasOpened(device: string, message: Uint8Array): boolean
  /** The text of a message as it was first sent; undefined for an attachment, or for bytes that no device has sealed. */
  textIn(message: Uint8Array): string | undefined
  /** A ciphertext leaves its device. */
  left(device: string, message: Uint8Array): void
  /** Devices that return to an earlier state. Only the reuse guard keeps two messages of one position apart there. */
  readonly copies: Set<string>
}

const node = makeNodeSuite()
const verify = once(node.verify)

/** @param known States that commits lead to, of an earlier run. */
export function createWitness(known?: ReadonlyMap<string, Uint8Array>): Watching {
  /** Keys of sealed bytes, by their last 16, which are an application message's last too. */
  const keyOfTag = new Map<string, { readonly key: string; readonly keyAndNonce: string }>()
  const messageOfKey = new Map<string, string>()
  const tags: Witness["tags"] = new Map()
  const leadsTo: Witness["leadsTo"] = new Map(known)
  const violations: string[] = []
  const copies = new Set<string>()
  const openedBy = new Set<string>()
  const contents = new Map<string, string[]>()
  const textOfMessage = new Map<string, string>()
  return {
    violations,
    tags,
    leadsTo,
    copies,
    left(device, message) {
      const sealed = keyOfTag.get(hexOf(message.subarray(-16)))
      if (sealed === undefined) return
      const key = copies.has(device) ? sealed.keyAndNonce : sealed.key
      const name = nameOf(message)
      if ((messageOfKey.get(key) ?? name) !== name) violations.push("a ratchet position was used for two messages")
      messageOfKey.set(key, name)
    },
    timesSealed: (device, text) => (contents.get(device) ?? []).filter((one) => one === text).length,
    textIn: (message) => textOfMessage.get(nameOf(message)),
    encrypted(content, message) {
      const parsed = parseContent(originalOf(content))
      if (parsed.is === "text") textOfMessage.set(nameOf(message), new TextDecoder().decode(parsed.plaintext))
    },
    wrote(device, content) {
      const parsed = parseContent(originalOf(content))
      if (parsed.is !== "text") return
      contents.set(device, [...(contents.get(device) ?? []), new TextDecoder().decode(parsed.plaintext)])
    },
    hasOpened: (device, message) => openedBy.has(`${device} ${nameOf(message)}`),
    opened: (device, message) => openedBy.add(`${device} ${nameOf(message)}`),
    sealed(key, nonce, ciphertext) {
      const names = { key: nameOf(key), keyAndNonce: nameOf(Buffer.concat([key, nonce])) }
      keyOfTag.set(hexOf(ciphertext.subarray(-16)), names)
    },
    acted(device, state) {
      // Until its first commit a group is of one device, which begins it anew if its creation or its reset is tried again.
      if (membersOf(state).length === 1) return
      const place = `${hexOf(state.groupId)} ${state.epoch}`
      const byTag = tags.get(place) ?? new Map<string, Set<string>>()
      const tag = hexOf(stateTag(state))
      tags.set(place, byTag.set(tag, (byTag.get(tag) ?? new Set()).add(device)))
    },
  }
}

export interface Watching extends Witness {
  wrote(device: string, content: Uint8Array): void
  encrypted(content: Uint8Array, message: Uint8Array): void
  sealed(key: Uint8Array, nonce: Uint8Array, ciphertext: Uint8Array): void
  opened(device: string, message: Uint8Array): void
  acted(device: string, state: GroupState): void
}

export function seededSuite(random: Seeded, watching: Watching): Suite {
  return {
    ...node,
    seal(key, nonce, aad, plaintext) {
      const ciphertext = node.seal(key, nonce, aad, plaintext)
      if (ciphertext instanceof Uint8Array) watching.sealed(key, nonce, ciphertext)
      return ciphertext
    },
    verify,
    dhKeyPair: (privateKey) => node.dhKeyPair(privateKey ?? random.bytes(32)),
    signatureKeyPair() {
      const seed = random.bytes(32)
      return { seed, publicKey: nodeSigner(seed).publicKey }
    },
    random: (length) => random.bytes(length),
  }
}

/** The engine of a device. Whatever it acts in is a state that the device holds. */
export function watchedEngine(device: string, watching: Watching, options: EngineOptions): Engine {
  const engine = uncheckedEngine(options)
  const { acted, leadsTo } = watching
  const made = async (making: Promise<Awaited<ReturnType<Engine["add"]>>>) => {
    const staged = await making
    leadsTo.set(nameOf(staged.commit), stateTag(staged.next))
    return staged
  }
  return {
    ...engine,
    add(state, ...rest) {
      acted(device, state)
      return made(engine.add(state, ...rest))
    },
    remove(state, ...rest) {
      acted(device, state)
      return made(engine.remove(state, ...rest))
    },
    update(state, ...rest) {
      acted(device, state)
      return made(engine.update(state, ...rest))
    },
    process(state, ...rest) {
      acted(device, state)
      return engine.process(state, ...rest)
    },
    async encrypt(state, content, aad) {
      acted(device, state)
      watching.wrote(device, content)
      const encrypted = await engine.encrypt(state, content, aad)
      watching.encrypted(content, encrypted.message)
      return encrypted
    },
    async decrypt(state, message) {
      acted(device, state)
      const decrypted = await engine.decrypt(state, message)
      watching.opened(device, message)
      return decrypted
    },
  }
}

export const leadsToOf = ({ leadsTo }: Witness, commit: Uint8Array): Uint8Array | undefined =>
  leadsTo.get(nameOf(commit))
