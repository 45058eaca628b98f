// A service that changes one field of one answer: absent, doubled, too large or another resource's. The messenger
// refuses it with a reason or ignores it, after a bounded number of calls. Once the service is honest again, everything
// continues.
import { inspect } from "node:util"
import type { Message } from "@bufbuild/protobuf"
import { ConnectError, type Transport } from "@connectrpc/connect"
import { afterAll, beforeAll, expect, test } from "vitest"
import { isSignetError } from "../../clients/core/errors.ts"
import { isMessagingError } from "../../clients/core/messaging/errors.ts"
import { seeded } from "../simulation/seeded.ts"
import { effort } from "../support/effort.ts"
import { type Messengers, messengersOn, type OpenedMessenger, systemClock } from "../support/messaging/messengers.ts"
import { type MessagingServer, startMessagingServer } from "../support/messaging/test-server.ts"
import { storyStore } from "../support/postgres.ts"

let server: MessagingServer
let messengers: Messengers
let ann: OpenedMessenger
let ben: OpenedMessenger
/** A conversation of both, which they joined before the tests. */
let old: string
const failures: unknown[] = []
beforeAll(async () => {
  server = await startMessagingServer({ store: storyStore })
  messengers = messengersOn(server)
  const clock = { ...systemClock, after: (_: number, run: () => void) => systemClock.after(0, run) }
  ann = await messengers.newcomer("ann", { transport: bending(), clock })
  ben = await messengers.newcomer("ben", { clock })
  ann.messenger.subscribe((event) => event.is === "failed" && failures.push(event.error))
  old = await group()
})
afterAll(async () => {
  await messengers?.close()
  await server?.close()
})

async function group(): Promise<string> {
  const { id } = await ben.messenger.createGroupConversation([ann.person.userId])
  await ann.messenger.sync()
  return id
}

interface Bend {
  readonly method: string
  readonly path: readonly string[]
  readonly name: string
  readonly to: (value: unknown) => unknown
}

let bend: Bend | undefined
let calls = 0
/** Far more calls than with an honest service. */
const maxCalls = 3_000
const seen = new Map<string, Bend>()

function bending(): Transport {
  return {
    async unary(method, ...rest) {
      if (++calls > maxCalls) throw new Error("it never ends")
      const answer = await messengers.transport.unary(method, ...rest)
      if (bend === undefined) for (const one of bendsOf(method.name, answer.message)) seen.set(nameOf(one), one)
      if (bend?.method === method.name) apply(answer.message, bend)
      return answer
    },
    stream: (...call) => messengers.transport.stream(...call),
  }
}

const nameOf = ({ method, path, name }: Bend) => `${method} ${path.join(".")}: ${name}`

const fieldsOf = (value: object): [string, unknown][] => Object.entries(value).filter(([name]) => !name.startsWith("$"))
const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null

/** Returns each change of each field. For a repeated field, changes only the first element. */
function bendsOf(method: string, message: object, path: readonly string[] = []): Bend[] {
  return fieldsOf(message).flatMap(([field, value]) => {
    const at = [...path, field]
    const own = changesOf(field, value).map(([name, to]) => ({ method, path: at, name, to }))
    const inside = Array.isArray(value) ? value[0] : value
    const isDeep = isObject(inside) && !(inside instanceof Uint8Array)
    return isDeep ? [...own, ...bendsOf(method, inside, at)] : own
  })
}

type Change = [name: string, to: (value: unknown) => unknown]
const always = (value: unknown) => () => value

function changesOf(field: string, value: unknown): Change[] {
  if (typeof value === "bigint") {
    const most = field === "seconds" ? 2n ** 63n - 1n : 2n ** 64n - 1n
    return [
      ["nothing", always(0n)],
      ["one more", (is) => (is as bigint) + 1n],
      ["the most", always(most)],
      ["more than is exact", always(2n ** 53n + 1n)],
      ...(field === "seconds" ? ([["long ago", always(-(2n ** 60n))]] satisfies Change[]) : []),
    ]
  }
  if (typeof value === "number") {
    return [
      ["nothing", always(0)],
      ["one", always(1)],
      ["one more", (is) => Number(is) + 1],
      ["the most", always(2 ** 31 - 1)],
    ]
  }
  if (typeof value === "boolean") return [["the contrary", (is) => !is]]
  if (typeof value === "string") {
    return [
      ["nothing", always("")],
      ["no id", always("\ud800 ../..")],
      ["another's", always("prn_01kdvdna00edmtevk5ehj6axhg")],
    ]
  }
  if (value instanceof Uint8Array) {
    return [
      ["nothing", always(new Uint8Array())],
      ["other bytes", (is) => (is as Uint8Array).map((byte, i) => (i === 3 ? byte ^ 1 : byte))],
      ["cut", (is) => (is as Uint8Array).slice(0, -1)],
      ["very long", always(new Uint8Array(2_000_000).fill(8))],
    ]
  }
  if (Array.isArray(value)) {
    return [
      ["none", always([])],
      ["twice", (is) => [...(is as unknown[]), ...(is as unknown[])]],
      ["backwards", (is) => (is as unknown[]).toReversed()],
      ["two hundred thousand", (is) => ofLength(is as unknown[])],
    ]
  }
  return isObject(value) ? [["absent", always(value.case === undefined ? undefined : { case: undefined })]] : []
}

