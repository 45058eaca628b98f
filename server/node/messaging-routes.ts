import { AttachmentService } from "@signet/proto/messaging/v1/attachment_service"
import { ConversationService } from "@signet/proto/messaging/v1/conversation_service"
import { DeviceService } from "@signet/proto/messaging/v1/device_service"
import { KeyPackageService } from "@signet/proto/messaging/v1/key_package_service"
import { WelcomeService } from "@signet/proto/messaging/v1/welcome_service"
import type { Routes } from "../rpc/collect.ts"
import { attachmentService } from "../rpc/messaging/attachment-service.ts"
import { conversationService } from "../rpc/messaging/conversation-service.ts"
import type { MessagingDeps } from "../rpc/messaging/deps.ts"
import { deviceService } from "../rpc/messaging/device-service.ts"
import { keyPackageService } from "../rpc/messaging/key-package-service.ts"
import { welcomeService } from "../rpc/messaging/welcome-service.ts"

/** The services of area B. */
export const messagingServices = [
  DeviceService,
  KeyPackageService,
  ConversationService,
  WelcomeService,
  AttachmentService,
] as const

export const messagingRoutes =
  (deps: MessagingDeps): Routes =>
  (router) => {
    router.service(DeviceService, deviceService(deps))
    router.service(KeyPackageService, keyPackageService(deps))
    router.service(ConversationService, conversationService(deps))
    router.service(WelcomeService, welcomeService(deps))
    router.service(AttachmentService, attachmentService(deps))
  }
