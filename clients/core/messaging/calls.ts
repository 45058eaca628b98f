import { create, type Message, toBinary } from "@bufbuild/protobuf"
import { type Client, createClient, type Transport } from "@connectrpc/connect"
import { issueDeviceProof } from "@signet/canonical/device-proof"
import type { Signer } from "@signet/canonical/ed25519"
import { ArchiveService } from "@signet/proto/messaging/v1/archive_service"
import { AttachmentService } from "@signet/proto/messaging/v1/attachment_service"
import { BlockService } from "@signet/proto/messaging/v1/block_service"
import { ConversationService } from "@signet/proto/messaging/v1/conversation_service"
import { DeviceService } from "@signet/proto/messaging/v1/device_service"
import { KeyPackageService } from "@signet/proto/messaging/v1/key_package_service"
import { WelcomeService } from "@signet/proto/messaging/v1/welcome_service"
import { isFailure, staleTokenReasons } from "../errors.ts"
import type { Clock, Random } from "../ports.ts"
import { provenCalls } from "./proven-calls.ts"
import type { MessagingSession } from "./session.ts"

const proofHeader = "signet-device-proof"
/** Refusals that a new token resolves: the cached token is stale, or from before the device's registration. */
const staleTokens = [...staleTokenReasons, "DEVICE_REQUIRED"] as const
/** A service that refuses every token causes one renewal in this time. Milliseconds. */
const betweenRenewalsMs = 5_000
/** The time limit of a call in milliseconds. After it, the same call is repeated. */
const answerMs = 120_000

/** The messaging service, called as this session and this device. */
export interface Calls {
  /** As this session and device, for services that a page loads separately. */
  readonly transport: Transport
  readonly devices: Client<typeof DeviceService>
  readonly keyPackages: Client<typeof KeyPackageService>
  readonly conversations: Client<typeof ConversationService>
  readonly welcomes: Client<typeof WelcomeService>
  readonly attachments: Client<typeof AttachmentService>
  readonly blocks: Client<typeof BlockService>
  readonly archives: Client<typeof ArchiveService>
}

/** Signs the calls of a device. */
export interface DeviceSigner {
  /** 16 bytes. */
  readonly id: Uint8Array
  readonly signer: Signer
}

export interface CallOptions {
  readonly transport: Transport
  readonly session: Pick<MessagingSession, "accessToken" | "renewToken">
  /** Called for each call. Returns undefined before the device is registered. */
  readonly device: () => DeviceSigner | undefined
  readonly clock: Clock
  readonly random: Random
}

export function makeCalls(options: CallOptions): Calls {
  const transport = asDevice(options)
  return {
    transport,
    devices: createClient(DeviceService, transport),
    keyPackages: createClient(KeyPackageService, transport),
    conversations: createClient(ConversationService, transport),
    welcomes: createClient(WelcomeService, transport),
    attachments: createClient(AttachmentService, transport),
    blocks: createClient(BlockService, transport),
    archives: createClient(ArchiveService, transport),
  }
}

/** Adds a token to each call of a transport, and a new device proof where the contract requires one. */
function asDevice(options: CallOptions): Transport {
  const { transport, session } = options
  const headersOf = async (given: HeadersInit | undefined, token: string, method?: Method, message?: Message) => {
    const headers = new Headers(given)
    headers.set("authorization", `Bearer ${token}`)
    if (method !== undefined && message !== undefined && provenCalls.has(nameOf(method))) {
      const proof = await proofOf(options, method, message)
      if (proof !== undefined) headers.set(proofHeader, proof)
    }
    return headers
  }
  const tokenAfter = renewal(options)
  return {
    async unary(method, signal, timeoutMs = answerMs, header, input, values) {
      const message = create(method.input, input)
      const call = async (token: string) =>
        transport.unary(method, signal, timeoutMs, await headersOf(header, token, method, message), message, values)
      const token = await session.accessToken()
      try {
        return await call(token)
      } catch (error) {
        if (!isFailure(error, ...staleTokens)) throw error
        const another = await tokenAfter(token)
        if (another === undefined) throw error
        return call(another)
      }
    },
    async stream(method, signal, timeoutMs, header, input, values) {
      const headers = await headersOf(header, await session.accessToken())
      return transport.stream(method, signal, timeoutMs, headers, input, values)
    },
  }
}

/** Renews a refused token, unless another call has. @returns undefined if the last renewal's token is refused at once */
function renewal({ session, clock }: CallOptions): (refused: string) => Promise<string | undefined> {
  let last: { readonly token: string; readonly atMs: number } | undefined
  return async (refused) => {
    const current = await session.accessToken()
    if (current !== refused) return current
    if (last?.token === refused && Math.abs(clock.nowMs() - last.atMs) < betweenRenewalsMs) return undefined
    last = { token: await session.renewToken(), atMs: clock.nowMs() }
    return last.token
  }
}

type Method = Parameters<Transport["unary"]>[0]

const nameOf = ({ parent, name }: Method): string => `${parent.typeName}/${name}`

async function proofOf(
  { device, random, clock }: CallOptions,
  method: Method,
  message: Message,
): Promise<string | undefined> {
  const own = device()
  if (own === undefined) return undefined
  const request = toBinary(method.input, message)
  const call = { deviceId: own.id, method: `/${nameOf(method)}`, request }
  const atSeconds = BigInt(Math.floor(clock.nowMs() / 1_000))
  return base64url(await issueDeviceProof(call, random.bytes(16), atSeconds, own.signer))
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "")
}
