// What an attachment's parts are, and what becomes of one.
import type { AttachmentRecord } from "./records.ts"

type Sizes = Pick<AttachmentRecord, "size" | "partSize">

export const partCount = ({ size, partSize }: Sizes): number => Math.ceil(size / partSize)

/** Bytes of the part: partSize, or for the last one what is left. Undefined when there is no such part. */
export function partBytes({ size, partSize }: Sizes, index: number): number | undefined {
  if (index < 0 || index >= partCount({ size, partSize })) return undefined
  return Math.min(partSize, size - index * partSize)
}

export const partIndexes = (of: Sizes): readonly number[] => Array.from({ length: partCount(of) }, (_, index) => index)

export function missingParts(of: Pick<AttachmentRecord, "size" | "partSize" | "parts">): readonly number[] {
  const there = new Set(of.parts)
  return partIndexes(of).filter((index) => !there.has(index))
}

/** Deleted, or past its time: nobody sees it, whether its bytes are gone already or not. */
export const isGone = ({ status, expiresAtMs }: Pick<AttachmentRecord, "status" | "expiresAtMs">, nowMs: number) =>
  status === "DELETED" || expiresAtMs <= nowMs

/** The same call again, or another one under its key? */
export const isSameAttachment = (
  one: Pick<AttachmentRecord, "conversationId" | "size" | "sha256">,
  other: Pick<AttachmentRecord, "conversationId" | "size" | "sha256">,
): boolean =>
  one.conversationId === other.conversationId &&
  one.size === other.size &&
  one.sha256.length === other.sha256.length &&
  one.sha256.every((byte, i) => byte === other.sha256[i])

/** Where a part is kept. An index that is a number within bounds is all that is ever added to a parsed id. */
export const blobKey = ({ id }: Pick<AttachmentRecord, "id">, index: number): string => `att/${id}/${index}`
