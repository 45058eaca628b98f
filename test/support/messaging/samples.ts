// A valid request for each method; the ids in it do not exist.
import { create, type DescMethodStreaming, type DescMethodUnary, type Message } from "@bufbuild/protobuf"
import type { Transport } from "@connectrpc/connect"
import { messagingServices } from "./calls.ts"
import { newClaimId } from "./committing.ts"
import { randomBytes } from "./device-parts.ts"

export type Method = DescMethodUnary | DescMethodStreaming

export const methods: readonly Method[] = messagingServices.flatMap((service): readonly Method[] => service.methods)

const none = "00000000000000000000000000"
const idempotencyKey = randomBytes(16)
const conversationId = `cnv_${none}`
const attachmentId = `att_${none}`
const deviceId = `dev_${none}`
const userId = `prn_${none}`

const fields: Record<string, Record<string, unknown>> = {
  RegisterDevice: { deviceRequest: randomBytes(100) },
  RenewCredential: { deviceId, deviceRequest: randomBytes(100) },
  RevokeDevice: { deviceId },
  ListUserDevices: { userId },
  RevokeUserDevices: { userId, deviceIds: [deviceId] },
  UploadKeyPackages: { packages: [{ keyPackage: randomBytes(100) }] },
  ClaimKeyPackages: { claimId: newClaimId(), conversationId, deviceIds: [deviceId] },
  CreateConversation: {
    kind: { case: "direct", value: { peerUserId: userId } },
    claimId: newClaimId(),
    idempotencyKey,
  },
  AuthorizeMembership: { conversationId, change: { case: "remove", value: { deviceIds: [deviceId] } } },
  AppendMessage: { conversationId, idempotencyKey, payload: { case: "application", value: randomBytes(100) } },
  ResubmitMessages: { envelopes: [{ conversationId, seq: 1n, kind: 1, message: randomBytes(100) }] },
  BlockUser: { userId },
  UnblockUser: { userId },
  SetPushEndpoint: { kind: 1, url: "https://push.example/none" },
  GetTree: { conversationId, treeHash: "0".repeat(64) },
  LeaseDirective: { conversationId, directiveId: `dir_${none}` },
  ReportFork: { conversationId, seq: 1n, fault: 1 },
  ConsumeWelcome: { welcomeId: `wel_${none}`, idempotencyKey },
  CreateAttachment: { conversationId, size: 1n, sha256: randomBytes(32), idempotencyKey },
  UploadPart: { attachmentId, data: randomBytes(10) },
  CreateArchive: { kind: 1, header: randomBytes(10) },
  GrantTransfer: { grant: randomBytes(10) },
  AppendChunk: { data: randomBytes(10) },
}

/** The request of a method. Methods that only name a conversation, an attachment or an archive need no entry. */
export function sampleOf(method: Method): Message {
  const names = new Set(method.input.fields.map(({ localName }) => localName))
  const common = {
    ...(names.has("conversationId") ? { conversationId } : {}),
    ...(names.has("attachmentId") ? { attachmentId } : {}),
    ...(names.has("archiveId") ? { archiveId: randomBytes(16) } : {}),
  }
  const init: Record<string, unknown> = { ...common, ...fields[method.name] }
  return create(method.input, init)
}

/** Calls a method with its sample; for a stream, waits for its first message. */
export async function callSample(transport: Transport, method: Method, header?: HeadersInit): Promise<void> {
  const message = sampleOf(method)
  if (method.methodKind === "unary") {
    await transport.unary(method, undefined, undefined, header, message)
    return
  }
  const controller = new AbortController()
  const one = async function* () {
    yield message
  }
  const { message: answers } = await transport.stream(method, controller.signal, undefined, header, one())
  for await (const _ of answers) break
  controller.abort()
}
