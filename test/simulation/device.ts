// One device: a store that lasts, and a process over it that may end at any operation and is started again.
import { createMessengerWith } from "../../clients/core/messaging/create-messenger.ts"
import type { Messenger } from "../../clients/core/messaging/messenger.ts"
import { openMemoryStore } from "../../clients/core/messaging/store/memory.ts"
import type { MessagingStore } from "../../clients/core/messaging/store/store.ts"
import { type Fault, type FaultyStore, faultyStore } from "../../clients/core/messaging/testing/faulty-store.ts"
import { testBox } from "../../clients/core/messaging/testing/test-box.ts"
import { nodeVerify } from "@signet/canonical/node/ed25519"
import type { Feature } from "./features.ts"
import { type Answering, lineTo, type Network } from "./network.ts"
import type { Schedule } from "./schedule.ts"
import type { Seeded } from "./seeded.ts"
import { app, type SimulatedService } from "./service/service.ts"
import { seededSuite, type Watching, watchedEngine } from "./watched.ts"

/** What a run is played on. */
export interface Stage {
  readonly service: SimulatedService
  readonly schedule: Schedule
  readonly network: Network
  readonly watching: Watching
  /** What a device is told, instead of the truth. */
  readonly answering: (device: string) => Answering
  readonly sent: (conversationId: string, epoch: bigint, commit: Uint8Array) => void
  /** A device tells that something in the background did not work. */
  readonly failed: (device: string, error: unknown) => void
  /** Between the process and its store: where a fault is planted. */
  readonly disk: (store: MessagingStore) => MessagingStore
  readonly features: ReadonlySet<Feature>
}

export interface SimulatedDevice {
  readonly name: string
  readonly userId: string
  readonly store: MessagingStore
  /** Undefined while no process runs. */
  readonly messenger: Messenger | undefined
  readonly isRunning: boolean
  /** Starts a process. @param endsAt the storage operation that it ends with; never, if it is not said. */
  start(endsAt?: Pick<Fault, "at" | "when">): Promise<void>
  /** Its process ends at no operation any more. */
  calm(): void
  /** Ends the process where it is. */
  stop(): void
}

export function createDevice(stage: Stage, name: string, userId: string, token: () => string, random: Seeded) {
  const { service, schedule, network, watching } = stage
  const store = openMemoryStore()
  const box = testBox()
  const suite = seededSuite(random.fork("suite"), watching)
  const lineRandom = random.fork("line")
  const ownRandom = random.fork("random")
  let messenger: Messenger | undefined
  let process: { readonly store: FaultyStore; isStopped: boolean } | undefined

  const device: SimulatedDevice = {
    name,
    userId,
    store,
    get messenger() {
      return device.isRunning ? messenger : undefined
    },
    get isRunning() {
      return process !== undefined && !process.isStopped && !process.store.isDead
    },
    async start(endsAt) {
      device.stop()
      const fault = endsAt === undefined ? undefined : { ...endsAt, ends: true }
      const started = { store: faultyStore(stage.disk(store), fault), isStopped: false }
      process = started
      const isDead = () => started.isStopped || started.store.isDead
      const transport = lineTo(service.transport, {
        device: name,
        isDead,
        network,
        schedule,
        random: lineRandom,
        answering: stage.answering(name),
        sent(request) {
          const { payload } = request
          if (payload.case === "application") watching.left(payload.value)
          if (payload.case === "commit") stage.sent(request.conversationId, request.expectedEpoch, payload.value.commit)
        },
      })
      messenger = undefined
      const opened = await createMessengerWith(
        {
          messaging: { baseUrl: "https://messaging.example", issuerRootKeys: [service.rootKey] },
          session: {
            appId: app.id,
            tenantId: undefined,
            userId,
            accessToken: async () => token(),
            renewToken: async () => token(),
          },
          transport,
          store: endable(started.store, isDead),
          secretBox: box,
          clock: schedule,
          random: ownRandom,
          platform: "simulated",
        },
        {
          suite,
          verify: nodeVerify,
          openEngine: async (options) => watchedEngine(name, watching, options),
          keyPackageTarget: 3,
        },
      )
      opened.subscribe((event) => {
        if (event.is === "failed") stage.failed(name, event.error)
      })
      if (process === started) messenger = opened
    },
    calm: () => process?.store.calm(),
    stop() {
      if (process !== undefined) process.isStopped = true
      messenger = undefined
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
