// The messaging service as its handlers are, on a store in memory: it answers at once, and the same for the same calls.

import { createRouterTransport, type Transport } from "@connectrpc/connect"
import { requirementOf } from "@signet/guard/requirement"
import { newId, type PrincipalId, type SessionId } from "@signet/kernel/ids"
import { maxCount } from "@signet/kernel/messaging/limits"
import type { MessagingAccounts } from "@signet/kernel/messaging/ports"
import type { Clock } from "@signet/kernel/ports"
import type { Session } from "@signet/kernel/records"
import { sessionState } from "@signet/kernel/session/session"
import * as samples from "@signet/kernel/testing/records"
import { ArchiveService } from "@signet/proto/messaging/v1/archive_service"
import { AttachmentService } from "@signet/proto/messaging/v1/attachment_service"
import { BlockService } from "@signet/proto/messaging/v1/block_service"
import { ConversationService } from "@signet/proto/messaging/v1/conversation_service"
import { DeviceService } from "@signet/proto/messaging/v1/device_service"
import { KeyPackageService } from "@signet/proto/messaging/v1/key_package_service"
import { PushService } from "@signet/proto/messaging/v1/push_service"
import { WelcomeService } from "@signet/proto/messaging/v1/welcome_service"
import { createAuthority, createReceiptSigner, createTicketSigner } from "../../../server/keys/authority.ts"
import { createSecrets } from "../../../server/keys/secrets.ts"
import { archiveService } from "../../../server/rpc/messaging/archive/archive-service.ts"
import { attachmentService } from "../../../server/rpc/messaging/attachment/attachment-service.ts"
import { blockService } from "../../../server/rpc/messaging/block/block-service.ts"
import { conversationService } from "../../../server/rpc/messaging/conversation/conversation-service.ts"
import type { MessagingDeps } from "../../../server/rpc/messaging/deps.ts"
import { deviceService } from "../../../server/rpc/messaging/device/device-service.ts"
import { keyPackageService } from "../../../server/rpc/messaging/key-package/key-package-service.ts"
import { pushService } from "../../../server/rpc/messaging/push/push-service.ts"
import { issuer } from "../../../server/rpc/messaging/testing/test-issuer.ts"
import { trustedTokenOf, trusting } from "../../../server/rpc/messaging/testing/trusted-tokens.ts"
import { welcomeService } from "../../../server/rpc/messaging/welcome/welcome-service.ts"
import { deviceProof } from "../../../server/serving/interceptors/device-proof.ts"
import { errors } from "../../../server/serving/interceptors/errors.ts"
import { createHub } from "../../../server/wakeups/hub.ts"
import type { Schedule } from "../schedule.ts"
import type { Seeded } from "../seeded.ts"
import { verifyOnce } from "../verdicts.ts"
import { modelArchives } from "./archives.ts"
import { modelAttachments, modelBlobs } from "./attachments.ts"
import { modelBlocks } from "./blocks.ts"
import { type ModelConversations, modelConversations } from "./conversations.ts"
import { modelDevices, modelProofNonces } from "./devices.ts"
import { openIssuer } from "./issuer.ts"
import { type ModelKeyPackages, modelKeyPackages } from "./key-packages.ts"
import { modelWelcomes } from "./welcomes.ts"

const services = [
  DeviceService,
  KeyPackageService,
  ConversationService,
  WelcomeService,
  AttachmentService,
  BlockService,
  ArchiveService,
  PushService,
] as const
export const { app } = samples

/** Longer than any run lasts. */
const sessionMs = 10 * 365 * 86_400_000

export interface SimulatedService {
  readonly transport: Transport
  /** Signs what a service that turns hostile could have signed. */
  readonly deps: MessagingDeps
  readonly conversations: ModelConversations
  readonly keyPackages: ModelKeyPackages
  readonly attachments: ReturnType<typeof modelAttachments>["all"]
  /** Hear each part of a file that comes. */
  readonly hearParts: Set<(bytes: Uint8Array) => void>
  readonly issuer: Pick<Awaited<ReturnType<typeof openIssuer>>, "signAnew">
  readonly rootKey: Uint8Array
  /** Faults of the service itself: there are none. */
  readonly faults: unknown[]
  newUser(): PrincipalId
  /** A session, as the tokens that it gives now. */
  signIn(userId: PrincipalId): () => string
  /**
   * Copies conversations, welcomes and key packages. Devices and sessions are not in the copy.
   *
   * @returns Puts the copy in place of what is stored then. A process of the service begins anew.
   */
  backUp(): () => void
  /** A process of it begins anew: what the one before held in memory is gone. Streams end with the lines that they are on. */
  restart(): void
}

