import { createHash } from "node:crypto"
import type { MessagingStore } from "../../clients/core/messaging/store/store.ts"
import { act, addDevice, attempt, type Cast, failedIn, wake } from "./actions.ts"
import { playAttachments } from "./attachments.ts"
import { playBackup } from "./backup.ts"
import { type Core, notCompared } from "./cores/core.ts"
import { drawFrom } from "./cores/draws.ts"
import { createHistory, type History } from "./cores/history.ts"
import { createTurns } from "./cores/turns.ts"
import type { Feature, Playing } from "./features.ts"
import { hearInPeace, playHints, settleByHints } from "./hints.ts"
import { type Hostility, hostileService } from "./hostile.ts"
import { violationsOf } from "./invariants.ts"
import { playPairing } from "./pairing.ts"
import { pictureOf } from "./picture.ts"
import { recover } from "./recovery.ts"
import { playRejoins } from "./rejoins.ts"
import { playRenewal } from "./renewal.ts"
import { playRestoredDevices } from "./restored-devices.ts"
import { playRestoredService } from "./restored-service.ts"
import { createSchedule } from "./schedule.ts"
import { type Seeded, seeded } from "./seeded.ts"
import { openService } from "./service/service.ts"
import { playTabs } from "./tabs.ts"
import { createWitness } from "./watched.ts"

export interface Play {
  readonly seed: number
  /** How many things are done. */
  readonly steps: number
  readonly hostility?: Hostility
  /** Default: none. */
  readonly features?: readonly Feature[]
  /** A store that is not what it should be: to see that it is noticed. */
  readonly disk?: (store: MessagingStore) => MessagingStore
  /** Opens the messengers of a run that records its history. Default: they are in this process, and nothing is recorded. */
  readonly core?: Core
  /** The states of commits in an earlier run of the same play: a hostile service needs them where devices are not watched. */
  readonly leadsTo?: Outcome["leadsTo"]
}

export interface Outcome {
  /** What does not hold, in words. */
  readonly violations: readonly string[]
  readonly trace: readonly string[]
  /** The same for the same play. */
  readonly fingerprint: string
  /** How often the service was hostile. */
  readonly lies: number
  /** Of a run with a core: until the checks, which read what devices have. */
  readonly history: History["entries"] | undefined
  /** The states that commits lead to. */
  readonly leadsTo: ReadonlyMap<string, Uint8Array>
}

/** What each feature adds, besides what the stage does differently where it is on. */
const playings: Partial<Record<Feature, (cast: Cast, random: Seeded) => Playing>> = {
  hints: playHints,
  tabs: playTabs,
  renewal: playRenewal,
  attachments: playAttachments,
  rejoins: playRejoins,
  pairing: playPairing,
  backup: playBackup,
  "restored service": playRestoredService,
  "restored devices": playRestoredDevices,
}

const startMs = 1_800_000_000_000
/** A lease ends, and who waits for a commit waits no longer. */
const roundMs = 31_000
const maxRounds = 12

