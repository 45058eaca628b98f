// The methods of the contract, by name.
import type { DescMethod, DescService } from "@bufbuild/protobuf"
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
import { ArchiveService } from "@signet/proto/messaging/v1/archive_service"
import { AttachmentService } from "@signet/proto/messaging/v1/attachment_service"
import { BlockService } from "@signet/proto/messaging/v1/block_service"
import { ConversationService } from "@signet/proto/messaging/v1/conversation_service"
import { DeviceService } from "@signet/proto/messaging/v1/device_service"
import { KeyPackageService } from "@signet/proto/messaging/v1/key_package_service"
import { PushService } from "@signet/proto/messaging/v1/push_service"
import { WelcomeService } from "@signet/proto/messaging/v1/welcome_service"
import { TransferService } from "@signet/proto/transfer/v1/transfer_service"
import { usage } from "./failure.ts"

export const services: readonly DescService[] = [
  AccountService,
  AppAuthService,
  AuditService,
  AuthService,
  DelegationService,
  PatService,
  PermissionService,
  ProviderNotificationService,
  RevocationService,
  ServiceAccountService,
  SessionService,
  TokenService,
  AuthorityService,
  AttachmentService,
  BlockService,
  ArchiveService,
  PushService,
  ConversationService,
  DeviceService,
  KeyPackageService,
  WelcomeService,
  TransferService,
]

/** The gRPC name. */
export const nameOf = ({ parent, name }: DescMethod): string => `${parent.typeName}/${name}`

/**
 * @param text `PatService.CreatePat`, or the gRPC name `signet.auth.v1.PatService/CreatePat`.
 * @throws CommandError
 */
export function methodNamed(text: string): DescMethod {
  const [, packageName, service, method] = /^(?:([\w.]+)\.)?(\w+)[./](\w+)$/.exec(text) ?? []
  const found = services
    .find(
      ({ name, typeName }) => name === service && (packageName === undefined || typeName === `${packageName}.${name}`),
    )
    ?.methods.find(({ name }) => name === method)
  if (found === undefined) {
    throw usage(`unknown method ${text}`, "Such as: AppAuthService.CreateApp. All of them: signet api --list")
  }
  return found
}
