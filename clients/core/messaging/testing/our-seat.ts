import { hex, utf8 } from "../crypto/bytes.ts"
import type { Suite } from "../crypto/suite.ts"
import {
  acceptCommit,
  type Engine,
  encodeEpoch,
  encodeSecrets,
  epochAuthenticator,
  type GroupState,
  type Identity,
  membersOf,
  type NewKeyPackage,
  type StagedCommit,
  uncheckedEngine,
} from "../mls.ts"
import type { CommitMessages, Seat } from "./seat.ts"

export const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes)
/** Unix seconds: when the process loaded this module. */
export const today = Math.floor(Date.now() / 1000)
export const lifetime = { notBefore: today - 86_400, notAfter: today + 30 * 86_400 }

/** Returns the device of a credential. `name` and `name#serial` name the same device. */
export function deviceOf(credential: Uint8Array): string {
  return text(credential).split("#")[0] ?? ""
}

/** For key packages of other engines, which read the real time: a process of many test files is older than they are. */
export const realTime = (): number => Math.floor(Date.now() / 1000)

export function testEngine(suite: Suite, nowSeconds: () => number = () => today): Engine {
  return uncheckedEngine({ suite, nowSeconds, deviceOf })
}

export async function newIdentity(suite: Suite, name: string): Promise<Identity> {
  const { seed, publicKey } = await suite.signatureKeyPair()
  return { credential: utf8(name), signatureKey: publicKey, key: seed }
}

/** A seat that runs our engine, and exposes its `state` and `identity`. */
export interface OurSeat extends Seat {
  readonly engine: Engine
  identity: Identity
  state: GroupState | undefined
  current(): GroupState
  /** Encodes and decodes the state, as a restart does. */
  restart(): Promise<void>
  leafOf(name: string): number
}

interface OurSeatOptions {
  readonly engine?: Engine
  readonly treeInWelcome?: boolean
  /** Encodes and decodes its state after every operation. */
  readonly forgetful?: boolean
}

export async function ourSeat(suite: Suite, name: string, options: OurSeatOptions = {}): Promise<OurSeat> {
  const { engine = testEngine(suite), treeInWelcome = false, forgetful = false } = options
  let waiting: NewKeyPackage | undefined
  const aad = utf8(`from ${name}`)
  const accept = () => "accept" as const

  function accepted(seat: OurSeat, staged: StagedCommit): CommitMessages {
    seat.state = acceptCommit(seat.current(), staged)
    return { commit: staged.commit, welcome: staged.welcome, tree: staged.welcome && staged.tree() }
  }

  const seat: OurSeat = {
    name,
    engine,
    identity: await newIdentity(suite, name),
    state: undefined,
    current: () => seat.state ?? fail(`${name} is in no group`),
    leafOf: (wanted) =>
      membersOf(seat.current()).find((member) => deviceOf(member.credential) === wanted)?.leaf ?? fail(`no ${wanted}`),
    async keyPackage() {
      waiting = await engine.newKeyPackage(seat.identity, lifetime)
      return waiting.keyPackage
    },
    async create(groupId) {
      seat.state = await engine.createGroup({ groupId, identity: seat.identity, ...lifetime })
    },
    add: async (keyPackages) => accepted(seat, await engine.add(seat.current(), keyPackages, { aad, treeInWelcome })),
    remove: async (names) => accepted(seat, await engine.remove(seat.current(), names.map(seat.leafOf), { aad })),
    update: async () => accepted(seat, await engine.update(seat.current(), { aad })),
    async join(welcome, tree) {
      const { keyPackage, secret } = waiting ?? fail("no key package")
      seat.state = (await engine.join({ welcome, tree, keyPackage, secret, identityKey: seat.identity.key })).state
      waiting = undefined
      if (forgetful) await seat.restart()
    },
    async process(commit) {
      const processed = await engine.process(seat.current(), commit, accept)
      if (processed.kind === "removed") return false
      processed.finish()
      seat.state = processed.next
      if (forgetful) await seat.restart()
      return true
    },
    async encrypt(plaintext) {
      const { message, next, finish } = await engine.encrypt(seat.current(), utf8(plaintext), aad)
      finish()
      seat.state = next
      return message
    },
    async decrypt(message) {
      const { plaintext, sender, next, finish } = await engine.decrypt(seat.current(), message)
      const read = { text: text(plaintext), sender: deviceOf(sender.credential) }
      finish()
      seat.state = next
      if (forgetful) await seat.restart()
      return read
    },
    async restart() {
      const encoded = { epoch: encodeEpoch(seat.current()), secrets: encodeSecrets(seat.current()) }
      seat.state = await engine.decodeState(encoded, seat.identity.key)
    },
    authenticator: () => hex(epochAuthenticator(seat.current())),
    roster: () => membersOf(seat.current()).map((member) => deviceOf(member.credential)),
  }
  return seat
}

function fail(what: string): never {
  throw new Error(what)
}
