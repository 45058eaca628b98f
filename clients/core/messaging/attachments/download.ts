import { sha256 } from "@noble/hashes/sha2.js"
import { equalBytes } from "@signet/canonical/bytes"
import type { AttachmentManifest } from "@signet/proto/client/v1/attachment"
import { MessagingError } from "../errors.ts"
import { type AttachmentPlace, type ChunkCipher, chunkCipher } from "./chunk-cipher.ts"
import type { Ciphertext } from "./ciphertext.ts"
import { chunkAt, headerBytes, headerOf, type Layout, prefixIn, sealedAt } from "./layout.ts"
import { layoutIn } from "./manifest.ts"
import { type OpenedAttachment, type ReadOptions, rangeOf, streamOf } from "./reading.ts"

export function openedAttachment(
  manifest: AttachmentManifest,
  place: AttachmentPlace,
  ciphertext: () => Promise<Ciphertext>,
): OpenedAttachment {
  const layout = layoutIn(manifest)
  if (layout === undefined)
    throw new MessagingError("ATTACHMENT_TAMPERED", "the manifest's sizes contradict each other")
  const { fileName, mediaType } = manifest
  const size = layout.plaintextSize
  const stream = (options: ReadOptions = {}) =>
    streamOf(pieces(manifest, place, layout, ciphertext, options), options, size)
  return {
    fileName,
    mediaType,
    size,
    stream,
    async read(from, to, options = {}) {
      const { from: start, to: end } = rangeOf({ from, to }, size)
      const bytes = new Uint8Array(end - start)
      let at = 0
      for await (const piece of pieces(manifest, place, layout, ciphertext, { ...options, from, to })) {
        bytes.set(piece, at)
        at += piece.length
      }
      return bytes
    },
  }
}

async function* pieces(
  manifest: AttachmentManifest,
  place: AttachmentPlace,
  layout: Layout,
  ciphertext: () => Promise<Ciphertext>,
  options: ReadOptions,
): AsyncGenerator<Uint8Array> {
  const { signal } = options
  const { from, to } = rangeOf(options, layout.plaintextSize)
  const isWhole = from === 0 && to === layout.plaintextSize
  if (from === to && !isWhole) return
  const source = await ciphertext()
  const header = await source.read(0, headerBytes, signal)
  const cipher = await cipherOf(manifest, place, layout, header)
  const digest = sha256.create().update(header)
  const first = Math.floor(from / layout.chunkSize)
  const last = Math.max(first, Math.ceil(to / layout.chunkSize) - 1)
  let waiting: Uint8Array | undefined
  for (let index = first; index <= (isWhole ? layout.chunkCount - 1 : last); index++) {
    signal?.throwIfAborted()
    const at = sealedAt(layout, index)
    const sealed = await source.read(at.from, at.to, signal)
    if (isWhole) digest.update(sealed)
    const opened = await cipher.open(index, sealed)
    checkPadding(layout, index, opened)
    if (index > last) continue
    if (waiting !== undefined) yield waiting
    const start = index * layout.chunkSize
    waiting = opened.subarray(Math.max(0, from - start), Math.max(0, to - start))
  }
  // The sender knows the key and could encrypt other bytes later: the hash ensures that all members read the same file.
  if (isWhole && !equalBytes(digest.digest(), manifest.ciphertextSha256)) throw tampered("the content hash differs")
  if (waiting !== undefined && waiting.length > 0) yield waiting
}

async function cipherOf(
  manifest: AttachmentManifest,
  place: AttachmentPlace,
  layout: Layout,
  header: Uint8Array,
): Promise<ChunkCipher> {
  const prefix = prefixIn(header)
  if (!equalBytes(header, headerOf(layout.chunkSize, manifest.salt, prefix))) throw tampered("the header differs")
  return chunkCipher(manifest, place, layout, prefix)
}

function checkPadding(layout: Layout, index: number, opened: Uint8Array): void {
  const { from } = chunkAt(layout, index)
  const padding = opened.subarray(Math.max(0, layout.plaintextSize - from))
  if (padding.some((byte) => byte !== 0)) throw tampered("the padding has bytes other than zero")
}

const tampered = (message: string) => new MessagingError("ATTACHMENT_TAMPERED", message)
