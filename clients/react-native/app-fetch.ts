// Calls of the app's own services. The native side attaches the access token, which JavaScript never has.
import type { Client } from "@connectrpc/connect"
import type { IdentityService } from "@signet/proto/client/v1/identity_service"
import { decodeUtf8, encodeUtf8 } from "./text-encoding.ts"

export interface AppRequest {
  /** Audience of the token. Default: the auth service's own, for calls of the auth service. */
  readonly audience?: string
  /** Default: GET. */
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
  /** Without `authorization` and `cookie`. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

export interface AppResponse {
  readonly status: number
  /** True for a status of 200 to 299. */
  readonly ok: boolean
  /** By lower-case name. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: Uint8Array
  /** @throws URIError for a body that is not UTF-8. */
  text(): string
  /** @throws SyntaxError for a body that is not JSON. */
  json(): unknown
}

/**
 * @param url At one of the `serviceOrigins`.
 * @throws SignetError UNREACHABLE, NOT_SIGNED_IN; RangeError for a refused argument
 */
export type AppFetch = (url: string, request?: AppRequest) => Promise<AppResponse>

export const fetchOver =
  (calls: Pick<Client<typeof IdentityService>, "fetch">): AppFetch =>
  async (url, { audience = "", method = "GET", headers = {}, body = "" } = {}) => {
    const answer = await calls.fetch({
      ...{ audience, method, url },
      headers: Object.entries(headers).map(([name, value]) => ({ name, value })),
      body: typeof body === "string" ? encodeUtf8(body) : body,
    })
    const { status } = answer
    return {
      status,
      ok: status >= 200 && status < 300,
      headers: new Map(answer.headers.map(({ name, value }) => [name.toLowerCase(), value])),
      body: answer.body,
      text: () => decodeUtf8(answer.body),
      json: () => JSON.parse(decodeUtf8(answer.body)),
    }
  }
