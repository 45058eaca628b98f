// One device: a store that lasts, and a process over it that may end at any operation and is started again.

import { createMessengerWith } from "../../clients/core/messaging/create-messenger.ts"
import type { Messenger } from "../../clients/core/messaging/messenger.ts"
import type { Engine, EngineOptions } from "../../clients/core/messaging/mls.ts"
import type { MessagingStore } from "../../clients/core/messaging/store/store.ts"
import { type Fault, type FaultyStore, faultyStore } from "../../clients/core/messaging/testing/faulty-store.ts"
import { testBox } from "../../clients/core/messaging/testing/test-box.ts"
import type { SecretBox } from "../../clients/core/secret-box.ts"
import { openInTurns } from "./cores/app.ts"
import { baseUrl, type Core, keyPackages, platform } from "./cores/core.ts"
import { type History, recordedService, recordedStore } from "./cores/history.ts"
import type { Lane, Turns } from "./cores/turns.ts"
import type { Feature } from "./features.ts"
import { clockThrough, createGate, type Gate, storeThrough, transportThrough } from "./frozen.ts"
import { type Answering, lineTo, type Network } from "./network.ts"
import { createReportLog, type ReportLog } from "./reported.ts"
import { openRewindableStore, type RewindableStore } from "./rewindable-store.ts"
import type { Schedule } from "./schedule.ts"
import type { Seeded } from "./seeded.ts"
import { app, type SimulatedService } from "./service/service.ts"
import { type SharedStore, shareStore } from "./shared-store.ts"
import { type OpenStream, streamOver } from "./stream-line.ts"
import { verifyOnce } from "./verdicts.ts"
import { seededSuite, type Watching, watchedEngine } from "./watched.ts"

/** What a run is played on. */
export interface Stage {
  readonly service: SimulatedService
  readonly schedule: Schedule
  readonly network: Network
  /** Those that devices read. */
  readonly streams: Set<OpenStream>
  readonly watching: Watching
  /** What a device is told, instead of the truth. */
  readonly answering: (device: string) => Answering
  readonly sent: (conversationId: string, epoch: bigint, commit: Uint8Array) => void
  /** A device tells that something in the background did not work. */
  readonly failed: (device: string, error: unknown) => void
  /** Between the process and its store: where a fault is planted. */
  readonly disk: (store: MessagingStore) => MessagingStore
  readonly features: ReadonlySet<Feature>
  /** The engine of a device that is not what it should be. */
  readonly engineOf?: (device: string, engine: Engine) => Engine
  /** Default: messengers are in this process, and their ports answer at once. */
  readonly compared?: Compared
}

/** A run whose history is compared with another run's. */
interface Compared {
  readonly core: Core
  readonly turns: Turns
  readonly history: History
}

export interface SimulatedDevice {
  readonly name: string
  /** In the trace: another tab has its device's name, and says that it is another one. */
  readonly label: string
  readonly userId: string
  readonly token: () => string
  readonly store: RewindableStore
  /** What tabs have in common; undefined where there are none. */
  readonly shared: Shared | undefined
  /** What each of its processes told its app, and whether that process has ended. */
  readonly reports: readonly { readonly log: ReportLog; readonly isOver: () => boolean }[]
  /** Undefined while no process runs. */
  readonly messenger: Messenger | undefined
  readonly isRunning: boolean
  /** Starts a process. @param endsAt the storage operation that it ends with; never, if it is not said. */
  start(endsAt?: Pick<Fault, "at" | "when">): Promise<void>
  /** Follows the service's hints, until the process ends. */
  listen(): void
  hearNoMore(): void
  /** Nothing goes on in its process until it is thawed. */
  freeze(): void
  thaw(): void
  /** Its process ends at no operation any more, and does not stand still. */
  calm(): void
  /** Ends the process where it is. */
  stop(): void
  /** Drops the reports of its processes: its store returns to an earlier state. */
  forgetReports(): void
  /** Ends it with its tabs, and it never starts again: the device is lost with its store. */
  lose(): void
  readonly isLost: boolean
}

interface Process {
  readonly store: FaultyStore
  readonly gate: Gate | undefined
  isStopped: boolean
  /** Of a run that is compared. */
  lane: Lane | undefined
}

interface Shared {
  readonly stored: SharedStore
  readonly box: SecretBox
}

