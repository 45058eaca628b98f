// A messaging backend outside the auth service's program: the handlers with a store in memory, their own guard, a
// service account and a receipt key. It calls the auth service over HTTP for everything else.

import { randomBytes } from "node:crypto"
import { createClient, createRouterTransport, type Interceptor, type Transport } from "@connectrpc/connect"
import { createConnectTransport } from "@connectrpc/connect-node"
import { issuerIdOf } from "@signet/canonical/hash"
import { verifyIssuerKeySet } from "@signet/canonical/issuer-keys"
import { nodeSigner, nodeVerify } from "@signet/canonical/node/ed25519"
import { createConnectGuard } from "@signet/guard/connect"
import { anyApp, createGuard } from "@signet/guard/guard"
import { createLocalKeySet } from "@signet/guard/key-set"
import { nodeTokenCrypto } from "@signet/guard/node/token-crypto"
import { createServiceToken } from "@signet/guard/service-token"
import { maxCount } from "@signet/kernel/messaging/limits"
import type { Devices } from "@signet/kernel/messaging/ports"
import { AuthorityService } from "@signet/proto/authority/v1/authority_service"
import { ArchiveService } from "@signet/proto/messaging/v1/archive_service"
import { BlockService } from "@signet/proto/messaging/v1/block_service"
import { ConversationService } from "@signet/proto/messaging/v1/conversation_service"
import { DeviceService } from "@signet/proto/messaging/v1/device_service"
import { KeyPackageService } from "@signet/proto/messaging/v1/key_package_service"
import { PushService } from "@signet/proto/messaging/v1/push_service"
import { WelcomeService } from "@signet/proto/messaging/v1/welcome_service"
import { type AuthService, createAuthService } from "../../../server/edge/worker/auth-service.ts"
import { withCallerToken } from "../../../server/edge/worker/caller-token.ts"
import { createReceiptSigner, createTicketSigner } from "../../../server/keys/authority.ts"
import { createMessagingBackend } from "../../../server/rpc/admin/create-backend.ts"
import { archiveService } from "../../../server/rpc/messaging/archive/archive-service.ts"
import { blockService } from "../../../server/rpc/messaging/block/block-service.ts"
import { conversationService } from "../../../server/rpc/messaging/conversation/conversation-service.ts"
import type { MessagingDeps } from "../../../server/rpc/messaging/deps.ts"
import { deviceService } from "../../../server/rpc/messaging/device/device-service.ts"
import { keyPackageService } from "../../../server/rpc/messaging/key-package/key-package-service.ts"
import { pushService } from "../../../server/rpc/messaging/push/push-service.ts"
import { welcomeService } from "../../../server/rpc/messaging/welcome/welcome-service.ts"
import { deviceProof } from "../../../server/serving/interceptors/device-proof.ts"
import { errors } from "../../../server/serving/interceptors/errors.ts"
import { createReceiptKeyStore } from "../../../server/store/postgres/keys/receipt-keys.ts"
import { modelArchives } from "../../simulation/service/archives.ts"
import { modelBlocks } from "../../simulation/service/blocks.ts"
import { modelConversations } from "../../simulation/service/conversations.ts"
import { modelDevices, modelProofNonces } from "../../simulation/service/devices.ts"
import { modelKeyPackages } from "../../simulation/service/key-packages.ts"
import { modelWelcomes } from "../../simulation/service/welcomes.ts"
import type { MessagingServer } from "./test-server.ts"

const services = [DeviceService, KeyPackageService, ConversationService, WelcomeService] as const

export interface BackendElsewhere {
  readonly transport: Transport
  readonly deps: MessagingDeps
  readonly auth: AuthService
  /** The headers of the backend's own calls. */
  ownHeaders(): Promise<{ headers: Record<string, string> }>
  /** While true, the auth service is unreachable. */
  isCutOff: boolean
  /** Faults of its calls. */
  readonly faults: unknown[]
}

