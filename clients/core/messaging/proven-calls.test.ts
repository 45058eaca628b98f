import type { DescService } from "@bufbuild/protobuf"
import { getOption } from "@bufbuild/protobuf"
import { Code, ConnectError, createRouterTransport } from "@connectrpc/connect"
import { type AuthRequirement, requires } from "@signet/proto/authz/v1/requirement"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { ArchiveService } from "@signet/proto/messaging/v1/archive_service"
import { AttachmentService } from "@signet/proto/messaging/v1/attachment_service"
import { BlockService } from "@signet/proto/messaging/v1/block_service"
import { ConversationService } from "@signet/proto/messaging/v1/conversation_service"
import { DeviceService } from "@signet/proto/messaging/v1/device_service"
import { KeyPackageService } from "@signet/proto/messaging/v1/key_package_service"
import { PushService } from "@signet/proto/messaging/v1/push_service"
import { WelcomeService } from "@signet/proto/messaging/v1/welcome_service"
import { expect, test } from "vitest"
import { makeCalls } from "./calls.ts"
import { provenCalls } from "./proven-calls.ts"

const services: readonly DescService[] = [
  AttachmentService,
  BlockService,
  ArchiveService,
  PushService,
  ConversationService,
  DeviceService,
  KeyPackageService,
  WelcomeService,
]

const checksOf = (requirement: AuthRequirement): AuthRequirement[] => {
  const { check } = requirement
  return check.case === "allOf" || check.case === "anyOf" ? check.value.of.flatMap(checksOf) : [requirement]
}

test("a device signs exactly the calls that the contract requires to be signed", () => {
  const wanted = services
    .flatMap(({ methods }) => methods)
    .filter((method) =>
      checksOf(getOption(method, requires)).some(({ check }) => check.case === "device" && check.value.proof),
    )
  expect([...provenCalls].sort()).toEqual(wanted.map(({ parent, name }) => `${parent.typeName}/${name}`).sort())
})

test("a call before the registration has a token and no device proof", async () => {
  const seen: Headers[] = []
  const transport = createRouterTransport(({ service }) => {
    service(ConversationService, {
      appendMessage(_, { requestHeader }) {
        seen.push(requestHeader)
        return {}
      },
    })
  })
  const calls = makeCalls({
    transport,
    session: { accessToken: async () => "token", renewToken: async () => "" },
    device: () => undefined,
    clock: { nowMs: () => 0, after: () => () => undefined },
    random: { bytes: (length) => new Uint8Array(length) },
  })
  await calls.conversations.appendMessage({})
  expect(provenCalls.has("signet.messaging.v1.ConversationService/AppendMessage")).toBe(true)
  expect(seen.map((headers) => [headers.get("authorization"), headers.has("signet-device-proof")])).toEqual([
    ["Bearer token", false],
  ])
})

test.each(["TOKEN_EXPIRED", "TOKEN_REVOKED", "TOKEN_NOT_YET_VALID", "PERMISSIONS_STALE", "KEY_UNKNOWN"])(
  "a call that is refused with %s is repeated with a new token",
  async (reason) => {
    const tokens: (string | null)[] = []
    const transport = createRouterTransport(({ service }) => {
      service(ConversationService, {
        appendMessage(_, { requestHeader }) {
          tokens.push(requestHeader.get("authorization"))
          if (tokens.length > 1) return {}
          const details = [{ desc: ErrorInfoSchema, value: { reason, domain: "signet" } }]
          throw new ConnectError("refused", Code.Unauthenticated, undefined, details)
        },
      })
    })
    const calls = makeCalls({
      transport,
      session: { accessToken: async () => "old", renewToken: async () => "new" },
      device: () => undefined,
      clock: { nowMs: () => 0, after: () => () => undefined },
      random: { bytes: (length) => new Uint8Array(length) },
    })
    await calls.conversations.appendMessage({})
    expect(tokens).toEqual(["Bearer old", "Bearer new"])
  },
)