export async function openService(random: Seeded, clock: Schedule): Promise<SimulatedService> {
  const sessions = new Map<SessionId, Session>()
  const bind = (id: SessionId, boundDeviceId: Session["boundDeviceId"]) => {
    const session = sessions.get(id)
    if (session !== undefined) sessions.set(id, { ...session, boundDeviceId })
  }
  const welcomes = modelWelcomes()
  const devices = modelDevices(bind)
  const conversations = modelConversations(welcomes)
  const proofNonces = modelProofNonces()
  const faults: unknown[] = []
  const hub = createHub((fault) => faults.push(fault))
  const keys = await openIssuer(random, clock)
  const blocks = modelBlocks()
  const keyPackages = modelKeyPackages(devices, blocks)
  const attachments = modelAttachments()
  const hearParts = new Set<(bytes: Uint8Array) => void>()
  const deps: MessagingDeps = {
    store: {
      devices,
      keyPackages,
      conversations,
      welcomes,
      proofNonces,
      attachments,
      blocks,
      archives: modelArchives(),
    },
    accounts: accountsOf(sessions, clock),
    authority: createAuthority(keys, issuer),
    signReceipt: createReceiptSigner(keys, issuer),
    signTicket: createTicketSigner(keys, issuer),
    issuerKeys: () => keys.issuerKeys,
    verify: verifyOnce,
    wakeups: {
      publish(hints) {
        for (const hint of hints) hub.deliver(hint)
      },
      subscribe(interest, listener) {
        const subscription = hub.add(interest, listener)
        return { update: (next) => hub.update(subscription, next), close: () => hub.remove(subscription) }
      },
    },
    blobs: modelBlobs(hearParts),
    clock,
    random,
    secrets: createSecrets({
      peppers: [{ version: 1, key: new Uint8Array(32).fill(1) }],
      sealingKey: new Uint8Array(32).fill(2),
    }),
    limiter: null,
    limits: { take: notCounted, giveBack: notCounted, fail: notCounted },
    pushes: null,
    leavesPerConversation: maxCount.leaves.default,
    issuer,
  }
  const requirements = new Map(services.flatMap(({ methods }) => methods.map((one) => [one, requirementOf(one)])))
  const interceptors = [
    errors((fault) => faults.push(fault)),
    trusting,
    deviceProof({ devices, proofNonces, clock, verify: verifyOnce, requirements }),
  ]
  const start = () =>
    createRouterTransport(
      (router) => {
        router.service(DeviceService, deviceService(deps))
        router.service(KeyPackageService, keyPackageService(deps))
        router.service(BlockService, blockService(deps))
        router.service(ArchiveService, archiveService(deps))
        router.service(PushService, pushService(deps))
        router.service(ConversationService, conversationService(deps, clock.after))
        router.service(WelcomeService, welcomeService(deps))
        router.service(AttachmentService, attachmentService(deps))
      },
      { router: { interceptors } },
    )
  let transport = start()
  const restart = () => {
    transport = start()
  }
  return {
    transport: {
      unary: (...call) => transport.unary(...call),
      stream: (...call) => transport.stream(...call),
    },
    deps,
    conversations,
    keyPackages,
    attachments: attachments.all,
    hearParts,
    issuer: keys,
    rootKey: keys.rootKey,
    faults,
    restart,
    backUp() {
      const restores = [conversations, welcomes, keyPackages].map((table) => table.backUp())
      return () => {
        for (const restore of restores) restore()
        restart()
      }
    },
    newUser: () => newId("prn", clock.nowMs(), random.bytes(10)),
    signIn(userId) {
      const id = newId("ses", clock.nowMs(), random.bytes(10))
      const endsAtMs = clock.nowMs() + sessionMs
      const times = { idleExpiresAtMs: endsAtMs, absoluteExpiresAtMs: endsAtMs }
      sessions.set(id, { ...samples.session, ...times, id, principalId: userId })
      return () => trustedTokenOf(sessions.get(id) ?? samples.session, clock.nowMs(), random)
    },
  }
}

const notCounted = () => Promise.reject(new Error("nothing is counted"))

/** Area A, as far as the handlers ask it: who has a session, and that everybody is an active user. */
function accountsOf(sessions: ReadonlyMap<SessionId, Session>, clock: Clock): MessagingAccounts {
  return {
    activeUsers: async (ids) => ids,
    async findSession(id) {
      const session = sessions.get(id)
      return session && { state: sessionState(session, clock.nowMs()), boundDeviceId: session.boundDeviceId }
    },
    audit: async () => undefined,
  }
}
