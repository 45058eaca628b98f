// The RPCs that policy files can name: Signet's own, and those of given contracts.
import { createFileRegistry, createRegistry, type DescMethod, fromBinary, type Registry } from "@bufbuild/protobuf"
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt"
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
import type { FindMethod } from "./requirements.ts"

const own: Registry = createRegistry(
  AccountService,
  AppAuthService,
  AuditService,
  AuthService,
  AuthorityService,
  DelegationService,
  PatService,
  PermissionService,
  ProviderNotificationService,
  RevocationService,
  ServiceAccountService,
  SessionService,
  TokenService,
  TransferService,
  AttachmentService,
  BlockService,
  ArchiveService,
  PushService,
  ConversationService,
  DeviceService,
  KeyPackageService,
  WelcomeService,
)

/**
 * Reads a FileDescriptorSet with all imports, as `buf build -o notes.binpb` writes it.
 *
 * @throws Error if the bytes are not one.
 */
export function readContract(bytes: Uint8Array): Registry {
  return createFileRegistry(fromBinary(FileDescriptorSetSchema, bytes))
}

/** Finds RPCs by full name, in Signet's own contract and the given ones. */
export function methodsOf(contracts: readonly Registry[]): FindMethod {
  return (name) => {
    const dot = name.lastIndexOf(".")
    for (const registry of [own, ...contracts]) {
      const method: DescMethod | undefined = registry
        .getService(name.slice(0, dot))
        ?.methods.find((one) => one.name === name.slice(dot + 1))
      if (method !== undefined) return method
    }
    return undefined
  }
}
