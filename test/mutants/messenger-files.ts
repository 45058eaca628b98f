import type { Mutant } from "./mutant.ts"

const client = "clients/core/messaging"
const bytes = `${client}/attachments/attachments.test.ts`
const lists = `${client}/verification/device-lists.test.ts`
const story = "test/story/messenger-verification.test.ts"

/** Hand-written mutants of attachments and verification in the messenger, each with the test that detects it. */
export const messengerFileMutants: readonly Mutant[] = [
  {
    fault: "the last chunk is not marked as the last",
    file: `${client}/attachments/chunk-cipher.ts`,
    from: "index === chunkCount - 1 ? 1 : 0",
    to: "0",
    test: bytes,
    name: "a last chunk is rejected in the middle, and a middle chunk at the end",
  },
  {
    fault: "the header is not authenticated",
    file: `${client}/attachments/chunk-cipher.ts`,
    from: 'return { name: "AES-GCM", iv, additionalData }',
    to: 'return { name: "AES-GCM", iv, additionalData: additionalData.subarray(0, 0) }',
    test: bytes,
    name: "the ciphertext equals an independent implementation of the documented format",
  },
  {
    fault: "an attachment opens in another conversation",
    file: `${client}/attachments/chunk-cipher.ts`,
    from: "    conversation,\n    attachmentId,",
    to: "    attachmentId,",
    test: bytes,
    name: "in another conversation it does not open, even with its key",
    row: "it does not open, even with its key",
  },
  {
    fault: "a sender may put other bytes under a file that was read",
    file: `${client}/attachments/download.ts`,
    from: "if (isWhole && !equalBytes(digest.digest(), manifest.ciphertextSha256))",
    to: "if (isWhole && manifest.version === 9)",
    test: bytes,
    name: "other bytes that the sender encrypted later under the same key are rejected",
  },
  {
    fault: "one key and place seal what the source has become",
    file: `${client}/attachments/source.ts`,
    from: "if (!isTagged(sealed, tags, index)) throw changed()",
    to: "if (tags.length === 0) throw changed()",
    test: `${client}/attachments/source.test.ts`,
    name: "a changed source is not uploaded: one key and nonce never encrypt two plaintexts",
  },
  {
    fault: "another one's file is taken for the sender's",
    file: `${client}/attachments/manifest.ts`,
    from: "equalBytes(manifest.senderCredentialHash, senderCredentialHash)",
    to: "manifest.senderCredentialHash.length === senderCredentialHash.length",
    test: `${client}/attachments/manifest.test.ts`,
    name: "a manifest of another sender is rejected",
    row: '["of another sender", {',
  },
  {
    fault: "a device that had ended comes back",
    file: `${client}/verification/device-lists.ts`,
    from: "if (next === undefined || isReactivated)",
    to: "if (next === undefined)",
    test: lists,
    name: "a list that reactivates a revoked device is refused",
    row: "a list that reactivates a revoked device",
  },
  {
    fault: "lists need not follow each other",
    file: `${client}/verification/device-lists.ts`,
    from: 'if (placeAfter(head, list) === "gap")',
    to: 'if (list.hash.length === 0 && placeAfter(head, list) === "gap")',
    test: lists,
    name: "a next list with another predecessor is refused",
    row: "a next list with another predecessor",
  },
  {
    fault: "keys that came after a comparison are passed over",
    file: `${client}/receiving/draft.ts`,
    from: "draft.warnings.push(...events)",
    to: "void events",
    test: story,
    name: "a verified person's new device is reported before its messages",
  },
  {
    fault: "a ghost is compared along",
    file: `${client}/verification/verification.ts`,
    from: "if (present.some(({ key }) => !compared.has(hex(key))))",
    to: "if (present.length === 0 && compared.size === 0)",
    test: story,
    name: "a device in a conversation that is in no device list is a ghost",
  },
]
