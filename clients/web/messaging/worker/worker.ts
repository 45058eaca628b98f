// The Worker of a messenger: the core in an engine of its own, with a memory that no script of the page can read.
import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import { SignetError } from "@signet/client"
import { type Core, CoreError, openCore } from "@signet/client-native/wasm"
import { ClientFailureSchema, IdentityOptionsSchema } from "@signet/proto/client/v1/identity_service"
import { ClientEventSchema } from "@signet/proto/client/v1/messenger_service"
import { HostInfoSchema } from "@signet/proto/host/v1/host"
import { makeWebSuite } from "../../../core/messaging/crypto/web-suite.ts"
import { clientFailureFrom } from "../../../core/messaging/remote/failure.ts"
import { clock } from "../../environment.ts"
import { checkSecureContext } from "../../secure-context.ts"
import { openIdbStore } from "../idb-store.ts"
import { createWorkerBoxes } from "./boxes.ts"
import { deferredPrimitives } from "./deferred.ts"
import { performEffect } from "./effects.ts"
import { createHttp } from "./http.ts"
import type { PageAnswers, PageRequest, ToPage, ToWorker, WorkerStart } from "./port.ts"
import { createPrimitives } from "./primitives.ts"
import { createStoreEffects } from "./store-effects.ts"

/** The part of DedicatedWorkerGlobalScope that this file uses. */
interface Scope {
  postMessage(message: ToPage, transfer?: Transferable[]): void
  onmessage: ((event: MessageEvent<ToWorker>) => void) | null
}
const scope = globalThis as unknown as Scope
const post = (message: ToPage) => scope.postMessage(message)

let core: Core | undefined
const waiting = new Map<number, { resolve(value: never): void; reject(error: unknown): void }>()
let lastRequest = 0

/** Asks the page. */
function ask<Request extends PageRequest>(request: Request): Promise<PageAnswers[Request["is"]]> {
  return new Promise((resolve, reject) => {
    lastRequest += 1
    waiting.set(lastRequest, { resolve, reject })
    post({ is: "request", id: lastRequest, request })
  })
}

async function start({ appId, tenantId = "", userId, baseUrl, database }: WorkerStart): Promise<void> {
  checkSecureContext()
  checkWebAssembly()
  const [wasm, bytecode, store, suite] = await Promise.all([
    load(new URL("./engine.wasm", import.meta.url)),
    load(new URL("./core.bin", import.meta.url)),
    openIdbStore(database),
    makeWebSuite(),
  ])
  const boxes = createWorkerBoxes()
  const { backend, version, hardware, deviceBound, persistent } = boxes.box.describe()
  const deps = { suite, boxes, store: createStoreEffects(store), http: createHttp(baseUrl), ask }
  core = await openCore({
    module: await WebAssembly.compile(wasm),
    bytecode: new Uint8Array(bytecode),
    platform: {
      primitives: createPrimitives(),
      perform: (effect, how) => performEffect(deps, effect, how),
      after: clock.after,
    },
    info: create(HostInfoSchema, {
      ...{ version: 1, platform: "web", boxBackend: backend, boxVersion: version },
      ...{ boxHardware: hardware, boxDeviceBound: deviceBound, boxPersistent: persistent },
      ...{ storePersistent: store.durability !== "memory", storeShared: true },
      deferred: [...deferredPrimitives],
      session: { appId, tenantId, userId },
    }),
    // The page signs in.
    identity: create(IdentityOptionsSchema),
    onEvent: (event) => post({ is: "event", event: toBinary(ClientEventSchema, event) }),
  })
}

async function load(url: URL): Promise<ArrayBuffer> {
  const response = await fetch(url, { credentials: "same-origin" }).catch((cause: unknown) => {
    throw refusedBy(
      `${url.pathname} did not load: serve it beside the Worker's script, and allow it in connect-src`,
      cause,
    )
  })
  if (!response.ok) throw refusedBy(`${url.pathname} answered ${response.status}: serve it beside the Worker's script`)
  return response.arrayBuffer()
}

/** The smallest module: a magic number and a version. */
const empty = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0)

/** Checked before anything is stored. Each browser words a policy's refusal in its own way. @throws SignetError */
function checkWebAssembly(): void {
  try {
    new WebAssembly.Module(empty)
  } catch (cause) {
    const rule =
      "the browser refuses WebAssembly: script-src of the page and of the Worker's script needs 'wasm-unsafe-eval'"
    throw refusedBy(rule, cause)
  }
}

const refusedBy = (rule: string, cause?: unknown): SignetError =>
  new SignetError("CONFIGURATION_INVALID", `${rule}; core: "direct" runs in the page`, { cause })

async function call(id: number, method: string, request: Uint8Array): Promise<void> {
  try {
    if (core === undefined) throw new Error("the core has not started")
    post({ is: "reply", id, response: await core.call(method, request) })
  } catch (error) {
    if (error instanceof CoreError)
      return post({ is: "replyFailure", id, failure: toBinary(ClientFailureSchema, error.failure) })
    fail(error)
  }
}

function fail(error: unknown): void {
  const failure = error instanceof CoreError ? error.failure : clientFailureFrom(error)
  const typed = failure && { failure: toBinary(ClientFailureSchema, create(ClientFailureSchema, failure)) }
  post({ is: "failed", message: String(Object(error).message ?? error), ...typed })
}

async function end(): Promise<void> {
  await core?.close()
  const memory = core?.memory() ?? new Uint8Array()
  post({ is: "ended", memoryBytes: memory.length, isWiped: memory.every((byte) => byte === 0) })
}

scope.onmessage = ({ data }) => {
  switch (data.is) {
    case "start":
      return void start(data.start).then(() => post({ is: "started" }), fail)
    case "call":
      return void call(data.id, data.method, data.request)
    case "answer":
      waiting.get(data.id)?.resolve(data.value as never)
      return void waiting.delete(data.id)
    case "refusal":
      waiting.get(data.id)?.reject(new CoreError(fromBinary(ClientFailureSchema, data.failure)))
      return void waiting.delete(data.id)
    case "end":
      return void end()
  }
}
