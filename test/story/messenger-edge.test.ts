// Messengers on the Worker, driven by a seed: with lost answers, repeated calls, and restarts of the messengers and of
// the Worker.
import type { Transport } from "@connectrpc/connect"
import { afterAll, beforeAll, expect, test, vi } from "vitest"
import { isMessagingError } from "../../clients/core/messaging/errors.ts"
import type { Messenger } from "../../clients/core/messaging/messenger.ts"
import { isKnown } from "../simulation/actions.ts"
import { lineTo, type Network } from "../simulation/network.ts"
import { reasonOf } from "../simulation/reason-of.ts"
import type { Schedule } from "../simulation/schedule.ts"
import { type Seeded, seeded } from "../simulation/seeded.ts"
import { type EdgeServer, startEdgeServer } from "../support/edge-server.ts"
import { effort } from "../support/effort.ts"
import { type Messengers, messengersOn, type OpenedMessenger, systemClock } from "../support/messaging/messengers.ts"
import { together } from "../support/messaging/world.ts"
import { storyStore } from "../support/postgres.ts"

vi.setConfig({ testTimeout: effort(60_000, 300_000, 7_200_000), hookTimeout: 120_000 })

let server: EdgeServer
let messengers: Messengers
beforeAll(async () => {
  server = await startEdgeServer({ store: storyStore })
  messengers = messengersOn(server)
})
afterAll(async () => {
  await messengers?.close()
  await server?.close()
})

/** Real time, because the Worker has no other clock. */
const schedule: Schedule = {
  ...systemClock,
  wait: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  outside: (work) => work(),
  pass: () => expect.unreachable(),
  until: (happened) => happened,
}

interface Player {
  readonly name: string
  readonly transport: Transport
  opened: OpenedMessenger
}

/** Sent: its sequence number is known. Stored: it is still to be sent. Unknown: the call was interrupted. */
interface Written {
  readonly text: string
  readonly conversationId: string
  readonly outcome: "sent" | "stored" | "refused" | "unknown"
  readonly seq: bigint | undefined
}

interface Play {
  readonly random: Seeded
  readonly network: Network
  readonly players: readonly Player[]
  /** The group that the last player leaves and joins again. */
  readonly groupId: string
  readonly written: Written[]
  /** Errors that must never occur. */
  readonly bugs: string[]
  /** Calls whose request or answer was lost. */
  readonly lost: unknown[]
}

async function begin(seed: string): Promise<Play> {
  const random = seeded(seed)
  const network: Network = { faults: { drops: 0, duplicates: 0 }, parted: new Set() }
  const players: Player[] = []
  const lost: unknown[] = []
  for (const name of ["ann", "ben", "cid", "dot"]) {
    const line = lineTo(server.transport, {
      device: name,
      isDead: () => false,
      network,
      schedule,
      random: random.fork(name),
      sent: () => undefined,
      answering: async (_method, _request, truth) => truth,
    })
    const transport: Transport = {
      unary: (...call) =>
        line.unary(...call).catch((error: unknown) => {
          if (String(error).includes("lost on its way")) lost.push(error)
          throw error
        }),
      stream: (...call) => server.transport.stream(...call),
    }
    const opened = await messengers.open(together(await server.person(`${name} of ${seed}`)), { transport })
    await opened.messenger.sync()
    players.push({ name, transport, opened })
  }
  const [ann, ...others] = players.map(({ opened }) => opened)
  const group = await ann?.messenger.createGroupConversation(others.map(({ person }) => person.userId))
  return { random, network, players, groupId: group?.id ?? "", written: [], bugs: [], lost }
}

const utf8 = (text: string) => new TextEncoder().encode(text)
const textsIn = async (messenger: Messenger, id: string) =>
  (await messenger.timeline(id, { limit: 10_000 })).flatMap((entry) => {
    if (entry.is === "message") return [new TextDecoder().decode(entry.plaintext)]
    return entry.is === "unreadable" ? [`${entry.seq}: ${entry.reason}`] : []
  })

/** Ignores the allowed errors; any other error is a bug. */
async function attempt({ bugs }: Play, { name }: Player, what: string, work: () => Promise<unknown>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!isKnown(error)) bugs.push(`${name} cannot ${what}: ${reasonOf(error)}`)
  }
}

async function write(play: Play, player: Player): Promise<void> {
  const { messenger } = player.opened
  const all = await messenger.conversations().catch(() => [])
  if (all.length > 0) await writeIn(play, player, play.random.pick(all).id)
}

async function writeIn(play: Play, player: Player, conversationId: string): Promise<void> {
  const one = { text: `${player.name} ${play.random.below(2 ** 31)}`, conversationId }
  await attempt(play, player, "write", async () => {
    try {
      const { seq } = await player.opened.messenger.send(conversationId, utf8(one.text))
      play.written.push({ ...one, outcome: "sent", seq })
    } catch (error) {
      const isStored = isMessagingError(error, "QUEUED", "CONFLICT_EXHAUSTED")
      const isRefused = isMessagingError(error, "CONVERSATION_NOT_ACTIVE")
      play.written.push({ ...one, outcome: isStored ? "stored" : isRefused ? "refused" : "unknown", seq: undefined })
      throw error
    }
  })
}

