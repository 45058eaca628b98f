// A thief who reads a device's memory later finds no key of a message that was sent or read, and none of an epoch that
// ended: each step of a messenger wipes what it consumed, once the next state is stored.
import { create } from "@bufbuild/protobuf"
import { StagedCommitSchema } from "@signet/proto/client/v1/records"
import { afterAll, beforeAll, expect, test } from "vitest"
import { createMessengerWith } from "../../clients/core/messaging/create-messenger.ts"
import type { Messenger } from "../../clients/core/messaging/messenger.ts"
import { type Engine, type GroupState, uncheckedEngine } from "../../clients/core/messaging/mls.ts"
import { openContext } from "../../clients/core/messaging/open.ts"
import { openMemoryStore } from "../../clients/core/messaging/store/memory.ts"
import { isZero, secretsIn } from "../../clients/core/messaging/testing/secrets.ts"
import { testBox } from "../../clients/core/messaging/testing/test-box.ts"
import { isLong } from "../support/effort.ts"
import { type Messengers, messengersOn, type OpenedMessenger, textsIn } from "../support/messaging/messengers.ts"
import { movedClock } from "../support/messaging/moved-clock.ts"
import { type MessagingServer, startMessagingServer } from "../support/messaging/test-server.ts"
import type { SignedIn } from "../support/messaging/world.ts"
import { storyStore } from "../support/postgres.ts"

let server: MessagingServer
let messengers: Messengers
const { clock, pass } = movedClock(() => server)
beforeAll(async () => {
  server = await startMessagingServer({ store: storyStore })
  messengers = messengersOn(server, { keyPackages: 3 })
})
afterAll(async () => {
  await messengers?.close()
  await server?.close()
})

interface Step {
  readonly does: string
  /** References to the secrets of the state before, without those that the state after goes on using. */
  readonly consumed: readonly Uint8Array[]
  /** References to the secrets of the state after. Empty for an own commit, which is stored and read back first. */
  readonly kept: readonly Uint8Array[]
}

/** An engine that remembers what each step consumes. */
function watched(engine: Engine, steps: Step[]): Engine {
  const remember = <Made>(does: string, before: GroupState, made: Made, after?: GroupState): Made => {
    const kept = after === undefined ? [] : [...secretsIn(after)]
    steps.push({ does, consumed: [...secretsIn(before)].filter((secret) => !kept.includes(secret)), kept })
    return made
  }
  return {
    ...engine,
    async encrypt(state, ...rest) {
      const made = await engine.encrypt(state, ...rest)
      return remember("encrypt", state, made, made.next)
    },
    async decrypt(state, ...rest) {
      const made = await engine.decrypt(state, ...rest)
      return remember("decrypt", state, made, made.next)
    },
    async process(state, ...rest) {
      const made = await engine.process(state, ...rest)
      return remember(made.kind, state, made, made.kind === "next" ? made.next : undefined)
    },
    add: async (state, ...rest) => remember("add", state, await engine.add(state, ...rest)),
    remove: async (state, ...rest) => remember("remove", state, await engine.remove(state, ...rest)),
    update: async (state, ...rest) => remember("update", state, await engine.update(state, ...rest)),
  }
}

interface Watched extends Pick<OpenedMessenger, "store" | "box"> {
  readonly person: SignedIn
  readonly messenger: Messenger
  /** Returns the steps since the last call. @throws AssertionError for a consumed secret that is still readable. */
  wiped(): readonly Step[]
}

async function newcomer(name: string): Promise<Watched> {
  const steps: Step[] = []
  const person = await server.person(name)
  const [store, box] = [openMemoryStore(), testBox()]
  const [options, primitives] = messengers.optionsFor(person, { store, box, clock })
  const openEngine: typeof primitives.openEngine = async (given) => watched(uncheckedEngine(given), steps)
  const messenger = await createMessengerWith(options, { ...primitives, openEngine })
  await messenger.sync()
  return {
    ...{ person, messenger, store, box },
    wiped() {
      for (const { does, consumed } of steps) {
        expect(consumed.length, does).toBeGreaterThan(0)
        expect(consumed.filter((secret) => !isZero(secret)).length, does).toBe(0)
      }
      return steps.splice(0)
    },
  }
}

