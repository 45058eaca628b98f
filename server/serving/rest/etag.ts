import type { RestRequest, RestResponse } from "./http.ts"

/**
 * Adds an entity tag to a public answer, and answers 304 to a caller that has it (RFC 9110 section 13.1.2). The tag is
 * the first 128 bits of the body's SHA-256, so equal answers of all servers have equal tags.
 */
export async function revalidated(request: RestRequest, response: RestResponse): Promise<RestResponse> {
  if (!/\bpublic\b/.test(response.headers.get("cache-control") ?? "")) return response
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(response.body))
  const tag = `"${toHex(new Uint8Array(digest, 0, 16))}"`
  const headers = new Headers(response.headers)
  headers.set("etag", tag)
  const known = (request.header("if-none-match") ?? "").split(",").map((text) => text.trim().replace(/^W\//, ""))
  if (!known.includes(tag) && !known.includes("*")) return { ...response, headers }
  headers.delete("content-type")
  return { status: 304, headers, body: "" }
}

const toHex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")
