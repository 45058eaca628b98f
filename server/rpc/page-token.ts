// Page tokens (AIP-158): the cursor, and a keyed hash of the cursor and the list's filter. A forged token, or one of
// another list or caller, is refused.
import { Refused } from "@signet/kernel/errors"
import type { Secrets } from "@signet/kernel/keys/ports"
import { bytesOf, encode } from "./base64url.ts"

const macLength = 16

function decode(text: string): Uint8Array | undefined {
  if (!/^[A-Za-z0-9_-]*$/.test(text)) return undefined
  try {
    return bytesOf(atob(text.replaceAll("-", "+").replaceAll("_", "/")))
  } catch {
    return undefined
  }
}

const macOf = (hash: Uint8Array): Uint8Array => hash.subarray(0, macLength)

/** @param filter Everything besides the cursor that determines the list. */
export function buildPageToken(secrets: Secrets, filter: readonly string[], cursor: string): string {
  const text = new TextEncoder().encode(cursor)
  const mac = macOf(secrets.hash("page-token", JSON.stringify([...filter, cursor])))
  return encode(new Uint8Array([...mac, ...text]))
}

/**
 * The cursor in a page token of this list; null for the first page.
 *
 * @throws Refused INVALID_FIELD
 */
export function parsePageToken(secrets: Secrets, filter: readonly string[], token: string): string | null {
  if (token === "") return null
  const bytes = decode(token)
  if (bytes && bytes.length > macLength) {
    const cursor = new TextDecoder().decode(bytes.subarray(macLength))
    const given = bytes.subarray(0, macLength)
    const known = secrets.hashes("page-token", JSON.stringify([...filter, cursor]))
    if (known.some((hash) => secrets.equal(macOf(hash), given))) return cursor
  }
  throw new Refused("INVALID_FIELD", {
    message: "page_token is for another list",
    metadata: { field: "page_token" },
  })
}