async function restart({ bugs }: Play, player: Player): Promise<void> {
  const { opened, transport, name } = player
  await opened.messenger.close()
  for (let tries = 0; tries < 100; tries++) {
    try {
      player.opened = await messengers.open(opened.person, { ...opened, transport })
      return
    } catch (error) {
      if (!isKnown(error)) bugs.push(`${name} cannot start: ${reasonOf(error)}`)
      await schedule.wait(100)
    }
  }
  throw new Error(`${name} does not start again`)
}

async function act(play: Play): Promise<void> {
  const { random, players, groupId } = play
  const player = random.pick(players)
  const { messenger } = player.opened
  const last = players.at(-1)?.opened.person.userId ?? ""
  const drawn = random.below(100)
  if (drawn < 45) return write(play, player)
  if (drawn < 65) return attempt(play, player, "sync", () => messenger.sync())
  if (drawn < 73) return attempt(play, player, "refresh keys", () => messenger.refreshKeys(groupId))
  if (drawn < 79) return attempt(play, player, "add", () => messenger.addMembers(groupId, [last]))
  if (drawn < 84) return attempt(play, player, "remove", () => messenger.removeMembers(groupId, [last]))
  if (drawn < 92) {
    const peer = random.pick(players.filter((one) => one !== player)).opened.person.userId
    return attempt(play, player, "write to one", () => messenger.createDirectConversation(peer))
  }
  return restart(play, player)
}

async function trouble(play: Play, steps: number, crashes: number): Promise<void> {
  const doing: Promise<void>[] = []
  const every = Math.ceil(steps / (crashes + 1))
  for (let step = 1; step <= steps; step++) {
    doing.push(act(play))
    // The players continue while it is down.
    if (step % every === 0 && step / every <= crashes) doing.push(server.crash())
    await schedule.wait(play.random.below(120))
  }
  await Promise.all(doing)
}

/** Syncs all players until nobody has anything left to do or to read. */
async function settle({ players }: Play): Promise<void> {
  let before = ""
  await expect
    .poll(
      async () => {
        for (const { opened } of players) await opened.messenger.sync()
        const held = players.map(async ({ opened: { messenger } }) => messenger.conversations())
        const now = JSON.stringify(await Promise.all(held), (_, value) =>
          typeof value === "bigint" ? String(value) : value,
        )
        const isQuiet = now === before && !now.includes("waiting")
        before = now
        return isQuiet
      },
      { timeout: 90_000, interval: 200 },
    )
    .toBe(true)
}

async function expectWhole({ players, groupId, written, bugs }: Play): Promise<void> {
  expect(bugs).toEqual([])
  const ids = new Set(written.map(({ conversationId }) => conversationId))
  for (const id of ids) {
    const held = await Promise.all(
      players.map(async ({ opened: { messenger } }, i) => ({
        hasStayed: id !== groupId || i < players.length - 1,
        info: await messenger.conversation(id),
        texts: await textsIn(messenger, id),
      })),
    )
    const there = held.filter(({ info }) => info !== undefined)
    const [first, ...others] = there.filter(({ hasStayed }) => hasStayed)
    if (first === undefined) throw new Error("nobody is in")
    for (const { texts } of others) expect(texts).toEqual(first.texts)
    for (const { info } of there)
      expect([info?.status, info?.processedSeq]).toEqual(["active", first.info?.processedSeq])
    // A player who left for a time has a part of them, in order.
    for (const { texts } of there) expect(first.texts.filter((text) => texts.includes(text))).toEqual(texts)
    const timeline = await players[0]?.opened.messenger.timeline(id, { limit: 10_000 })
    const isThere = (text: string) => first.texts.filter((one) => one === text).length
    for (const { text, outcome, seq, conversationId } of written) {
      if (conversationId !== id) continue
      const isByWhoStayed = id !== groupId || !text.startsWith("dot")
      const what = `${text} was ${outcome}`
      if (outcome === "sent" || (outcome === "stored" && isByWhoStayed)) expect(isThere(text), what).toBe(1)
      else if (outcome === "refused") expect(isThere(text), what).toBe(0)
      else expect(isThere(text), what).toBeLessThanOrEqual(1)
      const place = timeline?.find(
        (entry) => entry.is === "message" && new TextDecoder().decode(entry.plaintext) === text,
      )
      if (seq !== undefined && place !== undefined) expect(place.seq, what).toBe(seq)
    }
    const known = new Set(written.map(({ text }) => text))
    expect(first.texts.filter((text) => !known.has(text))).toEqual([])
  }
}

test.skipIf(effort(true, false, false))(
  "with lost and repeated calls and restarts, all members get each message once, in one order",
  async () => {
    for (let run = 0; run < effort(1, 1, 100); run++) {
      const play = await begin(`edge ${run}`)
      play.network.faults = { drops: 0.06, duplicates: 0.05 }
      await trouble(play, effort(20, 120, 200), effort(1, 2, 4))
      play.network.faults = { drops: 0, duplicates: 0 }
      await settle(play)
      // All players are members again, and all get each player's message.
      const [ann, , , dot] = play.players
      if (ann === undefined || dot === undefined) throw new Error("four play")
      await ann.opened.messenger.addMembers(play.groupId, [dot.opened.person.userId])
      await settle(play)
      for (const player of play.players) await writeIn(play, player, play.groupId)
      await settle(play)
      await expectWhole(play)
      expect(play.written.slice(-4).map(({ outcome }) => outcome)).toEqual(["sent", "sent", "sent", "sent"])
      expect((await textsIn(dot.opened.messenger, play.groupId)).slice(-4)).toHaveLength(4)
      expect(play.lost).not.toEqual([])
    }
  },
)
