import { type DescMethod, getOption } from "@bufbuild/protobuf"
import { type Wire, wire } from "@signet/proto/api/v1/wire"

const defaultMaxRequestBytes = 65_536

/** The largest request message that a method takes, in bytes. */
export function maxRequestBytes(method: DescMethod): number {
  return wireOf(method).maxRequestBytes || defaultMaxRequestBytes
}

/** The content type of a method's answers over REST. */
export function mediaType(method: DescMethod): string {
  return wireOf(method).mediaType || "application/json"
}

/** Whether a method's requests over REST are forms, and nothing else. */
export function isFormMethod(method: DescMethod): boolean {
  return wireOf(method).form
}

/** Whether a method's answers over REST name the fields that are empty, too. */
export function namesEmpty(method: DescMethod): boolean {
  return wireOf(method).namesEmpty
}

const known = new WeakMap<DescMethod, Wire>()

/** Options are parsed anew at each look, so what they say is kept. */
function wireOf(method: DescMethod): Wire {
  const found = known.get(method) ?? getOption(method, wire)
  known.set(method, found)
  return found
}
