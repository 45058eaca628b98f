import { createCipheriv, createHash, hkdfSync } from "node:crypto"
import { inspect } from "node:util"
import { create } from "@bufbuild/protobuf"
import { concat, utf8 } from "@signet/canonical/bytes"
import { AttachmentManifestSchema } from "@signet/proto/client/v1/attachment"
import { afterEach, describe, expect, test, vi } from "vitest"
import { effort } from "../../../../test/support/effort.ts"
import { plaintextOf, type Sealed, sealedAttachment, somewhere } from "../testing/attachment-bytes.ts"
import type { AttachmentPlace } from "./chunk-cipher.ts"
import { ciphertextIn } from "./ciphertext.ts"
import { openedAttachment } from "./download.ts"
import { headerBytes, padme, tagBytes } from "./layout.ts"
import type { ReadOptions } from "./reading.ts"

const chunk = 4_096
const sealedChunk = chunk + tagBytes

function opened({ manifest, ciphertext }: Sealed, place: AttachmentPlace = somewhere, partSize = 5_000) {
  const size = Number(manifest.ciphertextSize)
  const source = ciphertextIn(size, partSize, async (index) => {
    // The last part includes bytes beyond the expected end: an attacked ciphertext may be longer.
    const isLast = (index + 1) * partSize >= size
    return ciphertext.slice(index * partSize, isLast ? undefined : (index + 1) * partSize)
  })
  return openedAttachment(manifest, place, async () => source)
}

/** The bytes that were read before the stream ended, and the reason if it failed. */
async function readAll(from: ReturnType<typeof opened>, options: ReadOptions = {}) {
  const out: Uint8Array[] = []
  try {
    for await (const piece of from.stream(options)) out.push(piece.slice())
    return { bytes: concat(...out), reason: undefined }
  } catch (error) {
    return { bytes: concat(...out), reason: error instanceof Error && "reason" in error ? error.reason : error }
  }
}

const sizes = [0, 1, 2, 15, 16, chunk - 1, chunk, chunk + 1, 2 * chunk - 1, 2 * chunk, 2 * chunk + 1, 5 * chunk, 70_000]

test.each(sizes)("%d bytes decrypt to the same bytes, with any part size", async (size) => {
  const plaintext = plaintextOf(size)
  const sealed = await sealedAttachment(plaintext)
  for (const partSize of [1_000, 4_096, 5_000, 1_048_576]) {
    expect(await readAll(opened(sealed, somewhere, partSize))).toEqual({ bytes: plaintext, reason: undefined })
  }
})

afterEach(() => void vi.restoreAllMocks())

test("any range across chunk boundaries decrypts to the same bytes", async () => {
  let seed = 7
  const random = (below: number) => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0
    return (seed >>> 8) % below
  }
  for (let run = 0; run < effort(40, 1_000, 20_000); run++) {
    const size = Math.max(0, random(4) * chunk + random(5) - 2)
    const plaintext = plaintextOf(size)
    const attachment = opened(await sealedAttachment(plaintext), somewhere, 1 + random(9_000))
    const from = random(size + 1)
    const to = from + random(size - from + 1)
    expect(await attachment.read(from, to), `${size}: ${from} to ${to}`).toEqual(plaintext.slice(from, to))
    expect((await readAll(attachment, { from, to })).bytes).toEqual(plaintext.slice(from, to))
  }
})

