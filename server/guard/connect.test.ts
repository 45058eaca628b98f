import { Code, ConnectError, createClient, createRouterTransport, type HandlerContext } from "@connectrpc/connect"
import type { AuthContext } from "@signet/kernel/authz/context"
import { AuthService } from "@signet/proto/auth/v1/auth_service"
import { SessionService } from "@signet/proto/auth/v1/session_service"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { expect, test } from "vitest"
import { createConnectGuard, kAuth } from "./connect.ts"
import { createGuard } from "./guard.ts"
import { createLocalKeySet } from "./key-set.ts"
import { nodeTokenCrypto } from "./node/token-crypto.ts"
import { createIssuer } from "./testing/issuer.ts"

const issuer = createIssuer()
const guard = createGuard({
  issuer: issuer.issuer,
  audience: issuer.audience,
  keySet: createLocalKeySet(issuer, nodeTokenCrypto),
  crypto: nodeTokenCrypto,
  clock: issuer.clock,
})
const connectGuard = createConnectGuard({ guard, services: [AuthService, SessionService] })

/** A transport in this process that has each handler tell whom it saw. */
function serve() {
  const seen: (AuthContext | undefined)[] = []
  const tell = (_: unknown, context: HandlerContext) => {
    seen.push(context.values.get(kAuth))
    return {}
  }
  const transport = createRouterTransport(
    ({ service }) => {
      service(AuthService, {
        me: tell,
        logout: tell,
        externalLogin: tell,
      })
    },
    { router: { interceptors: [connectGuard.interceptor], requestGate: connectGuard.gate } },
  )
  return { seen, client: createClient(AuthService, transport) }
}

test("a valid token reaches the handler as who is calling", async () => {
  const { seen, client } = serve()
  await client.me({}, { headers: { authorization: `Bearer ${issuer.token()}` } })
  expect(seen[0]?.principal.kind).toBe("USER")
})

test("a call without a token is refused with reason and challenge", async () => {
  const { seen, client } = serve()
  const error = ConnectError.from(await client.me({}).catch((thrown) => thrown))
  expect(error.code).toBe(Code.Unauthenticated)
  expect(error.findDetails(ErrorInfoSchema)[0]?.reason).toBe("NO_CREDENTIAL")
  expect(error.metadata.get("www-authenticate")).toBe('Bearer realm="signet"')
  expect(seen).toEqual([])
})
