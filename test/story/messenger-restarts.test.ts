// Each process restarts after each step of a scenario, and the result equals that of a run without restarts.
import { afterAll, beforeAll, expect, test } from "vitest"
import type { Messenger } from "../../clients/core/messaging/messenger.ts"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { effort } from "../support/effort.ts"
import { type Messengers, messengersOn, type OpenedMessenger } from "../support/messaging/messengers.ts"
import { storyStore } from "../support/postgres.ts"

let server: Deployment
let messengers: Messengers
beforeAll(async () => {
  server = await startDeployment({ store: storyStore })
  messengers = messengersOn(server)
})
afterAll(async () => {
  await messengers?.close()
  await server?.close()
})

const names = ["ann", "ben", "cid"] as const
type Name = (typeof names)[number]

interface Cast {
  readonly of: Record<Name, Messenger>
  readonly ids: Record<Name, string>
  conversation: string
}

const utf8 = (text: string) => new TextEncoder().encode(text)
const file = new Blob([new Uint8Array(70_000).fill(7)])

const steps: readonly ((cast: Cast) => Promise<unknown>)[] = [
  async (cast) => {
    const { ann } = cast.of
    cast.conversation = (await ann.createGroupConversation([cast.ids.ben, cast.ids.cid])).id
  },
  ({ of }) => of.ben.sync(),
  ({ of, conversation }) => of.ann.send(conversation, utf8("one")),
  ({ of, conversation }) => of.ben.encryptMessage(conversation, utf8("two, which waits")),
  ({ of }) => of.cid.sync(),
  ({ of }) => of.ben.sync(),
  async ({ of, ids }) => {
    const { safetyNumber } = await of.ann.verification.of(ids.ben)
    await of.ann.verification.markVerified(ids.ben, safetyNumber)
  },
  ({ of, conversation }) => of.ann.refreshKeys(conversation),
  ({ of, conversation, ids }) => of.ann.removeMembers(conversation, [ids.cid]),
  ({ of }) => of.cid.sync(),
  ({ of, conversation }) => of.ben.send(conversation, utf8("three, without Cid")),
  ({ of, conversation, ids }) => of.ben.addMembers(conversation, [ids.cid]),
  ({ of }) => of.cid.sync(),
  ({ of, conversation }) => of.cid.send(conversation, utf8("four, back again")),
  ({ of, conversation }) => of.ann.sendAttachment(conversation, file, { fileName: "five.bin" }),
  ({ of }) => of.ben.sync(),
  async ({ of, conversation }) => {
    const entry = (await of.ben.timeline(conversation)).at(-1)
    const attachment = await of.ben.openAttachment(conversation, entry?.seq ?? 0n)
    expect(await attachment.read(69_999, 70_000)).toEqual(Uint8Array.of(7))
  },
  ({ of, conversation }) => of.ben.rejoin(conversation),
  ({ of }) => of.ann.sync(),
  ({ of }) => of.ben.sync(),
  ({ of, conversation }) => of.ben.send(conversation, utf8("six, let in again")),
  ({ of, conversation }) => of.cid.leave(conversation),
  ({ of }) => of.ann.sync(),
  ({ of }) => of.ben.sync(),
  ({ of }) => of.cid.sync(),
]

/** The final state of all devices, with names instead of ids. */
async function story(restarts: boolean, run: number) {
  const opened = {} as Record<Name, OpenedMessenger>
  for (const name of names) opened[name] = await messengers.newcomer(`${name} ${run}`)
  const ids = { ann: opened.ann.person.userId, ben: opened.ben.person.userId, cid: opened.cid.person.userId }
  const messengersNow = () => ({ ann: opened.ann.messenger, ben: opened.ben.messenger, cid: opened.cid.messenger })
  const cast: Cast = { of: messengersNow(), ids, conversation: "" }
  for (const step of steps) {
    await step(cast)
    if (!restarts) continue
    for (const name of names) {
      const { person, store, box } = opened[name]
      opened[name] = await messengers.open(person, { store, box })
    }
    Object.assign(cast.of, messengersNow())
  }
  const nameOf = (userId: string) => names.find((name) => ids[name] === userId)
  const people = (all: readonly { userId: string }[]) => all.map(({ userId }) => nameOf(userId)).sort()
  const told = async (name: Name) => {
    const messenger = cast.of[name]
    const entries = (await messenger.timeline(cast.conversation)).map((entry) => {
      if (entry.is === "message") return `${nameOf(entry.from.userId)}: ${new TextDecoder().decode(entry.plaintext)}`
      if (entry.is === "attachment") return `${nameOf(entry.from.userId)} sent ${entry.fileName}`
      return entry.is === "membership" ? `+${people(entry.added)} -${people(entry.removed)}` : entry.is
    })
    const { status, processedSeq, memberUserIds = [] } = (await messenger.conversation(cast.conversation)) ?? {}
    const members = memberUserIds.map(nameOf).sort()
    return { entries, status, processedSeq, members, ofBen: await messenger.verification.status(ids.ben) }
  }
  return { ann: await told("ann"), ben: await told("ben"), cid: await told("cid") }
}

test.skipIf(effort(true, false, false))(
  "with a restart after each step all devices have the same state as without",
  async () => {
    const { ann, ben, cid } = await story(true, 0)
    const all = ["ann: one", "ben: two, which waits", "+ -cid", "ben: three, without Cid", "+cid -"]
    const since = ["cid: four, back again", "ann sent five.bin"]
    const left = ["ben: six, let in again", "+ -cid"]
    expect(ann.entries).toEqual(["+ben,cid -", ...all, ...since, "+ -ben", "+ben -", ...left])
    expect(ben.entries).toEqual([...all, ...since, "gap", ...left])
    expect(cid.entries.slice(-4)).toEqual(["+ -ben", "+ben -", ...left])
    expect([ann.status, ben.status, cid.status]).toEqual(["active", "active", "removed"])
    for (const { members } of [ann, ben]) expect(members).toEqual(["ann", "ben"])
    expect(ann.ofBen).toBe("verified")
    expect(await story(false, 1)).toEqual({ ann, ben, cid })
  },
)
