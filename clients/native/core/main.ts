// The client core of native platforms and of browsers' Workers: the identity client and the messenger in one interpreter.
import "./polyfills/index.ts"
import { fromBinary } from "@bufbuild/protobuf"
import { BackupService } from "@signet/proto/client/v1/backup_service"
import { HistoryService } from "@signet/proto/client/v1/history_service"
import { type IdentityOptions, IdentityOptionsSchema, IdentityService } from "@signet/proto/client/v1/identity_service"
import { MessengerService } from "@signet/proto/client/v1/messenger_service"
import { PeekService } from "@signet/proto/client/v1/peek_service"
import { PushEndpointService } from "@signet/proto/client/v1/push_endpoint_service"
import { type HostInfo, HostInfoSchema } from "@signet/proto/host/v1/host"
import { createSignet } from "../../core/create-signet.ts"
import type { MessagingSession } from "../../core/messaging/session.ts"
import { messagingSession } from "../../core/messaging/signed-in.ts"
import { createHostBox } from "./boxes.ts"
import { clock, tick } from "./clock.ts"
import { answer, callOf, methodsOf } from "./dispatch.ts"
import { callLater, complete, push } from "./effects.ts"
import { ArgumentError } from "./failure.ts"
import { primitive, random } from "./host.ts"
import { hostSession } from "./host-session.ts"
import { defer } from "./invoke.ts"
import { backupHandlers } from "./methods/backup.ts"
import { createEngineOnce } from "./methods/engine-once.ts"
import { historyHandlers } from "./methods/history.ts"
import { configFrom, identityHandlers, stateTo } from "./methods/identity.ts"
import { messengerHandlers } from "./methods/messenger.ts"
import { createHolder, emitEvent } from "./methods/messenger-holder.ts"
import { peekHandlers } from "./methods/peek.ts"
import { pushHandlers } from "./methods/push.ts"
import { lock, storage } from "./storage.ts"
import { hostWire } from "./wire.ts"

const version = 1
/** Primitives whose callers can wait. */
const deferrable: ReadonlySet<number> = new Set([
  primitive.AES_GCM_SEAL,
  primitive.AES_GCM_OPEN,
  primitive.X25519_PUBLIC,
  primitive.X25519,
  primitive.ED25519_GENERATE,
  primitive.ED25519_SIGN,
  primitive.ED25519_IMPORT,
  primitive.BOX_SEAL,
  primitive.BOX_OPEN,
  primitive.ARGON2ID,
])

type Methods = ReadonlyMap<string, (request: Uint8Array) => Promise<Uint8Array>>
let methods: Methods | undefined

function checkHost(host: HostInfo): void {
  if (host.version !== version) throw new ArgumentError(`HostInfo.version must be ${version}`)
  const early = host.deferred.find((one) => !deferrable.has(one))
  if (early !== undefined) throw new ArgumentError(`HostInfo.deferred must not have the primitive ${early}`)
}

function assemble(host: HostInfo, identity: IdentityOptions): Methods {
  checkHost(host)
  defer(new Set(host.deferred), callLater)
  const description = {
    backend: host.boxBackend,
    version: host.boxVersion,
    hardware: host.boxHardware,
    deviceBound: host.boxDeviceBound,
    persistent: host.boxPersistent,
  }
  const box = createHostBox(description)
  const { platform, storePersistent: isPersistent, storeShared: isShared, session } = host
  const engineOnce = createEngineOnce()
  const store = { isPersistent, isShared }
  const messagingMethods = (sessionFor: (audience: string | undefined) => Promise<MessagingSession>) => {
    const holder = createHolder({ sessionFor, box, platform, store, engineOnce })
    return [
      ...methodsOf(MessengerService, messengerHandlers(holder)),
      ...methodsOf(BackupService, backupHandlers(holder)),
      ...methodsOf(HistoryService, historyHandlers(holder)),
      ...methodsOf(PushEndpointService, pushHandlers(holder)),
      ...methodsOf(PeekService, peekHandlers({ sessionFor, box: description, store, engineOnce })),
    ]
  }
  // The host signs in: there is no identity client.
  if (session !== undefined) return new Map(messagingMethods(async () => hostSession(session)))
  const { appId } = identity
  const signet = createSignet(configFrom(identity), {
    ...{ clock, random: { bytes: random }, storage, lock, wire: hostWire },
    refreshToken: { in: "box", box },
  })
  signet.session.subscribe((state) => {
    if (state.is !== "starting") emitEvent({ case: "signedIn", value: stateTo(state) })
  })
  const sessionFor = (audience: string | undefined) =>
    messagingSession(signet.session, { appId, ...(audience !== undefined && { audience }) })
  return new Map([...methodsOf(IdentityService, identityHandlers(signet, identity)), ...messagingMethods(sessionFor)])
}

const signet = {
  /** Starts the core, once. Answers as the call 0. */
  start(hostInfo: Uint8Array, identityOptions: Uint8Array): void {
    void answer(0, async () => {
      if (methods !== undefined) throw new ArgumentError("the core has started before")
      methods = assemble(parse(HostInfoSchema, hostInfo), parse(IdentityOptionsSchema, identityOptions))
      return new Uint8Array()
    })
  },
  /** Calls a method of a service, by `Service/Method`. */
  call(id: number, method: string, request: Uint8Array): void {
    void answer(id, async () => {
      if (methods === undefined) throw new ArgumentError("the core has not started")
      return callOf(methods, method, request)
    })
  },
  complete,
  push,
  tick,
}

function parse<Desc extends typeof HostInfoSchema | typeof IdentityOptionsSchema>(schema: Desc, bytes: Uint8Array) {
  try {
    return fromBinary(schema, bytes)
  } catch {
    throw new ArgumentError(`the bytes are no ${schema.typeName}`)
  }
}

Object.assign(globalThis, { signet })
