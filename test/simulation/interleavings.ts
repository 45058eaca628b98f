import { createMessengerWith } from "../../clients/core/messaging/create-messenger.ts"
import { isMessagingError } from "../../clients/core/messaging/errors.ts"
import type { Messenger } from "../../clients/core/messaging/messenger.ts"
import { openMemoryStore } from "../../clients/core/messaging/store/memory.ts"
import type { MessagingStore } from "../../clients/core/messaging/store/store.ts"
import { testBox } from "../../clients/core/messaging/testing/test-box.ts"
import { createSchedule, type Schedule } from "./schedule.ts"
import { seeded } from "./seeded.ts"
import { app, openService, type SimulatedService } from "./service/service.ts"
import {
  createRefusals,
  createStepper,
  type Refusals,
  type Stepper,
  steppedStore,
  steppedTransport,
} from "./stepping.ts"
import { verifyOnce } from "./verdicts.ts"
import { createWitness, seededSuite, type Watching, watchedEngine } from "./watched.ts"

/** What both tabs do at once. Every text and every commit is expected once. */
interface Scenario {
  readonly name: string
  /** Before the tabs begin. */
  readonly before?: (cast: Cast) => Promise<unknown>
  readonly left: (cast: Cast) => Promise<unknown>
  readonly right: (cast: Cast) => Promise<unknown>
  /** Reasons that the service refuses the next new commits for. */
  readonly refusals?: readonly string[]
  /** How many messages the service accepts next without an answer. */
  readonly lostAnswers?: number
  /** Orders that a fault has failed in: they are always played. */
  readonly worst: readonly Order[]
  readonly texts: readonly string[]
  /** Commits of the device. */
  readonly commits: number
}

export interface Cast {
  readonly left: Messenger
  readonly right: Messenger
  readonly peer: Messenger
  readonly id: string
}

/** The tab that begins, and its steps and the other's before the first goes on to its end. */
export interface Order {
  readonly begins: "left" | "right"
  readonly steps: readonly [first: number, second: number]
}

export interface Played {
  /** What does not hold, in words. */
  readonly violations: readonly string[]
  /** Steps that each tab has made. */
  readonly taken: { readonly left: number; readonly right: number }
}

const startMs = 1_800_000_000_000
const utf8 = (text: string) => new TextEncoder().encode(text)
export const send = (messenger: Messenger, id: string, text: string) => messenger.send(id, utf8(text))

interface Tab {
  readonly messenger: Messenger
  readonly stepper: Stepper
}

interface World extends Cast {
  readonly schedule: Schedule
  readonly service: SimulatedService
  readonly watching: Watching
  readonly tabs: Readonly<Record<"left" | "right", Tab>>
  readonly refusals: Refusals
}

async function openWorld(schedule: Schedule): Promise<World> {
  const random = seeded("two tabs")
  const service = await openService(random.fork("service"), schedule)
  const watching = createWitness()
  const refusals = createRefusals()
  const open = async (name: string, userId: string, token: () => string, store: MessagingStore, box = testBox()) => {
    const stepper = createStepper()
    const messenger = await createMessengerWith(
      {
        messaging: { baseUrl: "https://messaging.example", issuerRootKeys: [service.rootKey] },
        session: {
          appId: app.id,
          tenantId: undefined,
          userId,
          accessToken: async () => token(),
          renewToken: async () => token(),
        },
        transport: steppedTransport(stepper, service.transport, refusals),
        store: steppedStore(stepper, store),
        secretBox: box,
        clock: schedule,
        random: random.fork(name),
        platform: "simulated",
      },
      {
        suite: seededSuite(random.fork(`suite ${name}`), watching),
        verify: verifyOnce,
        openEngine: async (options) => watchedEngine(name === "peer" ? "peer" : "device", watching, options),
        keyPackageTarget: 3,
      },
    )
    return { messenger, stepper }
  }
  const [ours, theirs] = [service.newUser(), service.newUser()]
  const [store, box, token] = [openMemoryStore(), testBox(), service.signIn(ours)]
  const left = await open("left", ours, token, store, box)
  await left.messenger.sync()
  const right = await open("right", ours, token, store, box)
  const peer = await open("peer", theirs, service.signIn(theirs), openMemoryStore())
  await peer.messenger.sync()
  const { id } = await left.messenger.createGroupConversation([theirs])
  await peer.messenger.sync()
  // A process reads the log once before its first message.
  await send(right.messenger, id, "hello")
  await send(left.messenger, id, "hello")
  const tabs = { left, right }
  return {
    ...{ schedule, service, watching, refusals, tabs, id },
    ...{ left: left.messenger, right: right.messenger, peer: peer.messenger },
  }
}

/** Plays a scenario in one order, and ends the run with tabs that have seen everything. */
export async function play(scenario: Scenario, order: Order): Promise<Played> {
  const schedule = createSchedule(startMs)
  return schedule.until(playOn(schedule, scenario, order))
}

