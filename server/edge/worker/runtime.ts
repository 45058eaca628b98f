// The dependencies of this isolate: created by its first call, of the Worker or of an object, and shared by all calls.
// They hold nothing that belongs to one call, such as sockets, timers or pending answers.

import { env, waitUntil } from "cloudflare:workers"
import { randomBytes } from "node:crypto"
import { nodeVerify } from "@signet/canonical/node/ed25519"
import { createKeyValueCache } from "@signet/guard/kv-cache"
import { createRefusalCache } from "@signet/kernel/limits/refusal-cache"
import type { PushPolicy } from "@signet/kernel/messaging/push"
import type { Clock, Random } from "@signet/kernel/ports"
import { createReceiptSigner, createTicketSigner } from "../../keys/authority.ts"
import { createSecrets } from "../../keys/secrets.ts"
import type { MessagingDeps } from "../../rpc/messaging/deps.ts"
import { realAfter } from "../../rpc/messaging/timers.ts"
import { createCounts } from "../../store/durable/counter/counts.ts"
import { durablePushes } from "../../store/durable/pushes.ts"
import { createDurableStore } from "../../store/durable/store.ts"
import { type AuthService, createAuthService } from "./auth-service.ts"
import { createR2Blobs } from "./blobs.ts"
import { createIssuerKeys, type EdgeIssuerKeys } from "./issuer-keys.ts"
import { createEdgePushes, type EdgePushes } from "./pushes.ts"
import { report } from "./report.ts"
import { createServiceClient, type ServiceClient, unboundFetch } from "./service-client.ts"
import { parseSettings, type Settings } from "./settings.ts"
import { createDeviceStreams, type DeviceStreams } from "./streams/device-streams.ts"
import { createWakeups } from "./streams/wakeups.ts"

export interface Runtime {
  readonly settings: Settings
  readonly client: ServiceClient
  readonly auth: AuthService
  readonly issuerKeys: EdgeIssuerKeys
  readonly deps: MessagingDeps
  readonly streams: DeviceStreams
  /** Null if push hints are disabled. */
  readonly pushes: EdgePushes | null
}

const clock: Clock = { nowMs: () => Date.now() }
const random: Random = { bytes: (length) => new Uint8Array(randomBytes(length)) }

let opened: Runtime | undefined

/** @throws SettingsError for an incomplete deployment, which answers no call. */
export function runtime(): Runtime {
  opened ??= openRuntime()
  return opened
}

function openRuntime(): Runtime {
  const settings = parseSettings(env)
  const { issuer, limits } = settings
  const client = createServiceClient(settings, clock)
  const issuerKeys = createIssuerKeys({
    settings,
    cache: createKeyValueCache(env.KEYS, "signet-issuer-keys"),
    fetch: unboundFetch,
    clock,
    background: waitUntil,
    report,
  })
  const auth = createAuthService({
    url: settings.authUrl,
    token: client.token,
    fetch: unboundFetch,
    issuerKeySet: issuerKeys.bytes,
  })
  const streams = createDeviceStreams({ devices: env.DEVICES, after: realAfter })
  const { push, isDevelopment: isLoopbackAllowed } = settings
  const policy: PushPolicy = { kinds: ["WEB_PUSH"], hosts: push?.hosts ?? [], isLoopbackAllowed }
  const { accounts } = auth
  const pushes = push && createEdgePushes(push, { policy, accounts, clock, random, fetch: unboundFetch })
  const deps: MessagingDeps = {
    store: createDurableStore(env),
    accounts: auth.accounts,
    authority: auth.authority,
    signReceipt: createReceiptSigner(issuerKeys, issuer),
    signTicket: createTicketSigner(issuerKeys, issuer),
    issuerKeys: issuerKeys.issuerKeys,
    verify: nodeVerify,
    wakeups: createWakeups({ env, clock, after: realAfter, onBeat: streams.beat }),
    blobs: createR2Blobs(env.BLOBS),
    clock,
    random,
    secrets: createSecrets(settings.secrets),
    limiter: limits && { limits, refused: createRefusalCache() },
    limits: createCounts(env.COUNTERS),
    pushes: pushes && {
      endpoints: durablePushes(env),
      policy,
      publicKey: pushes.publicKey,
    },
    leavesPerConversation: settings.leavesPerConversation,
    issuer,
  }
  return { settings, client, auth, issuerKeys, deps, streams, pushes }
}
