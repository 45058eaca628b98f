// A client of the native module as a core that is called by bytes. Keys, group states and tokens stay on the native side.
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf"
import {
  ClientFailure_Kind,
  ClientFailureSchema,
  IdentityOptionsSchema,
} from "@signet/proto/client/v1/identity_service"
import { type ClientEvent, ClientEventSchema } from "@signet/proto/client/v1/messenger_service"
import { MessagingError } from "../core/messaging/errors.ts"
import { CoreError, type RemoteCore } from "../core/messaging/remote/core.ts"

/** Kind of cpp/engine.h. */
const kind = { opened: 0, reply: 1, failure: 2, event: 3, ended: 4 } as const

/** The object of the native module: cpp/host_objects.h. */
export interface NativeCore {
  /** @throws Error for an invalid argument. */
  open(
    account: string,
    identity: ArrayBuffer,
    listener: (kind: number, id: number, bytes: ArrayBuffer) => void,
  ): NativeHandle
}

export interface NativeHandle {
  /** @returns A status of signet.h. @throws Error for a method that is not in the list, or an invalid argument. */
  call(id: number, method: string, request: ArrayBuffer): number
  close(): void
}

export interface NativeClient extends RemoteCore {
  /** Ends running calls, wipes the native memory, and resolves when the client's thread has ended. */
  close(): Promise<void>
}

export interface NativeClientOptions {
  readonly account: string
  readonly identity: MessageInitShape<typeof IdentityOptionsSchema>
}

interface Call {
  resolve(response: Uint8Array): void
  reject(error: unknown): void
}

const hostFailure = (reason: string, message: string) =>
  new CoreError(create(ClientFailureSchema, { kind: ClientFailure_Kind.HOST, reason, message }))

const closed = () => new MessagingError("CLOSED", "the client was closed")

/** The error of a status of signet_call(). */
function statusError(status: number): Error {
  switch (status) {
    case -1:
      return hostFailure("HOST_REFUSED", "a request may have 64 MiB")
    case -3:
      return closed()
    case -6:
      return hostFailure("STOPPED", "the core stopped: close this client, and open another one")
    default:
      return hostFailure("HOST_REFUSED", `libsignet refused the call with status ${status}`)
  }
}

/** A buffer of exactly these bytes. */
function bufferOf(bytes: Uint8Array): ArrayBuffer {
  const { buffer, byteOffset, byteLength } = bytes
  if (buffer instanceof ArrayBuffer && byteOffset === 0 && byteLength === buffer.byteLength) return buffer
  const copy = new Uint8Array(byteLength)
  copy.set(bytes)
  return copy.buffer
}

/**
 * Opens a client on the native side.
 *
 * @throws CoreError if the native side does not open it: its failure has the reason.
 */
export async function openNativeClient(
  native: NativeCore,
  { account, identity }: NativeClientOptions,
): Promise<NativeClient> {
  const calls = new Map<number, Call>()
  const listeners = new Set<(event: ClientEvent) => void>()
  let lastCall = 0
  let failure: Error | undefined
  let onOpened = () => {}
  let onRefused: (error: Error) => void = () => {}
  let onEnded = () => {}
  const opened = new Promise<void>((resolve, reject) => {
    onOpened = resolve
    onRefused = reject
  })
  const ended = new Promise<void>((resolve) => {
    onEnded = resolve
  })

  function fail(error: Error): void {
    failure ??= error
    onRefused(failure)
    for (const { reject } of calls.values()) reject(failure)
    calls.clear()
  }

  function settle(id: number, use: (call: Call) => void): void {
    const call = calls.get(id)
    calls.delete(id)
    if (call !== undefined) use(call)
  }

  function receive(what: number, id: number, buffer: ArrayBuffer): void {
    const bytes = new Uint8Array(buffer)
    if (what === kind.opened) onOpened()
    else if (what === kind.reply) settle(id, ({ resolve }) => resolve(bytes))
    else if (what === kind.event) {
      const event = fromBinary(ClientEventSchema, bytes)
      for (const listener of [...listeners]) listener(event)
    } else if (what === kind.failure) {
      const error = new CoreError(fromBinary(ClientFailureSchema, bytes))
      if (id === 0) fail(error)
      else settle(id, ({ reject }) => reject(error))
    } else if (what === kind.ended) {
      fail(closed())
      onEnded()
    }
  }

  const options = toBinary(IdentityOptionsSchema, create(IdentityOptionsSchema, identity))
  const handle = native.open(account, bufferOf(options), receive)
  await opened
  return {
    call: (method, request) =>
      new Promise((resolve, reject) => {
        if (failure !== undefined) return reject(failure)
        lastCall += 1
        const id = lastCall
        calls.set(id, { resolve, reject })
        const status = handle.call(id, method, bufferOf(request))
        if (status !== 0) settle(id, (call) => call.reject(statusError(status)))
      }),
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async close() {
      fail(closed())
      handle.close()
      await ended
    },
  }
}
