import type { IncomingHttpHeaders } from "node:http"

/** Node's headers as the web's, without the pseudo headers of HTTP/2. */
export function webHeaders(headers: IncomingHttpHeaders): Headers {
  const out = new Headers()
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || name.startsWith(":")) continue
    for (const each of Array.isArray(value) ? value : [value]) out.append(name, each)
  }
  return out
}