export async function startBackendElsewhere(server: MessagingServer): Promise<BackendElsewhere> {
  const { clock, issuer, authAudience } = server.deps
  const name = { appId: server.app.id, name: "backend", messagingAudience: authAudience, replaces: false }
  const { clientId, clientSecret } = await createMessagingBackend(server.deps, name)
  const receipts = nodeSigner(new Uint8Array(randomBytes(32)))
  // Another set in the same second would be a fork.
  server.advance(1_000)
  const added = { publicKey: receipts.publicKey, name: "backend", createdAtMs: clock.nowMs() }
  await createReceiptKeyStore(server.store.db).add(added)
  await server.messaging.issuerKeys.tick()

  const state = { isCutOff: false }
  const fetcher: typeof fetch = (input, init) =>
    state.isCutOff ? Promise.reject(new TypeError("fetch failed")) : fetch(input, init)
  const scope = "auth.messaging.backend"
  const asking = { url: `${server.url}/auth/token`, audience: authAudience, scope, fetch: fetcher, clock }
  const token = createServiceToken({ ...asking, clientId, clientSecret })
  const ownHeaders = async () => ({ headers: { authorization: `Bearer ${await token()}` } })
  const direct = createClient(AuthorityService, createConnectTransport({ baseUrl: server.url, httpVersion: "1.1" }))
  const { issuerKeySet } = await direct.getIssuerKeySet({}, await ownHeaders())
  const issuerKeys = verifyIssuerKeySet(issuerKeySet, {
    roots: [server.issuerRootKey],
    issuerId: issuerIdOf(issuer),
    atSeconds: BigInt(Math.floor(clock.nowMs() / 1_000)),
  })
  const auth = createAuthService({ url: server.url, token, fetch: fetcher, issuerKeySet: () => issuerKeySet })

  const ring = { signer: () => receipts, keySet: () => ({ rootKey: server.issuerRootKey, issuerKeySet }) }
  const devices = changingSessions(auth)
  const welcomes = modelWelcomes()
  const blocks = modelBlocks()
  const deps: MessagingDeps = {
    store: {
      devices,
      keyPackages: modelKeyPackages(devices, blocks),
      blocks,
      archives: modelArchives(),
      conversations: modelConversations(welcomes),
      welcomes,
      proofNonces: modelProofNonces(),
      get attachments(): never {
        throw new Error("not kept")
      },
    },
    accounts: auth.accounts,
    authority: auth.authority,
    signReceipt: createReceiptSigner(ring, issuer),
    signTicket: createTicketSigner(ring, issuer),
    issuerKeys: () => issuerKeys,
    verify: nodeVerify,
    wakeups: { publish: () => undefined, subscribe: () => ({ update: () => undefined, close: () => undefined }) },
    blobs: {
      put: async () => undefined,
      get: async () => undefined,
      size: async () => undefined,
      delete: async () => undefined,
      presign: async () => undefined,
    },
    clock,
    random: server.deps.random,
    secrets: server.secrets,
    limiter: null,
    limits: server.deps.store.limits,
    pushes: null,
    leavesPerConversation: maxCount.leaves.default,
    issuer,
  }
  const faults: unknown[] = []
  const keySet = createLocalKeySet(server.keys, nodeTokenCrypto)
  const guard = createConnectGuard({
    services,
    guard: createGuard({ issuer, audience: authAudience, appId: anyApp, keySet, crypto: nodeTokenCrypto, clock }),
  })
  const { proofNonces } = deps.store
  const proven = deviceProof({ devices, proofNonces, clock, verify: nodeVerify, requirements: guard.requirements })
  const transport = createRouterTransport(
    (router) => {
      router.service(DeviceService, deviceService(deps))
      router.service(KeyPackageService, keyPackageService(deps))
      router.service(BlockService, blockService(deps))
      router.service(ArchiveService, archiveService(deps))
      router.service(PushService, pushService(deps))
      router.service(ConversationService, conversationService(deps))
      router.service(WelcomeService, welcomeService(deps))
    },
    { router: { interceptors: [errors((fault) => faults.push(fault)), asCaller, guard.interceptor, proven] } },
  )
  return Object.assign(state, { transport, deps, auth, ownHeaders, faults })
}

/** Sets the caller's token for the whole call, as a backend's front does. */
const asCaller: Interceptor = (next) => (req) =>
  withCallerToken(req.header.get("authorization")?.replace("Bearer ", "") ?? "", () => next(req))

/** Devices whose changes also change sessions at the auth service. */
function changingSessions({ effects }: AuthService): Devices {
  const devices = modelDevices(() => undefined)
  return {
    ...devices,
    async change(of) {
      const written = await devices.change(of)
      const { bind, revoked, nowMs, list } = of
      const isDue = written === "done" && (bind !== null || revoked.length > 0)
      if (isDue) await effects.changeSessions({ list: list.bytes, bind, revoked, nowMs })
      return written
    },
    async bindSession(sessionId, deviceId, audit) {
      await devices.bindSession(sessionId, deviceId, audit)
      const device = await devices.find(deviceId)
      const { newest } = device ? await devices.ofUser(device.userId, device) : {}
      if (newest === undefined) throw new Error("a device without a list")
      const bind = { sessionId, deviceId }
      await effects.changeSessions({ list: newest.bytes, bind, revoked: [], nowMs: audit.occurredAtMs })
    },
  }
}
