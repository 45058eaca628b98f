// The messaging services on a store, called in-process through the program's interceptors. Only the guard differs: it
// trusts unsigned tokens. For tests of state or time that no call over the wire shows.

import { randomBytes } from "node:crypto"
import { createRouterTransport, type Transport } from "@connectrpc/connect"
import { nodeVerify } from "@signet/canonical/node/ed25519"
import { requirementOf } from "@signet/guard/requirement"
import { maxCount } from "@signet/kernel/messaging/limits"
import { ArchiveService } from "@signet/proto/messaging/v1/archive_service"
import { BlockService } from "@signet/proto/messaging/v1/block_service"
import { ConversationService } from "@signet/proto/messaging/v1/conversation_service"
import { DeviceService } from "@signet/proto/messaging/v1/device_service"
import { KeyPackageService } from "@signet/proto/messaging/v1/key_package_service"
import { PushService } from "@signet/proto/messaging/v1/push_service"
import { WelcomeService } from "@signet/proto/messaging/v1/welcome_service"
import { newDevice, type TestDevice } from "../../../../test/support/messaging/device.ts"
import type { SignedIn } from "../../../../test/support/messaging/world.ts"
import { openTestStore, storyStore, type TestStore } from "../../../../test/support/postgres.ts"
import { createAuthority, createReceiptSigner, createTicketSigner } from "../../../keys/authority.ts"
import { createSecrets } from "../../../keys/secrets.ts"
import { deviceProof } from "../../../serving/interceptors/device-proof.ts"
import { errors } from "../../../serving/interceptors/errors.ts"
import { validate } from "../../../serving/interceptors/validate.ts"
import { createFindSpans } from "../../../store/postgres/messaging/members.ts"
import { createStreamOwners } from "../../../store/postgres/messaging/stream-owners.ts"
import { newSession, type Person, putApp, putPerson } from "../../../store/postgres/testing/people.ts"
import { createWakeups } from "../../../wakeups/wakeups.ts"
import { accountsOfStore } from "../accounts-of-store.ts"
import { archiveService } from "../archive/archive-service.ts"
import { blockService } from "../block/block-service.ts"
import { conversationService } from "../conversation/conversation-service.ts"
import { createEndings } from "../conversation/subscribe/alive.ts"
import { createRosters } from "../conversation/subscribe/rosters.ts"
import { createTails } from "../conversation/subscribe/tails.ts"
import type { MessagingDeps } from "../deps.ts"
import { deviceService } from "../device/device-service.ts"
import { keyPackageService } from "../key-package/key-package-service.ts"
import { pushService } from "../push/push-service.ts"
import { type After, separateBeats } from "../timers.ts"
import { welcomeService } from "../welcome/welcome-service.ts"
import { issuer, newTestIssuer } from "./test-issuer.ts"
import { trustedTokenOf, trusting } from "./trusted-tokens.ts"

const services = [
  DeviceService,
  KeyPackageService,
  ConversationService,
  WelcomeService,
  BlockService,
  ArchiveService,
  PushService,
] as const

export interface MessagingWorld {
  readonly store: TestStore
  readonly deps: MessagingDeps
  readonly transport: Transport
  /** Internal errors during calls: at the end of a test there are none. */
  readonly faults: unknown[]
  /** Advances the clock, and calls the timers that are due. */
  advance(ms: number): void
  /** The number of pending timers. */
  readonly timers: number
  newUser(): Promise<SignedIn>
  /** Registers a device with this many key packages, for a new user or as another device of a user. */
  newDevice(options?: { of?: SignedIn; packages?: number }): Promise<TestDevice>
  close(): Promise<void>
}