describe("no altered byte is returned to the reader", () => {
  const plaintext = plaintextOf(5 * chunk)
  const at = (index: number) => headerBytes + index * sealedChunk
  const cut = (bytes: Uint8Array, index: number) => bytes.slice(at(index), at(index + 1))

  /** The number is how many bytes before the alteration are authentic, and may be given to the reader. */
  const attacks: [string, (bytes: Uint8Array<ArrayBuffer>) => Uint8Array, number][] = [
    ["a flipped bit in the first chunk", (bytes) => flip(bytes, at(0)), 0],
    ["a flipped bit in a tag", (bytes) => flip(bytes, at(2) - 1), 0],
    ["a flipped bit in the last chunk", (bytes) => flip(bytes, at(4) + 9), 3 * chunk],
    [
      "a chunk in the position of another",
      (bytes) => concat(bytes.slice(0, at(1)), cut(bytes, 2), bytes.slice(at(2))),
      0,
    ],
    [
      "two swapped chunks",
      (bytes) => concat(bytes.slice(0, at(1)), cut(bytes, 2), cut(bytes, 1), bytes.slice(at(3))),
      0,
    ],
    ["a repeated chunk", (bytes) => concat(bytes.slice(0, at(3)), cut(bytes, 2), bytes.slice(at(4))), 2 * chunk],
    ["a missing chunk", (bytes) => concat(bytes.slice(0, at(3)), bytes.slice(at(4))), 2 * chunk],
    ["a missing last byte", (bytes) => bytes.slice(0, -1), 3 * chunk],
    ["a missing last chunk", (bytes) => bytes.slice(0, at(4)), 3 * chunk],
    ["an additional byte", (bytes) => concat(bytes, Uint8Array.of(0)), 3 * chunk],
    ["an additional chunk", (bytes) => concat(bytes, cut(bytes, 4)), 3 * chunk],
    ["another magic", (bytes) => flip(bytes, 0), 0],
    ["another algorithm", (bytes) => flip(bytes, 7), 0],
    ["another chunk size", (bytes) => flip(bytes, 10), 0],
    ["another salt", (bytes) => flip(bytes, 12), 0],
    ["another nonce prefix", (bytes) => flip(bytes, headerBytes - 1), 0],
  ]
  test.each(attacks)("%s", async (_, attack, good) => {
    const sealed = await sealedAttachment(plaintext)
    const attacked = opened({ ...sealed, ciphertext: new Uint8Array(attack(sealed.ciphertext)) })
    const { bytes, reason } = await readAll(attacked)
    expect(reason).toBe("ATTACHMENT_TAMPERED")
    // The reader holds back the last authentic chunk until the next one is verified.
    expect(bytes).toEqual(plaintext.slice(0, bytes.length))
    expect(bytes.length).toBeLessThanOrEqual(good)
  })

  test.each<[string, Partial<AttachmentPlace>]>([
    ["conversation", { conversation: new Uint8Array(16).fill(33) }],
    ["sender", { senderCredentialHash: new Uint8Array(32).fill(33) }],
    ["app", { app: new Uint8Array(16).fill(33) }],
    ["tenant", { tenant: new Uint8Array(16).fill(33) }],
    ["place, outside any tenant", { tenant: undefined }],
  ])("in another %s it does not open, even with its key", async (_, change) => {
    const sealed = await sealedAttachment(plaintext)
    const { bytes, reason } = await readAll(opened(sealed, { ...somewhere, ...change }))
    expect([bytes.length, reason]).toEqual([0, "ATTACHMENT_TAMPERED"])
  })

  test("a last chunk is rejected in the middle, and a middle chunk at the end", async () => {
    const short = await sealedAttachment(plaintextOf(chunk))
    const long = await sealedAttachment(plaintextOf(2 * chunk))
    // Both have one key, and their first chunks the same plaintext.
    const swapped = concat(long.ciphertext.slice(0, at(1)))
    expect((await readAll(opened({ ...short, ciphertext: new Uint8Array(swapped) }))).reason).toBe(
      "ATTACHMENT_TAMPERED",
    )
    const back = concat(short.ciphertext, long.ciphertext.slice(at(1)))
    expect((await readAll(opened({ ...long, ciphertext: new Uint8Array(back) }))).reason).toBe("ATTACHMENT_TAMPERED")
  })

  test("other bytes that the sender encrypted later under the same key are rejected", async () => {
    const first = await sealedAttachment(plaintext, { prefixByte: 1 })
    const later = await sealedAttachment(
      plaintext.map((byte) => byte ^ 1),
      { prefixByte: 2 },
    )
    const { bytes, reason } = await readAll(opened({ ...first, ciphertext: later.ciphertext }))
    expect(reason).toBe("ATTACHMENT_TAMPERED")
    expect(bytes.length).toBeLessThan(plaintext.length)
  })

  test("padding that is not zero is rejected", async () => {
    const size = chunk - 5
    const full = await sealedAttachment(plaintextOf(padme(size)))
    const manifest = create(AttachmentManifestSchema, { ...full.manifest, plaintextSize: BigInt(size) })
    expect(padme(size)).toBeGreaterThan(size)
    expect(await readAll(opened({ ...full, manifest }))).toEqual({
      bytes: new Uint8Array(),
      reason: "ATTACHMENT_TAMPERED",
    })
  })

  test.each([
    ["the first byte of the padding", 0],
    ["the first byte of the next chunk", chunk - 1],
    ["the last byte of a middle chunk", 2 * chunk - 2],
    ["the last byte of the padding", 16_383],
  ])("a sender hides no data in the padding: %s", async (_, after) => {
    // One byte in the last chunk of the file, and three chunks of zeros.
    const size = 2 ** 19 + 1
    expect(padme(size)).toBe(size + 16_383)
    const whole = new Uint8Array(padme(size))
    const at = Math.min(size + after, whole.length - 1)
    whole[at] = 1
    const full = await sealedAttachment(whole)
    const manifest = create(AttachmentManifestSchema, { ...full.manifest, plaintextSize: BigInt(size) })
    expect((await readAll(opened({ ...full, manifest }, somewhere, 2 ** 20))).reason).toBe("ATTACHMENT_TAMPERED")
    whole[at] = 0
    const honest = await sealedAttachment(whole)
    const shown = create(AttachmentManifestSchema, { ...honest.manifest, plaintextSize: BigInt(size) })
    expect((await readAll(opened({ ...honest, manifest: shown }, somewhere, 2 ** 20))).reason).toBeUndefined()
  })

  function flip(bytes: Uint8Array, index: number): Uint8Array {
    const copy = bytes.slice()
    copy[index] = (copy[index] ?? 0) ^ 1
    return copy
  }
})