async function playOn(schedule: Schedule, scenario: Scenario, { begins, steps }: Order): Promise<Played> {
  const world = await openWorld(schedule)
  const { left, right, peer, tabs, watching } = world
  const faults: string[] = []
  await scenario.before?.(world)
  for (const reason of scenario.refusals ?? []) world.refusals.add(reason)
  world.refusals.lose(scenario.lostAnswers ?? 0)
  const [first, second] = begins === "left" ? (["left", "right"] as const) : (["right", "left"] as const)
  const before = { left: tabs.left.stepper.taken, right: tabs.right.stepper.taken }
  const done: Partial<Record<"left" | "right", Promise<void>>> = {}
  const run = async (name: "left" | "right", count: number): Promise<void> => {
    const stopped = tabs[name].stepper.allow(count)
    done[name] ??= scenario[name](world).then(
      () => undefined,
      (error: unknown) => {
        if (!isMessagingError(error, "QUEUED", "CONFLICT_EXHAUSTED")) faults.push(`${name}: ${error}`)
      },
    )
    await Promise.race([stopped, done[name]])
  }
  await run(first, steps[0])
  await run(second, steps[1])
  await run(first, Number.POSITIVE_INFINITY)
  await run(second, Number.POSITIVE_INFINITY)
  const taken = { left: tabs.left.stepper.taken - before.left, right: tabs.right.stepper.taken - before.right }
  for (const one of [left, right, peer, left, right]) await one.sync()
  return { violations: [...faults, ...watching.violations, ...(await violationsOf(world, scenario))], taken }
}

async function violationsOf(world: World, { texts, commits }: Scenario): Promise<string[]> {
  const { left, right, peer, id, watching, service } = world
  const found: string[] = []
  for (const [name, one] of Object.entries({ left, right, peer })) {
    const info = await one.conversation(id)
    if (info?.status !== "active") found.push(`${name} is ${info?.status}`)
    if ((await one.outbox(id)).length > 0) found.push(`${name} has not sent everything`)
    const entries = await one.timeline(id, { limit: 1_000 })
    const read = entries.flatMap((entry) => (entry.is === "message" ? [new TextDecoder().decode(entry.plaintext)] : []))
    const expected = ["hello", "hello", ...texts]
    if (read.toSorted().join() !== expected.toSorted().join()) found.push(`${name} reads ${read.join()}`)
    for (const entry of entries) if (entry.is === "unreadable") found.push(`${name} does not read ${entry.seq}`)
  }
  for (const [epoch, tags] of watching.tags) if (tags.size > 1) found.push(`two states of epoch ${epoch}`)
  const [kept] = service.conversations.all.values()
  const made = kept?.log.filter(({ kind, senderDeviceId }) => kind === "COMMIT" && senderDeviceId === left.deviceId)
  // The first one begins the group.
  if (made?.length !== commits + 1) found.push(`the log has ${made?.length} commits of the device`)
  return found
}

/** Every order of the steps that two tabs make. The second one makes up to as many as the first, if it has to do its work. */
export function ordersOf({ left, right }: Played["taken"]): Order[] {
  const most = Math.max(left, right) + 4
  const upTo = (steps: number) => Array.from({ length: steps + 1 }, (_, i) => i)
  const from = (begins: Order["begins"]): Order[] =>
    upTo(most).flatMap((one) => upTo(most).map((other) => ({ begins, steps: [one, other] as const })))
  return [...from("left"), ...from("right")]
}

export const scenarios: readonly Scenario[] = [
  {
    name: "a message each after an epoch ended",
    before: async ({ left, peer, id }) => {
      await left.encryptMessage(id, utf8("stored"))
      await peer.refreshKeys(id)
    },
    left: ({ left, id }) => send(left, id, "left"),
    right: ({ right, id }) => send(right, id, "right"),
    texts: ["stored", "left", "right"],
    commits: 0,
    worst: [
      { begins: "right", steps: [5, 25] },
      { begins: "right", steps: [5, 33] },
    ],
  },
  {
    name: "a commit each after another's commit",
    before: ({ peer, id }) => peer.refreshKeys(id),
    left: ({ left, id }) => left.refreshKeys(id),
    right: ({ right, id }) => right.refreshKeys(id),
    texts: [],
    commits: 2,
    worst: [{ begins: "left", steps: [5, 10] }],
  },
  {
    name: "a commit each, the first refused",
    left: ({ left, id }) => left.refreshKeys(id),
    right: ({ right, id }) => right.refreshKeys(id),
    refusals: ["PROOF_REFUSED"],
    texts: [],
    commits: 2,
    worst: [
      { begins: "left", steps: [10, 18] },
      { begins: "left", steps: [10, 24] },
    ],
  },
  {
    name: "a commit and a message",
    left: ({ left, id }) => left.refreshKeys(id),
    right: ({ right, id }) => send(right, id, "right"),
    texts: ["right"],
    commits: 1,
    worst: [],
  },
  {
    name: "a message whose answer is lost, a rejoin, and a message",
    left: async ({ left, peer, id }) => {
      await send(left, id, "left").catch(unlessQueued)
      await left.rejoin(id)
      await peer.sync()
      await left.sync()
    },
    right: ({ right, id }) => send(right, id, "right"),
    lostAnswers: 1,
    texts: ["left", "right"],
    commits: 0,
    worst: [],
  },
]

function unlessQueued(error: unknown): void {
  if (!isMessagingError(error, "QUEUED")) throw error
}
