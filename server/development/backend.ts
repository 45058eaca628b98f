// POST /dev/messaging-backend: registers a messaging backend that runs beside this server and returns its credentials.
import { isPublicKey } from "@signet/canonical/ed25519"
import { decodeBase64url } from "@signet/guard/strict-json"
import type { FastifyPluginCallback } from "fastify"

/** The credentials of a messaging backend that runs beside a development server. */
export interface AddedBackend {
  readonly clientId: string
  readonly clientSecret: string
  /** The issuer root key that the backend pins. */
  readonly issuerRootKey: Uint8Array
}

/** Answers any caller with the credentials of a backend of the development app. `app.register(..., { add })`. */
export const developmentBackend: FastifyPluginCallback<{ add: (receiptKey: Uint8Array) => Promise<AddedBackend> }> = (
  app,
  { add },
  done,
) => {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser("application/json", { parseAs: "string", bodyLimit: 1_024 }, (_request, body, parsed) =>
    parsed(null, body),
  )
  app.post("/dev/messaging-backend", async (request, reply) => {
    reply.header("cache-control", "no-store")
    const receiptKey = keyIn(String(request.body))
    if (receiptKey === undefined)
      return reply.code(400).send({ message: 'send {"receiptKey": "…"}: 32 bytes, base64url' })
    const { clientId, clientSecret, issuerRootKey } = await add(receiptKey)
    return reply.send({ clientId, clientSecret, issuerRootKey: Buffer.from(issuerRootKey).toString("base64url") })
  })
  done()
}

function keyIn(body: string): Uint8Array | undefined {
  try {
    const json: unknown = JSON.parse(body)
    if (typeof json !== "object" || json === null || !("receiptKey" in json)) return undefined
    const key = typeof json.receiptKey === "string" ? decodeBase64url(json.receiptKey) : undefined
    return key !== undefined && isPublicKey(key) ? key : undefined
  } catch {
    return undefined
  }
}
