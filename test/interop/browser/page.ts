// The page of the browser test: signs in and refreshes with connect-web, in both protocols that a browser speaks.

import { fromJsonString } from "@bufbuild/protobuf"
import { Code, ConnectError, createClient, type Interceptor } from "@connectrpc/connect"
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web"
import { AuthService, ExternalLoginRequestSchema } from "@signet/proto/auth/v1/auth_service"
import { SessionService } from "@signet/proto/auth/v1/session_service"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"

export interface Visit {
  protocol: "connect" | "connect-binary" | "grpc-web"
  baseUrl: string
  /** An ExternalLoginRequest as JSON. */
  login: string
}

export interface Seen {
  principal: string
  sessions: number
  anonymous: string
  cookieVisible: boolean
  refreshTokenInBody: boolean
  refreshed: boolean
  loggedOut: string
  afterLogout: string
}

const reasonOf = async (call: Promise<unknown>): Promise<string> => {
  try {
    await call
    return "no error"
  } catch (error) {
    const refused = ConnectError.from(error)
    return `${Code[refused.code]} ${refused.findDetails(ErrorInfoSchema)[0]?.reason}`
  }
}

async function visit({ protocol, baseUrl, login }: Visit): Promise<Seen> {
  let accessToken = ""
  const authorize: Interceptor = (next) => (req) => {
    req.header.set("x-signet-client", "web")
    if (accessToken) req.header.set("authorization", `Bearer ${accessToken}`)
    return next(req)
  }
  const options = {
    baseUrl,
    interceptors: [authorize],
    fetch: ((input, init) => fetch(input, { ...init, credentials: "include" })) satisfies typeof fetch,
  }
  const transport =
    protocol === "grpc-web"
      ? createGrpcWebTransport(options)
      : createConnectTransport({ ...options, useBinaryFormat: protocol === "connect-binary", useHttpGet: true })
  const auth = createClient(AuthService, transport)
  const sessions = createClient(SessionService, transport)

  const anonymous = await reasonOf(auth.me({}))
  const request = fromJsonString(ExternalLoginRequestSchema, login)
  const signedIn = await auth.externalLogin(request)
  accessToken = signedIn.accessToken
  const listed = await sessions.listSessions({})
  const refreshed = await auth.refresh({ appId: request.appId })
  accessToken = refreshed.accessToken
  const me = await auth.me({})
  const loggedOut = await reasonOf(auth.logout({ appId: request.appId }))
  return {
    principal: me.principal?.id ?? "",
    sessions: listed.sessions.length,
    anonymous,
    cookieVisible: document.cookie.includes("sgrt"),
    refreshTokenInBody: signedIn.refreshToken !== "" || refreshed.refreshToken !== "",
    refreshed: refreshed.accessToken !== signedIn.accessToken,
    loggedOut,
    afterLogout: await reasonOf(auth.me({})),
  }
}

Object.assign(globalThis, { visit })
