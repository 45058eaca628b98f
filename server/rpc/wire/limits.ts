import { type DescMethod, getOption } from "@bufbuild/protobuf"
import { wire } from "@signet/proto/api/v1/wire"

const defaultMaxRequestBytes = 65_536

/** The largest request message that a method takes, in bytes. */
export function maxRequestBytes(method: DescMethod): number {
  return getOption(method, wire).maxRequestBytes || defaultMaxRequestBytes
}

/** The content type of a method's answers over REST. */
export function mediaType(method: DescMethod): string {
  return getOption(method, wire).mediaType || "application/json"
}
