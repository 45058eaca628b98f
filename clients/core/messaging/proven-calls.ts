// The calls that a device signs. They are listed here because the browser's contract omits the options for servers.

const methods: Readonly<Record<string, readonly string[]>> = {
  ArchiveService: ["AppendChunk", "CompleteArchive", "CreateArchive", "DeleteArchive", "GrantTransfer"],
  AttachmentService: ["CompleteAttachment", "CreateAttachment", "DeleteAttachment", "PresignPart", "UploadPart"],
  BlockService: ["BlockUser", "UnblockUser"],
  ConversationService: [
    "AppendMessage",
    "AuthorizeMembership",
    "CreateConversation",
    "LeaseDirective",
    "LeaveConversation",
    "ReportFork",
    "RequestRejoin",
    "ResubmitMessages",
  ],
  DeviceService: ["RenewCredential"],
  KeyPackageService: ["ClaimKeyPackages", "RetireKeyPackages", "UploadKeyPackages"],
  PushService: ["DeletePushEndpoint", "SetPushEndpoint"],
  WelcomeService: ["ConsumeWelcome"],
}

/** Such as `signet.messaging.v1.ConversationService/AppendMessage`. */
export const provenCalls: ReadonlySet<string> = new Set(
  Object.entries(methods).flatMap(([service, names]) => names.map((name) => `signet.messaging.v1.${service}/${name}`)),
)
