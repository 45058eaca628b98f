import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import { SignetError } from "@signet/client"
import type { MessagingSession, Messenger } from "@signet/client/messaging"
import { ClientFailure_Kind, ClientFailureSchema } from "@signet/proto/client/v1/identity_service"
import { type ClientEvent, ClientEventSchema } from "@signet/proto/client/v1/messenger_service"
import { MessagingError } from "../../core/messaging/errors.ts"
import { CoreError, type RemoteCore } from "../../core/messaging/remote/core.ts"
import { errorOf } from "../../core/messaging/remote/errors.ts"
import { clientFailureFrom } from "../../core/messaging/remote/failure.ts"
import { createFileRegistry, type FileRegistry } from "../../core/messaging/remote/files.ts"
import { openRemoteMessenger } from "../../core/messaging/remote/remote-messenger.ts"
import { findStoreName } from "./defaults.ts"
import type { WebMessengerOptions } from "./options.ts"
import type { PageAnswers, PageRequest, ToPage, ToWorker } from "./worker/port.ts"

/**
 * Opens the messenger of a page in a Worker of its own. Keys, group states and ciphertext stay there; messages, events
 * and access tokens cross.
 *
 * @throws MessagingError, SecretBoxError as `createMessenger`
 */
export async function openInWorker({
  messaging,
  session,
  whenKeysChange,
  core,
  storeName,
}: WebMessengerOptions): Promise<Messenger> {
  // Only a page can ask: the Worker's store reads the answer.
  await navigator.storage?.persist?.().catch(() => false)
  const files = createFileRegistry()
  const worker = startWorker((request) => answer(request, session, files))
  try {
    const { appId, tenantId, userId } = session
    const database = storeName ?? (await findStoreName(session, core))
    await worker.start({ appId, tenantId, userId, baseUrl: messaging.baseUrl, database })
    return await openRemoteMessenger(worker.core, {
      ...{ messaging, files, afterClose: worker.end },
      ...(whenKeysChange && { whenKeysChange }),
    })
  } catch (error) {
    await worker.end()
    throw error
  }
}

function answer(
  request: PageRequest,
  session: MessagingSession,
  files: FileRegistry,
): Promise<PageAnswers[PageRequest["is"]]> {
  switch (request.is) {
    case "token":
      return request.renew ? session.renewToken() : session.accessToken()
    case "fileSize":
      return files.size(request.path)
    case "fileRead":
      return files.read(request.path, request.offset, request.length)
    case "fileWrite":
      return files.write(request.path, request.bytes).then(() => undefined)
  }
}

/** An error of the app's own session or source, whose message may have a secret. */
const defect = { kind: ClientFailure_Kind.INTERNAL, reason: "INTERNAL", message: "the page's part has failed" }

interface CoreWorker {
  readonly core: RemoteCore
  start(start: Extract<ToWorker, { is: "start" }>["start"]): Promise<void>
  /** Wipes the core's memory, and ends the Worker. */
  end(): Promise<void>
}

interface Settled {
  readonly done: Promise<void>
  resolve(): void
  reject(error: unknown): void
}

function settled(): Settled {
  let [resolve, reject]: [() => void, (error: unknown) => void] = [() => {}, () => {}]
  const done = new Promise<void>((...given) => {
    ;[resolve, reject] = given
  })
  return { done, resolve, reject }
}

function failedError({ message, failure }: Extract<ToPage, { is: "failed" }>): Error {
  if (failure !== undefined) return errorOf(fromBinary(ClientFailureSchema, failure))
  return new MessagingError("CLOSED", `the messenger's Worker has failed: ${message}`)
}

/** @throws SignetError CONFIGURATION_INVALID */
function createWorker(): Worker {
  if (typeof Worker === "undefined") throw refusedBy("this context has no Worker")
  if (typeof WebAssembly === "undefined") throw refusedBy("this browser has no WebAssembly")
  try {
    // Bundlers recognize exactly this expression.
    return new Worker(new URL("./worker/worker.js", import.meta.url), { type: "module", name: "signet messenger" })
  } catch (cause) {
    const rule =
      "the page refuses the Worker's script: its URL is of another origin, or require-trusted-types-for rejects it"
    throw refusedBy(rule, cause)
  }
}

const refusedBy = (rule: string, cause?: unknown): SignetError =>
  new SignetError("CONFIGURATION_INVALID", `${rule}; core: "direct" runs in the page`, { cause })

/** The longest wait for a Worker to wipe its memory, in milliseconds. */
const wipeMs = 2_000

function startWorker(onRequest: (request: PageRequest) => Promise<PageAnswers[PageRequest["is"]]>): CoreWorker {
  const worker = createWorker()
  const post = (message: ToWorker) => worker.postMessage(message)
  const started = settled()
  const ended = settled()
  const calls = new Map<number, { resolve(response: Uint8Array): void; reject(error: unknown): void }>()
  const listeners = new Set<(event: ClientEvent) => void>()
  // The Worker may fail before it is asked to start.
  started.done.catch(() => undefined)
  let lastCall = 0
  let failed: Error | undefined

  function fail(error: Error): void {
    failed ??= error
    started.reject(failed)
    ended.resolve()
    for (const { reject } of calls.values()) reject(failed)
    calls.clear()
    worker.terminate()
  }

  async function respond(id: number, request: PageRequest): Promise<void> {
    try {
      post({ is: "answer", id, value: await onRequest(request) })
    } catch (error) {
      post({
        is: "refusal",
        id,
        failure: toBinary(ClientFailureSchema, create(ClientFailureSchema, clientFailureFrom(error) ?? defect)),
      })
    }
  }

  function settle(
    id: number,
    use: (call: { resolve(response: Uint8Array): void; reject(error: unknown): void }) => void,
  ) {
    const call = calls.get(id)
    calls.delete(id)
    if (call !== undefined) use(call)
  }

  worker.onmessage = ({ data }: MessageEvent<ToPage>) => {
    switch (data.is) {
      case "started":
        return started.resolve()
      case "failed":
        return fail(failedError(data))
      case "reply":
        return settle(data.id, ({ resolve }) => resolve(data.response))
      case "replyFailure":
        return settle(data.id, ({ reject }) => reject(new CoreError(fromBinary(ClientFailureSchema, data.failure))))
      case "event":
        for (const listener of [...listeners]) listener(fromBinary(ClientEventSchema, data.event))
        return
      case "request":
        return void respond(data.id, data.request)
      case "ended":
        return ended.resolve()
    }
  }
  worker.onerror = () => {
    fail(refusedBy("the messenger's Worker did not load: serve its files, and allow its script in worker-src"))
  }

  return {
    core: {
      call: (method, request) =>
        new Promise((resolve, reject) => {
          if (failed !== undefined) return reject(failed)
          lastCall += 1
          calls.set(lastCall, { resolve, reject })
          post({ is: "call", id: lastCall, method, request })
        }),
      subscribe(listener) {
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
    },
    async start(start) {
      post({ is: "start", start })
      await started.done
    },
    async end() {
      post({ is: "end" })
      const timer = setTimeout(ended.resolve, wipeMs)
      await ended.done
      clearTimeout(timer)
      fail(new MessagingError("CLOSED", "the messenger was closed"))
    },
  }
}
