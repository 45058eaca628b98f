import { create } from "@bufbuild/protobuf"
import { AttachmentManifestSchema } from "@signet/proto/client/v1/attachment"
import { expect, test } from "vitest"
import { plaintextOf, sealedAttachment, somewhere } from "../testing/attachment-bytes.ts"
import { acceptManifest } from "./manifest.ts"

test.each<[string, Record<string, unknown>]>([
  ["of another conversation", { conversationId: new Uint8Array(16).fill(77) }],
  ["of another sender", { senderCredentialHash: new Uint8Array(32).fill(77) }],
  ["of a later version", { version: 2 }],
  ["with a short id", { attachmentId: new Uint8Array(15) }],
  ["with a short key", { key: new Uint8Array(16) }],
  ["with a long salt", { salt: new Uint8Array(17) }],
  ["with a short hash", { ciphertextSha256: new Uint8Array(31) }],
  ["with a plaintext size that contradicts the ciphertext size", { plaintextSize: 4_000_000n }],
  ["with a size beyond every limit", { plaintextSize: 2n ** 63n }],
  ["with chunks that are too small", { chunkSize: 16 }],
  ["with chunks that are too large", { chunkSize: 2_097_152 }],
  ["without a locator", { locator: new Uint8Array() }],
])("a manifest %s is rejected", async (_, change) => {
  const { manifest } = await sealedAttachment(plaintextOf(100))
  const { conversation, senderCredentialHash } = somewhere
  expect(acceptManifest(manifest, { conversation, senderCredentialHash })).toEqual(manifest)
  const changed = create(AttachmentManifestSchema, { ...manifest, ...change })
  expect(acceptManifest(changed, { conversation, senderCredentialHash })).toBeUndefined()
})

test.each(["../x", "a/b", "c:\\d", ".", "..", "a\u202egpj.exe", "a\nb", "x".repeat(256)])(
  "a file name that is a path or displays misleadingly is dropped: %j",
  async (fileName) => {
    const { manifest } = await sealedAttachment(plaintextOf(1))
    const { conversation, senderCredentialHash } = somewhere
    const changed = create(AttachmentManifestSchema, { ...manifest, fileName })
    expect(acceptManifest(changed, { conversation, senderCredentialHash })?.fileName).toBe("")
  },
)

test("a valid name and media type are kept, and an invalid media type is dropped", async () => {
  const { manifest } = await sealedAttachment(plaintextOf(1))
  const { conversation, senderCredentialHash } = somewhere
  const taken = (change: { fileName?: string; mediaType?: string }) =>
    acceptManifest(create(AttachmentManifestSchema, { ...manifest, ...change }), { conversation, senderCredentialHash })
  expect(taken({ fileName: "x".repeat(255), mediaType: "text/plain" })).toMatchObject({
    fileName: "x".repeat(255),
    mediaType: "text/plain",
  })
  for (const mediaType of ["text", "text/html; charset=x", "TEXT/plain", "a/b/c"]) {
    expect(taken({ mediaType })?.mediaType, mediaType).toBe("")
  }
})