/** @param beside The device that it is another tab of. */
export function createDevice(
  stage: Stage,
  name: string,
  userId: string,
  token: () => string,
  random: Seeded,
  beside?: SimulatedDevice,
) {
  const { service, schedule, network, watching, compared } = stage
  const store = beside?.store ?? openRewindableStore()
  const box = beside?.shared?.box ?? testBox()
  const hasTabs = stage.features.has("tabs")
  const stored = beside?.shared?.stored ?? shareStore(schedule, network, random.fork("tabs"))
  const suite = seededSuite(random.fork("suite"), watching)
  const lineRandom = random.fork("line")
  const streamRandom = random.fork("stream")
  const ownRandom = random.fork("random")
  let messenger: Messenger | undefined
  let process: Process | undefined
  const reports: { readonly log: ReportLog; readonly isOver: () => boolean }[] = []
  let listening: AbortController | undefined
  let isLost = false

  const device: SimulatedDevice = {
    name,
    label: beside === undefined ? name : `${name}, the other tab,`,
    userId,
    token,
    store,
    shared: hasTabs ? { stored, box } : undefined,
    reports,
    get messenger() {
      return device.isRunning ? messenger : undefined
    },
    get isRunning() {
      return process !== undefined && !process.isStopped && !process.store.isDead && !device.isLost
    },
    async start(endsAt) {
      device.stop()
      if (device.isLost) throw new Error("the process has ended")
      const fault = endsAt === undefined ? undefined : { ...endsAt, ends: true }
      const gate = hasTabs ? createGate() : undefined
      const lasting = compared === undefined ? store : recordedStore(store, name, compared.history)
      const disk = stage.disk(gate === undefined ? lasting : storeThrough(gate, lasting))
      const started: Process = { store: faultyStore(disk, fault), gate, isStopped: false, lane: undefined }
      process = started
      const isDead = () => started.isStopped || started.store.isDead || device.isLost
      const clock = gate === undefined ? schedule : clockThrough(gate, schedule)
      const alive = endable(started.store, isDead)
      const recorded =
        compared === undefined ? service.transport : recordedService(service.transport, name, compared.history)
      const line = lineTo(recorded, {
        device: name,
        isDead,
        network,
        schedule,
        random: lineRandom,
        answering: stage.answering(name),
        isSilent: () => stage.features.has("hints") && streamRandom.chance(0.3),
        stream: streamOver(service.transport, {
          device: name,
          isDead,
          network,
          schedule,
          random: streamRandom,
          streams: stage.streams,
        }),
        sent(request) {
          const { payload } = request
          if (payload.case === "application") watching.left(name, payload.value)
          if (payload.case === "commit") stage.sent(request.conversationId, request.expectedEpoch, payload.value.commit)
        },
      })
      messenger = undefined
      const watched = (options: EngineOptions) => {
        const engine = watchedEngine(name, watching, options)
        return stage.engineOf?.(name, engine) ?? engine
      }
      const session = { appId: app.id, userId }
      const { rootKey } = service
      const openAtOnce = () =>
        createMessengerWith(
          {
            messaging: { baseUrl, issuerRootKeys: [rootKey] },
            session: {
              ...session,
              tenantId: undefined,
              accessToken: async () => token(),
              renewToken: async () => token(),
            },
            transport: gate === undefined ? line : transportThrough(gate, line),
            store: gate === undefined ? alive : stored.tab(alive, { clock, isDead }),
            secretBox: box,
            clock,
            random: ownRandom,
            platform,
          },
          { suite, verify: verifyOnce, openEngine: async (options) => watched(options), keyPackageTarget: keyPackages },
        )
      async function openCompared({ core, turns, history }: Compared): Promise<Messenger> {
        const lane = turns.lane({ isOver: isDead, bytes: ownRandom.bytes })
        started.lane = lane
        const own = { random: ownRandom, suite: seededSuite(ownRandom, watching), watched }
        const host = { device: name, lane, schedule, history, session, rootKey, token, store: alive, box }
        return openInTurns(core, { ...host, ...own, transport: line })
      }
      const opened = await (compared === undefined ? openAtOnce() : openCompared(compared))
      const log = createReportLog()
      reports.push({ log, isOver: () => isDead() || process !== started })
      opened.subscribe((event) => {
        if (!isDead()) log.hear(event)
        if (event.is === "failed") stage.failed(device.label, event.error)
        if (isDead() && process === started) device.hearNoMore()
      })
      if (process === started) messenger = opened
    },
    listen() {
      if (listening !== undefined || device.messenger === undefined) return
      const until = new AbortController()
      listening = until
      device.messenger.run(until.signal).catch((error: unknown) => stage.failed(device.label, error))
    },
    hearNoMore() {
      listening?.abort()
      listening = undefined
    },
    freeze: () => process?.gate?.close(),
    thaw: () => process?.gate?.open(),
    calm() {
      device.thaw()
      process?.store.calm()
    },
    stop() {
      device.hearNoMore()
      if (process !== undefined) process.isStopped = true
      process?.lane?.end()
      device.thaw()
      messenger = undefined
    },
    forgetReports() {
      reports.length = 0
    },
    lose() {
      isLost = true
      device.stop()
    },
    get isLost() {
      return isLost || beside?.isLost === true
    },
  }
  return device
}

/** What a process that was ended still does, nobody writes down. */
function endable(store: MessagingStore, isDead: () => boolean): MessagingStore {
  const whileAlive = async <T>(work: () => Promise<T>): Promise<T> => {
    if (isDead()) throw new Error("the process has ended")
    return work()
  }
  return {
    durability: store.durability,
    read: (...args) => whileAlive(() => store.read(...args)),
    list: (...args) => whileAlive(() => store.list(...args)),
    spaces: () => whileAlive(() => store.spaces()),
    transact: (...args) => whileAlive(() => store.transact(...args)),
    close: () => store.close(),
  }
}
