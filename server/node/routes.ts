import { AuthService } from "@signet/proto/auth/v1/auth_service"
import { DelegationService } from "@signet/proto/auth/v1/delegation_service"
import { SessionService } from "@signet/proto/auth/v1/session_service"
import { TokenService } from "@signet/proto/auth/v1/token_service"
import { authService } from "../rpc/auth-service.ts"
import type { Routes } from "../rpc/collect.ts"
import { sessionService } from "../rpc/session-service.ts"
import type { TokenDeps } from "../rpc/token/deps.ts"
import { tokenService } from "../rpc/token-service.ts"

/** The services of this program. */
export const services = [AuthService, SessionService, TokenService, DelegationService] as const

export const serviceRoutes =
  (deps: TokenDeps): Routes =>
  (router) => {
    router.service(AuthService, authService(deps))
    router.service(SessionService, sessionService(deps))
    router.service(TokenService, tokenService(deps))
    router.service(DelegationService, {})
  }
