// Messaging calls over any transport, with the token and device proof that each method requires.
import { create, type DescMessage, getOption, type Message, toBinary } from "@bufbuild/protobuf"
import { type Client, createClient, type Transport } from "@connectrpc/connect"
import { issueDeviceProof } from "@signet/canonical/device-proof"
import type { Signer } from "@signet/canonical/ed25519"
import { type AuthRequirement, requires } from "@signet/proto/authz/v1/requirement"
import { ArchiveService } from "@signet/proto/messaging/v1/archive_service"
import { AttachmentService } from "@signet/proto/messaging/v1/attachment_service"
import { BlockService } from "@signet/proto/messaging/v1/block_service"
import { ConversationService } from "@signet/proto/messaging/v1/conversation_service"
import { DeviceService } from "@signet/proto/messaging/v1/device_service"
import { KeyPackageService } from "@signet/proto/messaging/v1/key_package_service"
import { PushService } from "@signet/proto/messaging/v1/push_service"
import { WelcomeService } from "@signet/proto/messaging/v1/welcome_service"

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

type Method = (typeof messagingServices)[number]["methods"][number]

export const proofHeader = "signet-device-proof"

export interface MessagingCalls {
  devices: Client<typeof DeviceService>
  keyPackages: Client<typeof KeyPackageService>
  conversations: Client<typeof ConversationService>
  welcomes: Client<typeof WelcomeService>
  attachments: Client<typeof AttachmentService>
  blocks: Client<typeof BlockService>
  archives: Client<typeof ArchiveService>
  pushes: Client<typeof PushService>
}

/** The caller's credentials. Read at each call, because tokens and keys change. */
export interface Credentials {
  /** An access token; undefined sends none. */
  token: string | undefined
  device: DeviceKey | undefined
}

export interface DeviceKey {
  /** 16 bytes. */
  readonly id: Uint8Array
  readonly signer: Signer
}

export function callsOver(transport: Transport, credentials: Credentials): MessagingCalls {
  const signed = asDevice(transport, credentials)
  return {
    devices: createClient(DeviceService, signed),
    keyPackages: createClient(KeyPackageService, signed),
    conversations: createClient(ConversationService, signed),
    welcomes: createClient(WelcomeService, signed),
    attachments: createClient(AttachmentService, signed),
    blocks: createClient(BlockService, signed),
    archives: createClient(ArchiveService, signed),
    pushes: createClient(PushService, signed),
  }
}

/**
 * Wraps a transport: adds a token to each call, and a device proof if the contract requires one. A header that the call
 * already has stays; an empty one is removed.
 */
export function asDevice(transport: Transport, credentials: Credentials): Transport {
  const headersFor = async (given: HeadersInit | undefined, proof: () => Promise<string | undefined>) => {
    const headers = new Headers(given)
    const { token } = credentials
    if (!headers.has("authorization") && token !== undefined) headers.set("authorization", `Bearer ${token}`)
    if (!headers.has(proofHeader)) headers.set(proofHeader, (await proof()) ?? "")
    for (const name of ["authorization", proofHeader]) if (headers.get(name) === "") headers.delete(name)
    return headers
  }
  return {
    async unary(method, signal, timeoutMs, header, input, contextValues) {
      const message = create(method.input, input)
      const headers = await headersFor(header, async () =>
        wantsProof(method) ? credentials.device && proofOf(credentials.device, method, message) : undefined,
      )
      return transport.unary(method, signal, timeoutMs, headers, message, contextValues)
    },
    async stream(method, signal, timeoutMs, header, input, contextValues) {
      const headers = await headersFor(header, async () => undefined)
      return transport.stream(method, signal, timeoutMs, headers, input, contextValues)
    },
  }
}

/** The header of one call. Created for each call, because a proof is valid once. */
export async function proofOf(
  { id, signer }: DeviceKey,
  method: { readonly parent: { readonly typeName: string }; readonly name: string; readonly input: DescMessage },
  message: Message,
  options: { readonly nonce?: Uint8Array; readonly atMs?: number } = {},
): Promise<string> {
  const { nonce = crypto.getRandomValues(new Uint8Array(16)), atMs = Date.now() } = options
  const call = {
    deviceId: id,
    method: `/${method.parent.typeName}/${method.name}`,
    request: toBinary(method.input, message),
  }
  const proof = await issueDeviceProof(call, nonce, BigInt(Math.floor(atMs / 1_000)), signer)
  return Buffer.from(proof).toString("base64url")
}

function wantsProof(method: Pick<Method, "proto"> & object): boolean {
  return deviceCheckOf(method) === "proof"
}

/** The device check in a method's requirement. */
export function deviceCheckOf(method: object): "none" | "device" | "proof" {
  const found = checksOf(getOption(method as Method, requires)).find(({ check }) => check.case === "device")
  if (found?.check.case !== "device") return "none"
  return found.check.value.proof ? "proof" : "device"
}

function checksOf(requirement: AuthRequirement): AuthRequirement[] {
  const { check } = requirement
  return check.case === "allOf" || check.case === "anyOf" ? check.value.of.flatMap(checksOf) : [requirement]
}
