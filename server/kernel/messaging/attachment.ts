// Sizes and states of attachments and their parts.
import type { AttachmentRecord } from "./records.ts"

type Sizes = Pick<AttachmentRecord, "size" | "partSize">

export const partCount = ({ size, partSize }: Sizes): number => Math.ceil(size / partSize)

/** Size of the part in bytes: partSize, or the rest for the last one. Undefined if the index is out of range. */
export function partBytes({ size, partSize }: Sizes, index: number): number | undefined {
  if (index < 0 || index >= partCount({ size, partSize })) return undefined
  return Math.min(partSize, size - index * partSize)
}

export const partIndexes = (of: Sizes): readonly number[] => Array.from({ length: partCount(of) }, (_, index) => index)

export function missingParts(of: Pick<AttachmentRecord, "size" | "partSize" | "parts">): readonly number[] {
  const there = new Set(of.parts)
  return partIndexes(of).filter((index) => !there.has(index))
}

/** Deleted or expired. Callers no longer see it, even if its bytes are not deleted yet. */
export const isGone = ({ status, expiresAtMs }: Pick<AttachmentRecord, "status" | "expiresAtMs">, nowMs: number) =>
  status === "DELETED" || expiresAtMs <= nowMs

/** True for a retry; false for another attachment under the same idempotency key. */
export const isSameAttachment = (
  one: Pick<AttachmentRecord, "conversationId" | "size" | "sha256">,
  other: Pick<AttachmentRecord, "conversationId" | "size" | "sha256">,
): boolean =>
  one.conversationId === other.conversationId &&
  one.size === other.size &&
  one.sha256.length === other.sha256.length &&
  one.sha256.every((byte, i) => byte === other.sha256[i])

/** Storage key of a part. Only a validated id and a bounded number are used in it. */
export const blobKey = ({ id }: Pick<AttachmentRecord, "id">, index: number): string => `att/${id}/${index}`
