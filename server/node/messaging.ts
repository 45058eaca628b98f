// Assembles the messaging service: the handlers' dependencies, the issuer's keys, and periodic work.
import { CanonicalError } from "@signet/canonical/errors"
import { nodeVerify } from "@signet/canonical/node/ed25519"
import type { PrincipalId } from "@signet/kernel/ids"
import type { IssuerKeyStore, ReceiptKeyStore } from "@signet/kernel/keys/issuer-keys"
import type { FindSpans } from "@signet/kernel/messaging/listening"
import type { BlobStore, MessagingStore } from "@signet/kernel/messaging/ports"
import type { Place } from "@signet/kernel/messaging/records"
import type { FindStreamOwners } from "@signet/kernel/messaging/stream-owner"
import type { Wakeups } from "@signet/kernel/messaging/wakeups"
import { createAuthority, createReceiptSigner, createTicketSigner } from "../keys/authority.ts"
import { createIssuerKeyRing, type IssuerKeyRing } from "../keys/issuer-keys.ts"
import type { Deps } from "../rpc/deps.ts"
import { accountsOfStore } from "../rpc/messaging/accounts-of-store.ts"
import { sweepArchives } from "../rpc/messaging/archive/archive-service.ts"
import { sweepAttachments } from "../rpc/messaging/attachment/attachment-sweep.ts"
import { createEndings } from "../rpc/messaging/conversation/subscribe/alive.ts"
import { createRosters } from "../rpc/messaging/conversation/subscribe/rosters.ts"
import { createTails } from "../rpc/messaging/conversation/subscribe/tails.ts"
import type { MessagingDeps } from "../rpc/messaging/deps.ts"
import { endDevicesOf } from "../rpc/messaging/device/end-user.ts"
import { carryOutRevocations } from "../rpc/messaging/device/revocation-effects.ts"
import { createPushSender } from "../rpc/messaging/push/send-pushes.ts"
import { createBeatWheel } from "../rpc/messaging/timers.ts"
import { every } from "./every.ts"
import type { LoadKeySet } from "./issuer-key-set.ts"
import type { OpenPushes } from "./pushes.ts"

interface MessagingOptions {
  readonly accounts: Deps
  readonly store: MessagingStore
  readonly issuerKeyStore: IssuerKeyStore
  readonly receiptKeys: ReceiptKeyStore
  readonly loadKeySet: LoadKeySet
  readonly wakeups: Wakeups
  readonly blobs: BlobStore
  /** Null disables push hints. */
  readonly pushes: OpenPushes | null
  readonly leavesPerConversation: number
  /** Users with devices at a place that they have left. */
  readonly endedUsers: (limit: number) => Promise<readonly { userId: PrincipalId; place: Place }[]>
  readonly findStreamOwners: FindStreamOwners
  readonly findSpans: FindSpans
  readonly onFault: (fault: unknown) => void
}

export interface Messaging {
  readonly deps: MessagingDeps
  readonly issuerKeys: IssuerKeyRing
  /** Stops the periodic work. */
  stop(): Promise<void>
}

/** Interval for detecting another process's new key, or a new key set. */
const keyTickMs = 60_000
const revocationsEveryMs = 5_000
const endedUsersEveryMs = 60_000
const attachmentsEveryMs = 60_000
const pushesEveryMs = 250
const endedUsersAtOnce = 100

/**
 * @throws Error if the issuer's keys cannot be unsealed. A rejected key set is reported, and messaging waits for a
 * valid one.
 */
export async function startMessaging(options: MessagingOptions): Promise<Messaging> {
  const { accounts, onFault } = options
  const { clock, random, secrets, limiter, issuer } = accounts
  const issuerKeys = createIssuerKeyRing({
    keys: options.issuerKeyStore,
    receiptKeys: options.receiptKeys,
    secrets,
    clock,
    random,
    issuer,
    loadKeySet: options.loadKeySet,
  })
  await issuerKeys.start().catch((error: unknown) => {
    if (!(error instanceof CanonicalError)) throw error
    onFault(error)
  })
  const deps: MessagingDeps = {
    store: options.store,
    accounts: accountsOfStore(accounts.store, clock),
    authority: createAuthority(issuerKeys, issuer),
    signReceipt: createReceiptSigner(issuerKeys, issuer),
    signTicket: createTicketSigner(issuerKeys, issuer),
    issuerKeys: issuerKeys.issuerKeys,
    verify: nodeVerify,
    wakeups: options.wakeups,
    blobs: options.blobs,
    clock,
    random,
    secrets,
    limiter,
    limits: accounts.store.limits,
    pushes: options.pushes?.pushes ?? null,
    leavesPerConversation: options.leavesPerConversation,
    shared: {
      beats: createBeatWheel(),
      endingOf: createEndings(options.findStreamOwners, clock),
      rosters: createRosters(),
      readTail: createTails(options.store, options.findSpans),
    },
    issuer,
  }
  const stops = [
    every(keyTickMs, issuerKeys.tick, onFault),
    every(revocationsEveryMs, () => carryOutRevocations(deps), onFault),
    every(endedUsersEveryMs, () => endGone(deps, options.endedUsers), onFault),
    every(attachmentsEveryMs, () => sweepAttachments(deps), onFault),
    every(attachmentsEveryMs, () => sweepArchives(deps), onFault),
  ]
  if (options.pushes !== null) {
    const sender = createPushSender(deps, options.pushes, onFault)
    const stop = every(pushesEveryMs, sender.begin, onFault)
    stops.push(() => stop().then(sender.idle))
  }
  return {
    deps,
    issuerKeys,
    async stop() {
      await Promise.all(stops.map((stop) => stop()))
    },
  }
}

async function endGone(deps: MessagingDeps, endedUsers: MessagingOptions["endedUsers"]): Promise<void> {
  for (const { userId, place } of await endedUsers(endedUsersAtOnce)) await endDevicesOf(deps, userId, place)
}
