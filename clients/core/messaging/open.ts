import type { Verify } from "@signet/canonical/ed25519"
import { rememberVerdicts } from "@signet/canonical/verdict-cache"
import type { StoreHeader } from "@signet/proto/client/v1/records"
import { StorageClass } from "@signet/proto/credential/v1/device_request"
import type { SecretBox, SecretScope } from "../secret-box.ts"
import { checkServiceUrl } from "../service-url.ts"
import { markedEntry, openBlocks } from "./blocking.ts"
import { makeCalls } from "./calls.ts"
import { deviceIn } from "./checks/credential.ts"
import type { Context } from "./context.ts"
import { hex } from "./crypto/bytes.ts"
import type { KeyReferences, Suite } from "./crypto/suite.ts"
import { becomeDevice } from "./device/binding.ts"
import { openDevice } from "./device/device.ts"
import { openIssuer } from "./device/issuer.ts"
import { giveWay } from "./device/start-anew.ts"
import { isMessagingError } from "./errors.ts"
import { createEvents, type Events, type MessengerEvent, type TimelineEntry } from "./events.ts"
import type { MessengerOptions } from "./messenger.ts"
import { type Engine, openEngine } from "./mls.ts"
import { rethrowAs } from "./rethrow.ts"
import { type Owner, ownerOf } from "./session.ts"
import { bindRecords } from "./state/bind-records.ts"
import { openConversations } from "./state/conversations.ts"
import { sealedRows } from "./store/sealed-rows.ts"
import { deviceSpace, type MessagingStore, type Space } from "./store/store.ts"
import { checkIssuer, openHeader } from "./store/store-header.ts"

/** The primitives that a platform provides. */
export interface Primitives {
  readonly suite: Suite
  readonly verify: Verify
  /** The signing keys of a scope, where they are not the suite's. */
  readonly keysOf?: (scope: SecretScope) => KeyReferences
  /** For tests that open many messengers: skips the engine's self-test. */
  readonly openEngine?: typeof openEngine
  /** Default: 50. */
  readonly keyPackageTarget?: number
}

export interface Opened {
  readonly context: Context
  readonly events: Events
  /** The scope of the keys in the secret box that seal all stored data. */
  readonly scope: SecretScope
}

/**
 * Opens the store for this user, and registers the device if it is new.
 *
 * @throws SignetError CONFIGURATION_INVALID for a URL to which no token may be sent.
 */
export async function openContext(options: MessengerOptions, primitives: Primitives): Promise<Opened> {
  const opened = await openParts(options, primitives)
  const { context } = opened
  const { device } = context
  await bindRecords(context)
  if (device.marks.givesWay) await giveWay(context)
  else if (device.id === undefined) await becomeDevice(context)
  followTabs(context)
  return opened
}

/** Opens what the store has, and calls no service. Only the header of a new store and the key of its box are written. */
export async function openParts(options: MessengerOptions, primitives: Primitives): Promise<Opened> {
  checkServiceUrl(options.messaging.baseUrl)
  const { store, secretBox, clock, random, session } = options
  const owner = ownerOf(session)
  const header = await openHeader(options, owner)
  const scope = scopeOf(owner, header)
  await secretBox.createKey(scope)
  const rows = sealedRows(secretBox, scope)
  const { issuer } = header
  const device = await openDevice({
    store,
    rows,
    suite: { ...primitives.suite, ...primitives.keysOf?.(scope) },
    issuer,
    platform: options.platform,
    storageClass: storageClassOf(secretBox, store),
    renewToken: () => session.renewToken(),
  })
  if (device.id !== undefined) checkIssuer(header, device.identity().credential)
  const verify = rememberVerdicts(primitives.verify)
  const calls = makeCalls({ transport: options.transport, session, device: () => device.caller(), clock, random })
  const issuerKeys = openIssuer(
    {
      issuer,
      roots: options.messaging.issuerRootKeys,
      nowMs: () => clock.nowMs(),
      verify,
      fetch: async () => (await calls.devices.getIssuerKeys({})).issuerKeySet,
      store: (signed) => device.storeIssuerKeySet(signed),
    },
    device.issuerKeySet,
  )
  const engineOptions = {
    suite: primitives.suite,
    signerOf: (reference: Uint8Array) => device.signerOf(reference),
    nowSeconds: () => Math.floor(clock.nowMs() / 1_000),
    deviceOf: deviceIn,
  }
  const makeEngine = primitives.openEngine ?? openEngine
  const engine: Engine = await rethrowAs("ENGINE_UNSAFE", () => makeEngine(engineOptions))
  const events = createEvents()
  // Called after `blocks` is open: nothing is read before.
  const emit = (event: MessengerEvent) =>
    events.emit(event.is === "entry" ? { ...event, entry: markedEntry(blocks, event.entry) } : event)
  const blocks = await openBlocks({ store, rows, emit })
  const { keyPackageTarget = 50 } = primitives
  const shared = {
    suite: primitives.suite,
    clock,
    random,
    engine,
    verify,
    store,
    rows,
    calls,
    owner,
    device,
    issuer: issuerKeys,
    session,
    blocks,
    keyPackageTarget,
    refusesChangedKeys: options.whenKeysChange === "refuse",
    emit,
  }
  const context: Context = { ...shared, ...openConversations(shared, () => context), ...hearing(events) }
  return { context, events, scope }
}

/** Reports the writes of other tabs, until the store is closed. */
function followTabs(context: Context): void {
  const { store, device, blocks } = context
  const follow = async (space: Space) => {
    if (space === deviceSpace) await blocks.load()
    if (space === deviceSpace) return device.reload()
    // Any script of the page's origin can send an id.
    if (await context.has(space)) await context.conversation(space).reportWritten()
  }
  store.watch?.((space) => {
    follow(space).catch((error: unknown) => {
      if (!isMessagingError(error, "CLOSED")) context.emit({ is: "failed", conversationId: undefined, error })
    })
  })
}

export function hearing(events: Events): Pick<Context, "hear" | "recordEntries"> {
  return {
    async hear(fits, work) {
      let heard: Parameters<typeof fits>[0] | undefined
      const stop = events.subscribe((event) => {
        if (heard === undefined && fits(event)) heard = event
      })
      try {
        await work()
      } finally {
        stop()
      }
      return heard
    },
    recordEntries(conversationId) {
      const entries: TimelineEntry[] = []
      const end = events.subscribe((event) => {
        if (event.is === "entry" && event.conversationId === conversationId) entries.push(event.entry)
      })
      return { entries, end }
    },
  }
}

function scopeOf({ appId, tenantId, userId }: Owner, { storeId }: StoreHeader): SecretScope {
  const tenant = tenantId === undefined ? {} : { tenant: tenantId }
  return { ...tenant, app: appId, user: userId, device: hex(storeId) }
}

function storageClassOf(box: SecretBox, store: MessagingStore): StorageClass {
  const { hardware, backend, persistent } = box.describe()
  if (store.durability === "memory" || !persistent) return StorageClass.MEMORY
  if (hardware) return StorageClass.HARDWARE
  return backend === "passphrase" ? StorageClass.PASSPHRASE : StorageClass.PLATFORM
}