/** @param shared A store that other worlds use too; the clock is this world's own. */
export async function openMessagingWorld(
  shared?: TestStore,
  { leavesPerConversation = maxCount.leaves.default }: Partial<Pick<MessagingDeps, "leavesPerConversation">> = {},
): Promise<MessagingWorld> {
  const store = shared ?? (await openTestStore(storyStore))
  await putApp(store.store)
  let offsetMs = 0
  const clock = { nowMs: () => Date.now() + offsetMs }
  const timers = new Map<object, { atMs: number; call: () => void }>()
  const after: After = (ms, call) => {
    const timer = {}
    timers.set(timer, { atMs: clock.nowMs() + ms, call })
    return () => timers.delete(timer)
  }
  const random = { bytes: (length: number) => new Uint8Array(randomBytes(length)) }
  const keys = await newTestIssuer(random, clock.nowMs())
  const wakeups = createWakeups({ others: null, onError: (error) => faults.push(error) })
  const faults: unknown[] = []
  const parts = new Map<string, Uint8Array>()
  const deps: MessagingDeps = {
    store: store.messaging,
    accounts: accountsOfStore(store.store, clock),
    authority: createAuthority(keys, issuer),
    signReceipt: createReceiptSigner(keys, issuer),
    signTicket: createTicketSigner(keys, issuer),
    issuerKeys: () => keys.issuerKeys,
    verify: nodeVerify,
    wakeups,
    blobs: {
      put: async (key, data) => void parts.set(key, data),
      get: async (key) => parts.get(key),
      size: async () => undefined,
      delete: async (key) => void parts.delete(key),
      presign: async () => undefined,
    },
    clock,
    random,
    secrets: createSecrets({
      peppers: [{ version: 1, key: new Uint8Array(32).fill(1) }],
      sealingKey: new Uint8Array(32).fill(2),
    }),
    limiter: null,
    limits: store.store.limits,
    pushes: null,
    leavesPerConversation,
    shared: {
      beats: separateBeats(after),
      endingOf: createEndings(createStreamOwners(store.db), clock),
      rosters: createRosters(),
      readTail: createTails(store.messaging, createFindSpans(store.db)),
    },
    issuer,
  }
  const transport = createRouterTransport(
    (router) => {
      router.service(DeviceService, deviceService(deps))
      router.service(KeyPackageService, keyPackageService(deps))
      router.service(BlockService, blockService(deps))
      router.service(ArchiveService, archiveService(deps))
      router.service(PushService, pushService(deps))
      router.service(ConversationService, conversationService(deps, after))
      router.service(WelcomeService, welcomeService(deps))
    },
    {
      router: {
        interceptors: [
          errors((fault) => faults.push(fault)),
          trusting,
          validator,
          deviceProof({
            devices: store.messaging.devices,
            proofNonces: store.messaging.proofNonces,
            clock,
            verify: nodeVerify,
            requirements: new Map(services.flatMap(({ methods }) => methods.map((one) => [one, requirementOf(one)]))),
          }),
        ],
      },
    },
  )
  const signIn = async (person: Person): Promise<SignedIn> => {
    const nowMs = clock.nowMs()
    const times = { createdAtMs: nowMs, lastRefreshedAtMs: nowMs, authTimeMs: nowMs }
    const expiry = { idleExpiresAtMs: nowMs + 86_400_000, absoluteExpiresAtMs: nowMs + 10 * 86_400_000 }
    const session = newSession(person, { ...times, ...expiry })
    await store.store.transaction((tx) => tx.sessions.insert(session))
    let token = trustedTokenOf(session, clock.nowMs(), random)
    return {
      userId: person.principal.id,
      get accessToken() {
        return token
      },
      async refresh() {
        const newest = await store.store.transaction((tx) => tx.sessions.find(session.id))
        token = trustedTokenOf(newest ?? session, clock.nowMs(), random)
        return token
      },
      again: () => signIn(person),
    }
  }
  const newUser = async () => signIn(await putPerson(store.store))
  return {
    store,
    deps,
    transport,
    faults,
    advance(ms) {
      offsetMs += ms
      for (const [timer, { atMs, call }] of [...timers]) {
        if (atMs > clock.nowMs()) continue
        timers.delete(timer)
        call()
      }
    },
    get timers() {
      return timers.size
    },
    newUser,
    async newDevice({ of, packages = 10 } = {}) {
      const device = await newDevice(transport, (await of?.again()) ?? (await newUser()))
      await device.register()
      if (packages > 0) await device.upload(packages)
      return device
    },
    async close() {
      await wakeups.close()
      if (shared === undefined) await store.close()
    },
  }
}

const validator = validate(services.flatMap(({ methods }) => methods.map(({ input }) => input)))