test("the ciphertext equals an independent implementation of the documented format", async () => {
  const plaintext = plaintextOf(chunk + 10)
  const { manifest, ciphertext } = await sealedAttachment(plaintext)
  const { tenant = new Uint8Array(), app, conversation, senderCredentialHash } = somewhere
  const info = concat(utf8("attachment/v1"), tenant, app, conversation, manifest.attachmentId, senderCredentialHash)
  const key = Buffer.from(hkdfSync("sha256", manifest.key, manifest.salt, info, 32))
  const prefix = new Uint8Array(7).fill(7)
  const header = concat(utf8("MSGATT1"), Uint8Array.of(1, 0, 0, 16, 0), manifest.salt, prefix)
  const aad = createHash("sha256").update(header).digest()
  const padded = new Uint8Array(4_352)
  padded.set(plaintext)
  const pieces = [padded.slice(0, chunk), padded.slice(chunk)].map((piece, i) => {
    const nonce = concat(prefix, Uint8Array.of(0, 0, 0, i, i))
    const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(aad)
    return concat(cipher.update(piece), cipher.final(), cipher.getAuthTag())
  })
  expect(ciphertext).toEqual(concat(header, ...pieces))
})

describe("a range", () => {
  test.each<[number, number | undefined]>([
    [-1, 2],
    [0.5, 2],
    [0, 1.5],
    [2, 1],
    [0, 11],
    [11, undefined],
  ])("from %d to %s is rejected for ten bytes", async (from, to) => {
    const attachment = opened(await sealedAttachment(plaintextOf(10)))
    expect(() => attachment.stream({ from, ...(to !== undefined && { to }) })).toThrow(RangeError)
    if (to !== undefined) await expect(attachment.read(from, to)).rejects.toThrow(RangeError)
  })

  test("of zero bytes fetches nothing, and an aborted one is not read", async () => {
    const { manifest } = await sealedAttachment(plaintextOf(10))
    const attachment = openedAttachment(manifest, somewhere, () => Promise.reject(new Error("asked")))
    expect(await attachment.read(3, 3)).toEqual(new Uint8Array())
    await expect(attachment.read(3, 4)).rejects.toThrow("asked")
    const off = opened(await sealedAttachment(plaintextOf(10))).read(0, 1, {
      signal: AbortSignal.abort(new Error("off")),
    })
    await expect(off).rejects.toThrow("off")
  })
})

