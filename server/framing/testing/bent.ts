// Messages of a dishonest client: valid messages with changed parts, re-encoded by ts-mls.
import type { KeyPackage } from "ts-mls/keyPackage.js"
import { encodeMlsMessage, type MLSMessage } from "ts-mls/message.js"
import { decoded } from "../../../clients/core/messaging/testing/bare-seat.ts"
import { type FramingCode, FramingRefused } from "../refusal.ts"

type Wire = MLSMessage["wireformat"]
export type MessageOf<W extends Wire> = Extract<MLSMessage, { wireformat: W }>

function isWire<W extends Wire>(message: MLSMessage, wireformat: W): message is MessageOf<W> {
  return message.wireformat === wireformat
}

/** Decodes with ts-mls. */
export function theirs<W extends Wire>(bytes: Uint8Array, wireformat: W): MessageOf<W> {
  const message = decoded(bytes)
  if (!isWire(message, wireformat)) throw new Error("another wire format")
  return message
}

/** A key package with a changed part; its signatures become invalid. */
export function bentKeyPackage(bytes: Uint8Array, bend: (keyPackage: KeyPackage) => object): Uint8Array {
  const { keyPackage } = theirs(bytes, "mls_key_package")
  return encodeMlsMessage({ version: "mls10", wireformat: "mls_key_package", keyPackage: bent(keyPackage, bend) })
}

export function bent<T extends object>(value: T, bend: (value: T) => object): T {
  return { ...value, ...bend(value) }
}

/** Returns the code of a refusal, or "read". @throws Any other error, which is a defect. */
export function refusal(read: () => unknown): FramingCode | "read" {
  try {
    read()
    return "read"
  } catch (error) {
    if (error instanceof FramingRefused) return error.code
    throw error
  }
}

/** Returns code and field, such as "MLS_MALFORMED init_key: also the leaf's", or "read". */
export function refusalWithPlace(read: () => unknown): string {
  try {
    read()
    return "read"
  } catch (error) {
    if (error instanceof FramingRefused) return `${error.code} ${error.what}`
    throw error
  }
}
