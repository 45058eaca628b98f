// npm run edge: the Worker on workerd beside the auth service, both on loopback.
import { join } from "node:path"
import { type Edge, startEdge } from "./local.ts"

/** A slower stop is aborted. */
const stopLimitMs = 10_000

function port(name: string, fallback: number): number {
  const value = Number(process.env[name] ?? fallback)
  if (Number.isInteger(value) && value > 0 && value <= 65_535) return value
  console.error(`${name} must be a port.`)
  process.exit(2)
}

const firstSteps = ({ url, authUrl, rootKey }: Edge): string => `
Signet's messaging is ready on ${url} (workerd), and who is who on ${authUrl} (development profile: the provider
takes anybody's word).

Sign in as Ada, in another terminal; the token is for messaging:

  curl -s -X POST ${authUrl}/dev/idp-a/login-request | sed 's/}$/,"audiences":["messaging"]}/' | curl -s ${authUrl}/auth/login/idp-a -H 'content-type: application/json' -d @-

Then call the Worker with the accessToken of the answer:

  curl -s ${url}/security/conversations -H 'authorization: Bearer ACCESS_TOKEN'

Messaging clients pin the root key ${rootKey}

A chat that switches between the Worker and the Node server: ${authUrl}/console/chat

HTTP/2 and native gRPC go through the gateway: npm run edge:gateway. What it is bound to when it is deployed: wrangler.jsonc.
`

const folder = join(process.env.SIGNET_DATA ?? "./.signet", "edge")
const edge = await startEdge({
  persist: folder,
  port: port("PORT", 8787),
  authPort: port("AUTH_PORT", 8080),
  limits: process.env.SIGNET_LIMITS,
  onLine: (line) => console.error(line),
}).catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error)
  process.exit(1)
})
console.log(firstSteps(edge))

let isStopping = false
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    if (isStopping) process.exit(1)
    isStopping = true
    setTimeout(() => process.exit(1), stopLimitMs).unref()
    edge.close().then(
      () => process.exit(0),
      (error: unknown) => {
        console.error(error)
        process.exit(1)
      },
    )
  })
}
