// A file transfer continues wherever its network failed, its store failed or its process ended.
import { concat } from "@signet/canonical/bytes"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import type { Messenger } from "../../clients/core/messaging/messenger.ts"
import { type Fault, faultyStore, StoreFault } from "../../clients/core/messaging/testing/faulty-store.ts"
import { effort, isLong } from "../support/effort.ts"
import {
  type Attaching,
  bytes,
  clock,
  expectSame,
  file,
  mib,
  readAll,
  startAttaching,
} from "../support/messaging/attaching.ts"
import type { Messengers, OpenedMessenger } from "../support/messaging/messengers.ts"
import { numbers, seed } from "../support/random.ts"

let world: Attaching
let messengers: Messengers
let ann: OpenedMessenger
let ben: OpenedMessenger
let id: string
let again: Attaching["again"]
let newest: Attaching["newest"]
let endingTransport: Attaching["endingTransport"]
beforeAll(async () => {
  world = await startAttaching()
  ;({ messengers, ann, ben, id, again, newest, endingTransport } = world)
})
afterAll(() => world?.close())

describe.each(["before", "after"] as const)("a network that fails %s the service handled the call", (when) => {
  test.each(effort([3], [0, 1, 2, 3, 4], [0, 1, 2, 3, 4]))(
    "at call %d: the upload continues from there, and the message arrives once",
    async (at) => {
      const before = (await ann.messenger.timeline(id, { limit: 10_000 })).length
      const stopped = await again(ann, endingTransport(at, when))
      const failure = await stopped.messenger
        .sendAttachment(id, file, { fileName: "x" })
        .catch((error: unknown) => error)
      const [left] = await ann.messenger.uploads(id)
      if (at < 4) {
        expect(failure).toMatchObject({ reason: "ATTACHMENT_INTERRUPTED" })
        expect(left).toMatchObject({ fileName: "x", size: bytes.length })
        await ann.messenger.sendAttachment(id, file, { resume: left?.id ?? "" })
      } else {
        // The message is stored: the next sync sends it.
        expect(failure).toMatchObject({ reason: "QUEUED" })
        expect(left).toBeUndefined()
      }
      expect(await ann.messenger.uploads(id)).toEqual([])
      const { seq } = await newest(ben.messenger)
      await ann.messenger.sync()
      expect((await ann.messenger.timeline(id, { limit: 10_000 })).length).toBe(before + 1)
      expect(await (await ben.messenger.openAttachment(id, seq)).read(mib, mib + 9)).toEqual(bytes.slice(mib, mib + 9))
    },
  )

  test.each(effort([1], [0, 1, 2], [0, 1, 2]))("at call %d: the download continues from there", async (at) => {
    const { seq } = await newest(ben.messenger)
    const stopped = await again(ben, endingTransport(at, when))
    const attachment = await stopped.messenger.openAttachment(id, seq)
    const got: Uint8Array[] = []
    await expect(
      (async () => {
        for await (const piece of attachment.stream()) got.push(piece)
      })(),
    ).rejects.toMatchObject({ reason: "ATTACHMENT_INTERRUPTED" })
    const there = concat(...got)
    const rest = await (await ben.messenger.openAttachment(id, seq)).stream({ from: there.length })
    expectSame(concat(there, await readAll(rest)), bytes)
  })
})

const storeFaults: readonly Pick<Fault, "when" | "ends">[] = [
  { when: "before", ends: true },
  { when: "after", ends: true },
  { when: "before", ends: false },
  { when: "after", ends: false },
]

/** Each kind of fault at each of so many operations; in the short forms a share of them, selected by the seed. */
function troubles(count: number): Fault[] {
  const all = Array.from({ length: count }, (_, at) => storeFaults.map((kind) => ({ at, ...kind }))).flat()
  const step = effort(Math.ceil(all.length / 6), Math.ceil(all.length / 40), 1)
  const first = numbers(seed)(step)
  return all.filter((_, i) => i % step === first)
}

describe("with a failure or a process end at each operation of the store,", () => {
  const small = new Blob([bytes.slice(0, 90_000)])
  /** Opened on a store with this fault; without a fault, the store counts operations. */
  async function openOn({ person, store, box }: OpenedMessenger, fault?: Fault) {
    const failing = faultyStore(store, fault)
    return { failing, messenger: (await messengers.open(person, { store: failing, box, clock })).messenger }
  }
  const namesOf = async (messenger: Messenger, fileName: string) =>
    (await messenger.timeline(id, { limit: 10_000 })).filter(
      (entry) => entry.is === "attachment" && entry.fileName === fileName,
    )

  test.runIf(isLong)(
    "a sent file arrives once, and complete",
    { timeout: effort(60_000, 600_000, 7_200_000) },
    async () => {
      async function run(fileName: string, fault?: Fault): Promise<number> {
        const failing = faultyStore(ann.store, fault)
        let messenger: Messenger | undefined
        try {
          messenger = (await messengers.open(ann.person, { store: failing, box: ann.box, clock })).messenger
          await messenger.sendAttachment(id, small, { fileName })
        } catch (error) {
          // Other tests cover how the client reports the fault. Without a fault nothing fails.
          if (!failing.hasFailed) throw error
        }
        const { count } = failing
        failing.calm()
        const goesOn = messenger !== undefined && !failing.isDead
        const again = goesOn && messenger ? messenger : (await openOn(ann)).messenger
        for (const left of await again.uploads(id)) {
          expect(left).toMatchObject({ fileName, size: small.size })
          await again.sendAttachment(id, small, { resume: left.id })
        }
        await again.sync()
        // Either nothing was started, or all of it was done.
        if ((await namesOf(again, fileName)).length === 0) await again.sendAttachment(id, small, { fileName })
        expect(await again.uploads(id)).toEqual([])
        await ben.messenger.sync()
        const [entry, ...more] = await namesOf(ben.messenger, fileName)
        expect(more).toEqual([])
        expect(await namesOf(again, fileName)).toHaveLength(1)
        const opened = await ben.messenger.openAttachment(id, entry?.seq ?? 0n)
        expectSame(await opened.read(0, small.size), bytes.slice(0, small.size))
        return count
      }
      const count = await run("untroubled")
      for (const [i, fault] of troubles(count).entries()) {
        await run(`troubled ${i}`, fault).catch((cause: unknown) => {
          throw new Error(`with ${JSON.stringify(fault)} of ${count}`, { cause })
        })
      }
    },
  )

  test("a file is read completely or not at all, and can be read again", {
    timeout: effort(60_000, 600_000, 7_200_000),
  }, async () => {
    await ann.messenger.sendAttachment(id, small, { fileName: "to be read" })
    const { seq } = await newest(ben.messenger)
    const read = async (messenger: Messenger) => (await messenger.openAttachment(id, seq)).read(0, small.size)
    const counting = await openOn(ben)
    expectSame(await read(counting.messenger), bytes.slice(0, small.size))
    const { count } = counting.failing
    for (const fault of troubles(count)) {
      const failing = faultyStore(ben.store, fault)
      const opening = messengers.open(ben.person, { store: failing, box: ben.box, clock })
      const got = await opening.then(({ messenger }) => read(messenger)).catch((error: unknown) => error)
      if (got instanceof Uint8Array) expectSame(got, bytes.slice(0, small.size))
      else expect(got, JSON.stringify(fault)).toBeInstanceOf(StoreFault)
      expectSame(await read((await openOn(ben)).messenger), bytes.slice(0, small.size))
    }
  })
})
