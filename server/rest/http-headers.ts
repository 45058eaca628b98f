import { Refused } from "@signet/kernel/errors"

/** Whether a body is JSON as it stands: `application/json`, in UTF-8 if it says so, and not compressed. */
export function isJson(contentType: string | null, contentEncoding: string | null): boolean {
  const isPlain = contentEncoding === null || contentEncoding.toLowerCase() === "identity"
  return isPlain && /^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i.test(contentType ?? "")
}

/**
 * A caller's deadline in milliseconds, by the header that Connect's JSON calls have too.
 *
 * @throws Refused MALFORMED_REQUEST
 * @see https://connectrpc.com/docs/protocol#unary-request
 */
export function parseTimeout(header: string | null): number | undefined {
  if (header === null) return undefined
  if (!/^\d{1,10}$/.test(header)) {
    throw new Refused("MALFORMED_REQUEST", { metadata: { header: "Connect-Timeout-Ms" } })
  }
  return Number(header)
}
