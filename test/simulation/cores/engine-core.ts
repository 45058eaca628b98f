// A messenger in an engine: the core of native platforms.
import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import { nodeSigner } from "@signet/canonical/node/ed25519"
import { IdentityOptionsSchema } from "@signet/proto/client/v1/identity_service"
import { type ClientEvent, OpenRequestSchema } from "@signet/proto/client/v1/messenger_service"
import {
  type EffectResult,
  EffectResultSchema,
  HostInfoSchema,
  type HttpRequest,
  Primitive,
} from "@signet/proto/host/v1/host"
import { MessagingError } from "../../../clients/core/messaging/errors.ts"
import type { RemoteCore } from "../../../clients/core/messaging/remote/core.ts"
import { createFileRegistry } from "../../../clients/core/messaging/remote/files.ts"
import { openRemoteMessenger } from "../../../clients/core/messaging/remote/remote-messenger.ts"
import { createBoxes } from "../../../clients/native/node/boxes.ts"
import { nodeEffects } from "../../../clients/native/node/effects.ts"
import { nodePrimitives } from "../../../clients/native/node/primitives.ts"
import type { SigningRoots } from "../../../clients/native/node/signing-roots.ts"
import { memoryStorage } from "../../../clients/native/testing/platform.ts"
import type { HostOptions, Core as OpenCore } from "../../../clients/native/wasm/core.ts"
import type { Performing, Platform, Primitives } from "../../../clients/native/wasm/platform.ts"
import { seeded } from "../seeded.ts"
import { baseUrl, type Core, type Hosting, keyPackages, platform } from "./core.ts"
import { answerHttp, answerStream } from "./wire.ts"

type Start = (options: HostOptions) => Promise<OpenCore>

/** @param start Starts a core in an engine. */
export const engineCore = (start: Start): Core => ({
  isWatched: false,
  open: (hosting) => openRemoteMessenger(remoteCore(hosting, start), options(hosting)),
})

const options = ({ rootKey }: Hosting) => ({
  messaging: { baseUrl, issuerRootKeys: [rootKey] },
  files: createFileRegistry(),
})

const open = "MessengerService/Open"

/** The engine starts with the first call. */
function remoteCore(hosting: Hosting, startCore: Start): RemoteCore {
  const listeners = new Set<(event: ClientEvent) => void>()
  let opened: OpenCore | undefined
  async function start(): Promise<OpenCore> {
    const random = { source: seeded("the start of an engine") }
    const core = await startCore({
      ...{ info: infoOf(hosting), identity: create(IdentityOptionsSchema) },
      platform: { ...hostOf(hosting), primitives: primitivesOf(hosting, random) },
      onEvent: (event) => {
        for (const listener of [...listeners]) listener(event)
      },
    })
    random.source = hosting.random
    const end = () => void core.close()
    if (hosting.lane.ended.aborted) end()
    else hosting.lane.ended.addEventListener("abort", end)
    return core
  }
  return {
    async call(method, request) {
      opened ??= await start()
      return opened.call(method, method === open ? withKeyPackages(request) : request)
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/** Fewer than by default, as everywhere in the simulation. */
const withKeyPackages = (request: Uint8Array): Uint8Array =>
  toBinary(OpenRequestSchema, { ...fromBinary(OpenRequestSchema, request), keyPackages })

function infoOf({ box, store, session }: Hosting) {
  const { backend, version, hardware, deviceBound, persistent } = box.describe()
  return create(HostInfoSchema, {
    ...{ version: 1, platform, session, storePersistent: store.durability === "persistent" },
    ...{ boxBackend: backend, boxVersion: version, boxHardware: hardware, boxDeviceBound: deviceBound },
    boxPersistent: persistent,
    deferred: [Primitive.BOX_SEAL, Primitive.BOX_OPEN],
  })
}

/** A key of a device is its seed, as in the suite of Node. */
const noRoots: SigningRoots = {
  load: async () => undefined,
  seedOf: (_, reference) => reference,
  drop: () => undefined,
  remove: async () => undefined,
}

function primitivesOf({ schedule }: Hosting, random: { readonly source: Hosting["random"] }): Primitives {
  return {
    ...nodePrimitives({ roots: noRoots }),
    [Primitive.RANDOM]: (length) => random.source.bytes(Number(length)),
    [Primitive.NOW]: schedule.nowMs,
    [Primitive.MONOTONIC]: () => schedule.nowMs() * 1_000,
    [Primitive.ED25519_GENERATE]() {
      const seed = random.source.bytes(32)
      return Buffer.concat([seed, nodeSigner(seed).publicKey])
    },
  }
}

function hostOf(hosting: Hosting): Pick<Platform, "perform" | "after"> {
  const { lane, schedule, transport, store, box, history, device } = hosting
  const effects = nodeEffects({
    ...{ store, storage: memoryStorage(), boxes: createBoxes(box, noRoots) },
    lock: { run: () => Promise.reject(new MessagingError("CLOSED", "no lock is held")) },
  })
  function stream(request: HttpRequest, { signal, push }: Performing): Promise<EffectResult["result"]> {
    const ends = AbortSignal.any([signal, lane.ended])
    return lane.later(() => answerStream(transport, request, ends, (piece) => lane.turn(() => push(piece))))
  }
  return {
    perform(effect, performing) {
      if (effect.case === "http" && effect.value.isStream) return stream(effect.value, performing)
      if (effect.case === "http") return lane.later(() => answerHttp(transport, effect.value))
      if (effect.case === "accessToken") return lane.soon(async () => tokenResult(hosting))
      return lane.soon(() => effects.perform(effect, performing))
    },
    after(ms, run) {
      history.add(device, `wakes at ${schedule.nowMs() + ms}`)
      return schedule.after(ms, () => lane.turn(run))
    },
  }
}

const tokenResult = ({ token }: Hosting): EffectResult["result"] =>
  create(EffectResultSchema, { result: { case: "accessToken", value: { token: token() } } }).result