/** Returns more elements than one function call can take as arguments. */
const ofLength = (is: unknown[]) => (is.length === 0 ? is : Array.from({ length: 200_000 }, () => is[0]))

function apply(message: Message, { path, to }: Bend): void {
  let at: unknown = message
  for (const field of path.slice(0, -1)) {
    const next = isObject(at) ? at[field] : undefined
    at = Array.isArray(next) ? next[0] : next
  }
  const last = path.at(-1) ?? ""
  if (isObject(at) && last in at) at[last] = to(at[last])
}

/** Text that only the members may read. */
const planted = "planted by ann, for ben"
const utf8 = (text: string) => new TextEncoder().encode(text)

/**
 * Makes the calls that a device makes in a day.
 *
 * @returns The refusals.
 */
async function day(): Promise<unknown[]> {
  const refused: unknown[] = []
  const trying = async (work: () => Promise<unknown>) => {
    await work().catch((error: unknown) => refused.push(error))
  }
  const { messenger } = ann
  failures.length = 0
  calls = 0
  await ben.messenger.createGroupConversation([ann.person.userId])
  await ben.messenger.send(old, utf8("from ben"))
  await trying(() => messenger.sync())
  await trying(() => messenger.send(old, utf8(planted)))
  await trying(async () => {
    const { id } = await messenger.createGroupConversation([ben.person.userId])
    await messenger.removeMembers(id, [ben.person.userId])
  })
  await trying(() => messenger.createDirectConversation(ben.person.userId))
  await trying(() => messenger.verification.of(ben.person.userId))
  await trying(async () => {
    const { seq } = await messenger.sendAttachment(old, new Blob([new Uint8Array(100)]), { fileName: "a" })
    await (await messenger.openAttachment(old, seq)).read(0, 100)
  })
  await trying(() => messenger.refreshKeys(old))
  return [...refused, ...failures]
}

const isTyped = (error: unknown): boolean =>
  isMessagingError(error) || isSignetError(error) || error instanceof ConnectError

/** True if an error, one of its causes or one of its properties contains the planted text or a token. */
function isTelling(error: unknown): boolean {
  const shown = inspect(error, { depth: 20, showHidden: true, maxArrayLength: 10_000, maxStringLength: null })
  return [planted, hexOf(planted), base64Of(planted), ann.person.accessToken].some((one) => shown.includes(one))
}
const hexOf = (text: string) => Buffer.from(text).toString("hex")
const base64Of = (text: string) => Buffer.from(text).toString("base64").slice(0, 20)

let written = 0
/** Checks that everything works again. A device that was deceived may have to rejoin first. */
async function goesOn(): Promise<void> {
  for (let round = 0; round < 4; round++) {
    const status = (await ann.messenger.conversation(old))?.status
    if (status === "active") break
    if (status === "quarantined") await ann.messenger.rejoin(old)
    for (const one of [ann, ben, ann]) await one.messenger.sync()
  }
  await ann.messenger.sync()
  const text = `and on it goes ${++written}`
  await ann.messenger.send(old, utf8(text))
  await ben.messenger.sync()
  const { processedSeq = 0n } = (await ben.messenger.conversation(old)) ?? {}
  const entries = await ben.messenger.timeline(old, { afterSeq: processedSeq - 3n })
  expect(entries.some((entry) => entry.is === "message" && Buffer.from(entry.plaintext).equals(utf8(text)))).toBe(true)
}

test.skipIf(effort(true, false, false))(
  "a change of any field of any answer is refused with a reason, and everything continues afterwards",
  async () => {
    seen.clear()
    expect(await day()).toEqual([])
    const bends = [...seen.values()]
    expect(bends.length).toBeGreaterThan(400)
    const random = seeded("fields")
    const some = (length: number) => Array.from({ length }, () => random.pick(bends))
    const chosen = effort([], some(8), bends)
    const found: string[] = []
    for (const one of chosen) {
      bend = one
      const errors = await day()
      bend = undefined
      for (const error of errors.filter((each) => !isTyped(each))) found.push(`${nameOf(one)}: ${error}`)
      if (errors.some(isTelling)) found.push(`${nameOf(one)}: an error tells what nobody is to know`)
      if (calls > maxCalls) found.push(`${nameOf(one)}: it never ends`)
      calls = 0
      await goesOn().catch((error: unknown) => found.push(`${nameOf(one)}: does not go on: ${error}`))
    }
    expect(found).toEqual([])
  },
  effort(60_000, 300_000, 7_200_000),
)
