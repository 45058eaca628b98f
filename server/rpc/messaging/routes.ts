import { ArchiveService } from "@signet/proto/messaging/v1/archive_service"
import { AttachmentService } from "@signet/proto/messaging/v1/attachment_service"
import { BlockService } from "@signet/proto/messaging/v1/block_service"
import { ConversationService } from "@signet/proto/messaging/v1/conversation_service"
import { DeviceService } from "@signet/proto/messaging/v1/device_service"
import { KeyPackageService } from "@signet/proto/messaging/v1/key_package_service"
import { PushService } from "@signet/proto/messaging/v1/push_service"
import { WelcomeService } from "@signet/proto/messaging/v1/welcome_service"
import type { Routes } from "../../serving/collect.ts"
import { archiveService } from "./archive/archive-service.ts"
import { attachmentService } from "./attachment/attachment-service.ts"
import { blockService } from "./block/block-service.ts"
import { conversationService } from "./conversation/conversation-service.ts"
import type { Streams } from "./conversation/subscribe/streams.ts"
import type { MessagingDeps } from "./deps.ts"
import { deviceService } from "./device/device-service.ts"
import { keyPackageService } from "./key-package/key-package-service.ts"
import { pushService } from "./push/push-service.ts"
import { welcomeService } from "./welcome/welcome-service.ts"

/** The messaging services. */
export const messagingServices = [
  DeviceService,
  KeyPackageService,
  ConversationService,
  WelcomeService,
  AttachmentService,
  BlockService,
  ArchiveService,
  PushService,
] as const

export const messagingRoutes =
  (deps: MessagingDeps, streams?: Streams): Routes =>
  (router) => {
    router.service(DeviceService, deviceService(deps))
    router.service(KeyPackageService, keyPackageService(deps))
    router.service(ConversationService, conversationService(deps, undefined, streams))
    router.service(WelcomeService, welcomeService(deps))
    router.service(AttachmentService, attachmentService(deps))
    router.service(BlockService, blockService(deps))
    router.service(ArchiveService, archiveService(deps))
    router.service(PushService, pushService(deps))
  }
