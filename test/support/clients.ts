// Every way of calling the server from Node as one list: each story must hold for all.
import { type Client, Code, ConnectError, createClient, type Transport } from "@connectrpc/connect"
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node"
import { AccountService } from "@signet/proto/auth/v1/account_service"
import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { AuditService } from "@signet/proto/auth/v1/audit_service"
import { AuthService } from "@signet/proto/auth/v1/auth_service"
import { DelegationService } from "@signet/proto/auth/v1/delegation_service"
import { PatService } from "@signet/proto/auth/v1/pat_service"
import { ServiceAccountService } from "@signet/proto/auth/v1/service_account_service"
import { SessionService } from "@signet/proto/auth/v1/session_service"
import { TokenService } from "@signet/proto/auth/v1/token_service"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { createRestTransport } from "./rest-transport.ts"

export const protocols: Record<string, (baseUrl: string) => Transport> = {
  "Connect JSON over HTTP/1.1": (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "1.1" }),
  "Connect binary over HTTP/2": (baseUrl) =>
    createConnectTransport({ baseUrl, httpVersion: "2", useBinaryFormat: true }),
  "Connect with GET": (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "1.1", useHttpGet: true }),
  gRPC: (baseUrl) => createGrpcTransport({ baseUrl }),
  "gRPC-Web": (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1" }),
  REST: createRestTransport,
}

export interface Clients {
  auth: Client<typeof AuthService>
  sessions: Client<typeof SessionService>
  tokens: Client<typeof TokenService>
  delegations: Client<typeof DelegationService>
  pats: Client<typeof PatService>
  services: Client<typeof ServiceAccountService>
  admin: Client<typeof AppAuthService>
  account: Client<typeof AccountService>
  audit: Client<typeof AuditService>
}

export function clientsOver(transport: Transport): Clients {
  return {
    auth: createClient(AuthService, transport),
    sessions: createClient(SessionService, transport),
    tokens: createClient(TokenService, transport),
    delegations: createClient(DelegationService, transport),
    pats: createClient(PatService, transport),
    services: createClient(ServiceAccountService, transport),
    admin: createClient(AppAuthService, transport),
    account: createClient(AccountService, transport),
    audit: createClient(AuditService, transport),
  }
}

/** The headers of an authenticated call. */
export const bearer = (token: string): { headers: Record<string, string> } => ({
  headers: { authorization: `Bearer ${token}` },
})

/** Returns the refusal of a call as "code REASON". Fails if the call succeeds. */
export async function refusal(call: Promise<unknown>): Promise<string> {
  try {
    await call
  } catch (error) {
    const refused = ConnectError.from(error)
    return `${Code[refused.code]} ${refused.findDetails(ErrorInfoSchema)[0]?.reason}`
  }
  throw new Error("the call was not refused")
}