test("an attachment with contradicting sizes does not open", async () => {
  const { manifest } = await sealedAttachment(plaintextOf(10))
  const other = create(AttachmentManifestSchema, { ...manifest, ciphertextSize: manifest.ciphertextSize + 1n })
  const open = () => openedAttachment(other, somewhere, () => Promise.reject(new Error("asked")))
  expect(open).toThrow(expect.objectContaining({ reason: "ATTACHMENT_TAMPERED" }))
})

test("onProgress reports the delivered and total bytes, for the whole file and for a range", async () => {
  const size = 5 * chunk + 3
  const attachment = opened(await sealedAttachment(plaintextOf(size)))
  for (const { from, to } of [
    { from: 0, to: size },
    { from: chunk - 1, to: 3 * chunk + 1 },
  ]) {
    const told: number[] = []
    const onProgress = (done: number, total: number) => {
      expect(total).toBe(to - from)
      told.push(done)
    }
    let given = 0
    for await (const piece of attachment.stream({ from, to, onProgress })) {
      given += piece.length
      expect(told.at(-1)).toBe(given)
    }
    expect(told.at(-1)).toBe(to - from)
    expect(told.length).toBeGreaterThan(2)
  }
})

test("copies of the file key and of the padded plaintext are wiped", async () => {
  const [importKey, encrypt] = [vi.spyOn(crypto.subtle, "importKey"), vi.spyOn(crypto.subtle, "encrypt")]
  await sealedAttachment(plaintextOf(2 * chunk))
  const keys = importKey.mock.calls.map(([, key]) => key)
  const padded = encrypt.mock.calls.map(([, , plaintext]) => plaintext)
  expect(keys).toEqual([new Uint8Array(32)])
  expect(padded).toEqual([new Uint8Array(chunk), new Uint8Array(chunk)])
})

test("the objects that an app holds expose no key", async () => {
  const sealed = await sealedAttachment(plaintextOf(10))
  const attachment = opened(sealed)
  const shown = `${JSON.stringify(attachment)} ${inspect(attachment, { depth: 9, showHidden: true })}`
  expect(shown).not.toMatch(/9, 9, 9|090909|CQkJ/)
  expect(Object.keys(attachment).sort()).toEqual(["fileName", "mediaType", "read", "size", "stream"])
})

test("a slow reader keeps at most one part and a few chunks in memory", async () => {
  const size = 40 * chunk
  const sealed = await sealedAttachment(plaintextOf(size))
  const partSize = 10_000
  let fetched = 0
  const source = ciphertextIn(sealed.ciphertext.length, partSize, async (index) => {
    const part = sealed.ciphertext.slice(index * partSize, (index + 1) * partSize)
    fetched += part.length
    return part
  })
  let taken = 0
  let most = 0
  for await (const piece of openedAttachment(sealed.manifest, somewhere, async () => source).stream()) {
    taken += piece.length
    most = Math.max(most, fetched - taken)
  }
  expect(taken).toBe(size)
  // The chunk held back, the chunks read with it, and the rest of a part.
  expect(most).toBeLessThanOrEqual(3 * sealedChunk + partSize + headerBytes + 40 * tagBytes)
})
