// The five-byte prefix of a message, in Connect streams and gRPC: flags, and the length of the message.
import type { IncomingMessage } from "node:http"
import { Refused } from "@signet/kernel/errors"

const envelopeBytes = 5

export function framed(message: Uint8Array, flags = 0): Buffer {
  const frame = Buffer.allocUnsafe(envelopeBytes + message.length)
  frame.writeUInt8(flags)
  frame.writeUInt32BE(message.length, 1)
  frame.set(message, envelopeBytes)
  return frame
}

interface IncomingFrame {
  /** The length of the message in bytes. */
  readonly length: number
  /** The message as it arrives. */
  readonly message: AsyncIterable<Uint8Array>
}

/**
 * Reads the one message of a gRPC request. Its last part is held back until the request has ended: a request that is
 * longer or shorter than its frame is refused before it takes effect.
 *
 * @throws Refused MALFORMED_REQUEST, BODY_TOO_LARGE; reading the message throws the same.
 */
export async function readFrame(request: IncomingMessage, maxBytes: number): Promise<IncomingFrame> {
  const chunks: AsyncIterator<Buffer> = request.iterator({ destroyOnReturn: false })
  let head: Buffer = Buffer.alloc(0)
  while (head.length < envelopeBytes) {
    const next = await chunks.next()
    if (next.done) throw badFrame()
    head = Buffer.concat([head, next.value])
  }
  if (head[0] !== 0) throw badFrame()
  const length = head.readUInt32BE(1)
  if (length > maxBytes) throw new Refused("BODY_TOO_LARGE")
  return { length, message: exactly(length, head.subarray(envelopeBytes), chunks) }
}

async function* exactly(length: number, first: Buffer, chunks: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  let held = first
  let left = length - first.length
  for (;;) {
    if (left < 0) throw badFrame()
    const next = await chunks.next()
    if (next.done) break
    left -= next.value.length
    if (left < 0) throw badFrame()
    yield held
    held = next.value
  }
  if (left !== 0) throw badFrame()
  yield held
}

const badFrame = () => new Refused("MALFORMED_REQUEST", { message: "the body is not one message with a frame header" })

/** A request's body as a stream with a size limit. @throws Refused BODY_TOO_LARGE */
export async function* atMost(maxBytes: number, request: IncomingMessage): AsyncGenerator<Uint8Array> {
  let length = 0
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    length += chunk.length
    if (length > maxBytes) throw new Refused("BODY_TOO_LARGE")
    yield chunk
  }
}

export interface Frame {
  readonly flags: number
  readonly data: Buffer
}

/**
 * The complete frames of an answer.
 *
 * @throws Refused UNAVAILABLE for a frame that is too long or incomplete.
 */
export async function* framesIn(answer: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Frame> {
  let held: Buffer = Buffer.alloc(0)
  for await (const chunk of orCut(answer)) {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk])
    while (held.length >= envelopeBytes) {
      const end = envelopeBytes + held.readUInt32BE(1)
      if (end > maxBytes) throw new Refused("UNAVAILABLE", { cause: new Error("a frame exceeds the size limit") })
      if (held.length < end) break
      yield { flags: held[0] ?? 0, data: held.subarray(envelopeBytes, end) }
      held = held.subarray(end)
    }
  }
  if (held.length > 0) throw new Refused("UNAVAILABLE", { cause: new Error("the last frame is incomplete") })
}

/** The bytes of an answer. @throws Refused UNAVAILABLE for a longer one. */
export async function allOf(answer: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of orCut(answer)) {
    length += chunk.length
    if (length > maxBytes) throw new Refused("UNAVAILABLE", { cause: new Error("a response exceeds the size limit") })
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

async function* orCut(answer: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* answer
  } catch (cause) {
    throw new Refused("UNAVAILABLE", { cause })
  }
}