const namesOf = (steps: readonly Step[]) => steps.map(({ does }) => does)
const keptBy = (steps: readonly Step[]) => steps.at(-1)?.kept ?? expect.fail("no step")
const utf8 = (text: string) => new TextEncoder().encode(text)

test.runIf(isLong)("every step of a conversation wipes the keys that it consumed", async () => {
  const [ann, ben] = [await newcomer("ann"), await newcomer("ben")]
  const { id } = await ann.messenger.createGroupConversation([ben.person.userId])
  expect(namesOf(ann.wiped())).toEqual(["add"])
  await ben.messenger.sync()
  for (const text of ["one", "two"]) await ann.messenger.send(id, utf8(text))
  expect(namesOf(ann.wiped())).toEqual(["encrypt", "encrypt"])
  await ben.messenger.sync()
  expect(namesOf(ben.wiped())).toEqual(["decrypt", "decrypt"])
  // Encrypted, and encrypted again after the epoch has ended.
  await ben.messenger.encryptMessage(id, utf8("three"))
  await ann.messenger.refreshKeys(id)
  expect(namesOf(ann.wiped())).toEqual(["update"])
  await ben.messenger.sync()
  const followed = ben.wiped()
  expect(namesOf(followed)).toEqual(["encrypt", "next", "encrypt"])
  expect(keptBy(followed).some(isZero)).toBe(false)
  await ann.messenger.sync()
  expect(await textsIn(ann, id)).toEqual(["one", "two", "three"])
  await ann.messenger.removeMembers(id, [ben.person.userId])
  expect(namesOf(ann.wiped())).toEqual(["decrypt", "remove"])
  await ben.messenger.sync()
  expect(namesOf(ben.wiped())).toEqual(["removed"])
})

test.runIf(isLong)(
  "a reset wipes the group that it replaces, on the device that makes it and on those that follow",
  async () => {
    const [cat, dan] = [await newcomer("cat"), await newcomer("dan")]
    const { id } = await cat.messenger.createDirectConversation(dan.person.userId)
    await dan.messenger.sync()
    for (const { messenger } of [cat, dan]) await messenger.send(id, utf8("before"))
    const [ofCat, ofDan] = [keptBy(cat.wiped()), keptBy(dan.wiped())]
    await cat.messenger.rejoin(id)
    // No member counts as online after a minute.
    await pass()
    await cat.messenger.createDirectConversation(dan.person.userId)
    expect(namesOf(cat.wiped())).toEqual(["decrypt", "add"])
    expect(ofCat.every(isZero)).toBe(true)
    await dan.messenger.sync()
    expect((await dan.messenger.timeline(id)).map(({ is }) => is)).toContain("reset")
    expect(ofDan.every(isZero)).toBe(true)
  },
)

test.runIf(isLong)("a wiped messenger keeps no secret of a group or of a commit that is under way", async () => {
  const [eve, fay] = [await newcomer("eve"), await newcomer("fay")]
  const { id } = await eve.messenger.createGroupConversation([fay.person.userId])
  const { context } = await openContext(...messengers.optionsFor(eve.person, eve))
  const nextState = new Uint8Array(64).fill(1)
  const conversation = context.conversation(id)
  await conversation.change(async (stored) => {
    const staged = create(StagedCommitSchema, { intentId: "an update", epoch: 1n, nextState })
    return { next: { ...stored, staged }, result: undefined }
  })
  const { local, staged } = await conversation.stored()
  const secrets = [...secretsIn(local?.group ?? expect.fail("no group")), staged?.nextState ?? expect.fail("no commit")]
  expect(secrets.some(isZero)).toBe(false)
  await context.wipeAll()
  expect(secrets.every(isZero)).toBe(true)
})
