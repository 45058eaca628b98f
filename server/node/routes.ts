import { requirementOf } from "@signet/guard/requirement"
import type { Requirement } from "@signet/kernel/authz/requirement"
import { AccountService } from "@signet/proto/auth/v1/account_service"
import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { AuditService } from "@signet/proto/auth/v1/audit_service"
import { AuthService } from "@signet/proto/auth/v1/auth_service"
import { DelegationService } from "@signet/proto/auth/v1/delegation_service"
import { PatService } from "@signet/proto/auth/v1/pat_service"
import { PermissionService } from "@signet/proto/auth/v1/permission_service"
import { ProviderNotificationService } from "@signet/proto/auth/v1/provider_notification_service"
import { RevocationService } from "@signet/proto/auth/v1/revocation_service"
import { ServiceAccountService } from "@signet/proto/auth/v1/service_account_service"
import { SessionService } from "@signet/proto/auth/v1/session_service"
import { TokenService } from "@signet/proto/auth/v1/token_service"
import { AuthorityService } from "@signet/proto/authority/v1/authority_service"
import { TransferService } from "@signet/proto/transfer/v1/transfer_service"
import { accountService } from "../rpc/account/account-service.ts"
import { appAuthService } from "../rpc/admin/app-auth-service.ts"
import { auditService } from "../rpc/audit/audit-service.ts"
import { authService } from "../rpc/auth/auth-service.ts"
import { authorityService } from "../rpc/authority/authority-service.ts"
import type { AuthorityDeps } from "../rpc/authority/deps.ts"
import { delegationService } from "../rpc/delegation/delegation-service.ts"
import type { MessagingDeps } from "../rpc/messaging/deps.ts"
import { messagingRoutes, messagingServices } from "../rpc/messaging/routes.ts"
import { patService } from "../rpc/pat/pat-service.ts"
import { permissionService } from "../rpc/permission/permission-service.ts"
import { providerNotificationService } from "../rpc/provider-notification/provider-notification-service.ts"
import { type RevocationDeps, revocationService } from "../rpc/revocation/revocation-service.ts"
import { serviceAccountService } from "../rpc/service-account/service-account-service.ts"
import { sessionService } from "../rpc/session/session-service.ts"
import type { TokenDeps } from "../rpc/token/deps.ts"
import { tokenService } from "../rpc/token/token-service.ts"
import { transferRoutes } from "../rpc/transfer/routes.ts"
import type { TransferDeps } from "../rpc/transfer/transfer-service.ts"
import type { Routes } from "../serving/collect.ts"

/** The services of this program. */
export const services = [
  AuthService,
  SessionService,
  TokenService,
  DelegationService,
  PatService,
  ServiceAccountService,
  AppAuthService,
  AccountService,
  ProviderNotificationService,
  AuditService,
  RevocationService,
  PermissionService,
  AuthorityService,
  ...messagingServices,
  TransferService,
] as const

/** The requirement of a method by its route in the audit, with or without the service's package. */
function requirementOfRoute(route: string): Requirement | undefined {
  const method = services
    .flatMap((service) => [...service.methods])
    .find(({ parent, name }) => `${parent.typeName}/${name}` === route || `${parent.name}/${name}` === route)
  return method && requirementOf(method)
}

export const serviceRoutes =
  (
    deps: TokenDeps,
    messaging: MessagingDeps & Pick<TransferDeps, "moving">,
    revocations: RevocationDeps,
    callers: AuthorityDeps["callers"],
  ): Routes =>
  (router) => {
    router.service(AuthService, authService(deps))
    router.service(SessionService, sessionService(deps))
    router.service(TokenService, tokenService(deps))
    router.service(DelegationService, delegationService(deps))
    router.service(PatService, patService(deps))
    router.service(ServiceAccountService, serviceAccountService(deps))
    router.service(AppAuthService, appAuthService(deps))
    router.service(AccountService, accountService(deps))
    router.service(ProviderNotificationService, providerNotificationService(deps))
    router.service(AuditService, auditService(deps, requirementOfRoute))
    router.service(RevocationService, revocationService(revocations))
    router.service(PermissionService, permissionService(deps))
    router.service(AuthorityService, authorityService({ ...messaging, store: deps.store, callers }))
    messagingRoutes(messaging)(router)
    transferRoutes(messaging)(router)
  }
