// The contract's services with trivial handlers: the tests are about how calls arrive.
import type { ConnectRouter, Interceptor } from "@connectrpc/connect"
import { type Reason, Refused } from "@signet/kernel/errors"
import { AuthService } from "@signet/proto/auth/v1/auth_service"
import { Session_Status } from "@signet/proto/auth/v1/records"
import { SessionService } from "@signet/proto/auth/v1/session_service"
import { TokenService } from "@signet/proto/auth/v1/token_service"
import { healthState } from "../../rpc/health/health.ts"
import { deadline } from "../../serving/interceptors/deadline.ts"
import { errors } from "../../serving/interceptors/errors.ts"

export const services = [AuthService, SessionService, TokenService]

/** What a bearer token of these tests makes the gate or the handlers do. */
const isReason = (text: string): text is Reason => /^[A-Z_]+$/.test(text)

export interface UnderTestOptions {
  readonly limitMs?: number
  /** Outermost. */
  readonly more?: readonly Interceptor[]
  /** Innermost. */
  readonly checks?: readonly Interceptor[]
}

export function underTest(options: UnderTestOptions) {
  const faults: unknown[] = []
  const reached: string[] = []
  const onFault = (fault: unknown) => void faults.push(fault)
  const called = {
    onFault,
    interceptors: [
      ...(options.more ?? []),
      errors(onFault),
      deadline(options.limitMs ?? 5_000),
      ...(options.checks ?? []),
    ],
    requestGate: gate,
    routes: (router: ConnectRouter) => serve(router, reached),
  }
  return { faults, reached, onFault, called, health: healthState(services.map(({ typeName }) => typeName)) }
}

/** Refuses with the reason that the header names. */
function gate({ requestHeader }: { requestHeader: Headers }): void {
  const reason = requestHeader.get("x-refuse") ?? ""
  if (isReason(reason)) throw new Refused(reason, { metadata: { scope: "notes.read", max_age: "60" } })
}

function serve(router: ConnectRouter, reached: string[]): void {
  router.service(AuthService, {
    externalLogin({ appId, provider, platform }) {
      reached.push("externalLogin")
      return { tokenType: "Bearer", expiresIn: provider, session: { appId }, created: platform === 3 }
    },
    refresh({ refreshToken, retryKey }) {
      reached.push("refresh")
      return { refreshToken, accessToken: retryKey }
    },
    async logout({ refreshToken }, { signal }) {
      reached.push("logout")
      if (refreshToken === "fault") throw new TypeError("a secret that nobody may see")
      if (refreshToken === "rate") throw new Refused("RATE_LIMITED", { metadata: { retry_after: "7" } })
      if (refreshToken === "null") throw null
      if (refreshToken === "slow") await new Promise((resolve) => signal.addEventListener("abort", resolve))
      return {}
    },
    logoutAll: ({ exceptCurrent }) => ({ revokedSessions: exceptCurrent ? 1 : 2 }),
    me(_, { responseHeader }) {
      responseHeader.append("set-cookie", "a=1; Path=/")
      responseHeader.append("set-cookie", "b=2; Path=/")
      return { identity: { id: "idn_1" } }
    },
  })
  router.service(SessionService, {
    listSessions({ pageSize, pageToken }) {
      reached.push("listSessions")
      return { sessions: [{ id: pageToken, status: Session_Status.ACTIVE }], nextPageToken: String(pageSize) }
    },
    revokeSession: () => ({}),
  })
  router.service(TokenService, {
    getJwks(_, { responseHeader }) {
      responseHeader.set("cache-control", "public, max-age=300, stale-while-revalidate=600")
      return { keys: [{ kty: "EC", kid: "k1" }] }
    },
  })
}