/** One run: people who write, come and go, over a bad network, with processes that end anywhere; then peace. */
export async function simulate({
  seed,
  steps,
  hostility,
  features = [],
  disk = (store) => store,
  core,
  leadsTo,
}: Play): Promise<Outcome> {
  const left = core === undefined ? [] : features.filter((one) => notCompared.includes(one))
  if (left.length > 0) throw new RangeError(`histories are not compared with ${left.join()}`)
  const random = seeded(`signet ${seed}`)
  const schedule = createSchedule(startMs)
  const service = await openService(random.fork("service"), schedule)
  const network = { faults: { drops: 0, duplicates: 0 }, parted: new Set<string>(), isDown: false }
  const watching = createWitness(leadsTo)
  const ghost = service.newUser()
  const hostile = hostileService(hostility, {
    random: random.fork("hostile"),
    service,
    witness: watching,
    ghost,
  })
  const compared = core && { core, turns: createTurns(schedule), history: createHistory(schedule.nowMs) }
  const told = { trace: [], bugs: [] }
  const cast: Cast = {
    ...told,
    failed: failedIn(told),
    random: random.fork("cast"),
    service,
    schedule,
    network,
    streams: new Set(),
    watching,
    answering: hostile.answering,
    sent: hostile.sent,
    disk,
    features: new Set(features),
    isHonest: hostility === undefined || hostility === "bent history",
    users: [],
    devices: [],
    tabs: new Map(),
    written: [],
    refreshes: new Map(),
    restored: undefined,
    rewound: new Map(),
    ...(compared && { compared }),
  }
  const playing = features.flatMap((feature) => playings[feature]?.(cast, random.fork(feature)) ?? [])
  const play = async () => {
    await begin(cast)
    if (hostility === "ghost member") {
      await wake(cast, addDevice(cast, ghost))
      // It does nothing by itself.
      cast.devices.pop()
    }
    network.faults = { drops: 0.06, duplicates: 0.05 }
    hostile.begin()
    const doing: Promise<void>[] = []
    for (let step = 0; step < steps; step++) {
      doing.push(act(cast))
      for (const one of playing) if (one.act !== undefined) doing.push(one.act())
      await schedule.wait(cast.random.below(250))
    }
    network.faults = { drops: 0, duplicates: 0 }
    network.parted.clear()
    hostile.end()
    for (const one of playing) one.calm?.()
    await Promise.all(doing)
    await settle(cast)
    for (const one of playing) await one.settle?.()
    if (hostility === undefined && cast.features.has("hints")) await hearInPeace(cast)
    if (hostility === undefined) await restartAll(cast)
    else await recover(cast, () => settle(cast))
    // Each read is in the history.
    if (compared !== undefined) for (const device of cast.devices) await pictureOf(cast, device)
  }
  const returnDraws = compared && drawFrom(compared.turns)
  try {
    await schedule.until(play())
  } catch (error) {
    cast.bugs.push(`the run does not end: ${error}`)
  }
  returnDraws?.()
  const history = compared?.history.entries.slice()
  const found =
    core?.isWatched === false
      ? [cast.bugs]
      : [violationsOf(cast, hostility, ghost), ...playing.map(async (one) => (await one.violations?.()) ?? [])]
  const violations = (await schedule.until(Promise.all(found))).flat()
  const trace = [...cast.trace]
  compared?.turns.end()
  const fingerprint = createHash("sha256").update(trace.join("\n")).update(violations.join("\n")).digest("hex")
  return {
    violations,
    trace,
    fingerprint: fingerprint.slice(0, 16),
    lies: hostile.lies,
    history,
    leadsTo: watching.leadsTo,
  }
}

async function begin(cast: Cast): Promise<void> {
  const { random, users, service } = cast
  const count = 2 + random.below(3)
  for (let i = 0; i < count; i++) users.push(service.newUser())
  const all = random.chance(0.5) ? [...users, random.pick(users)] : users
  for (const user of all) await wake(cast, addDevice(cast, user))
  const [first] = cast.devices
  await first?.messenger?.createGroupConversation(users.slice(1, 2 + random.below(count - 1)))
  for (const device of cast.devices) await device.messenger?.sync()
}

/** Everybody comes back, until nothing changes any more. */
async function settle(cast: Cast): Promise<void> {
  if (cast.features.has("hints")) return settleByHints(cast)
  const { devices, schedule, service } = cast
  const heads = () => [...service.conversations.all.values()].map(({ conversation }) => conversation.headSeq).join()
  for (const device of devices) device.calm()
  let quiet = 0
  for (let round = 0; round < maxRounds && quiet < 2; round++) {
    const before = heads()
    for (const device of devices) {
      const { messenger } = device
      if (messenger === undefined) await wake(cast, device)
      else await attempt(cast, device, "settles", () => messenger.sync())
    }
    await schedule.wait(roundMs)
    quiet = heads() === before ? quiet + 1 : 0
  }
}

/** Whoever starts again is who it was. */
async function restartAll(cast: Cast): Promise<void> {
  for (const device of cast.devices) {
    const before = await pictureOf(cast, device)
    if (before === undefined) continue
    await device.start().catch(() => undefined)
    const after = await pictureOf(cast, device)
    if (before !== after) cast.bugs.push(`${device.name} is another after a restart`)
  }
}
