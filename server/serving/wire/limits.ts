import { type DescMethod, getOption } from "@bufbuild/protobuf"
import { type Wire, wire } from "@signet/proto/api/v1/wire"

const defaultMaxRequestBytes = 65_536

/** The largest request message of a method, in bytes. */
export function maxRequestBytes(method: DescMethod): number {
  return wireOf(method).maxRequestBytes || defaultMaxRequestBytes
}

/** The content type of a method's answers over REST. */
export function mediaType(method: DescMethod): string {
  return wireOf(method).mediaType || "application/json"
}

/** True if a method's REST requests must be forms. */
export function isFormMethod(method: DescMethod): boolean {
  return wireOf(method).form
}

/** True if a method's REST answers include empty fields. */
export function namesEmpty(method: DescMethod): boolean {
  return wireOf(method).namesEmpty
}

const known = new WeakMap<DescMethod, Wire>()

/** Reading an option parses it, so the result is cached. */
function wireOf(method: DescMethod): Wire {
  const found = known.get(method) ?? getOption(method, wire)
  known.set(method, found)
  return found
}
