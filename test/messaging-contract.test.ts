// What the messaging contract promises, also before it is served: callers, proofs, reasons, and one number for each limit.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { type DescMessage, getOption } from "@bufbuild/protobuf"
import { field } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js"
import { refusals } from "@signet/kernel/errors"
import { maxBytes, maxCount } from "@signet/kernel/messaging/limits"
import { wire } from "@signet/proto/api/v1/wire"
import { ArchiveService } from "@signet/proto/messaging/v1/archive_service"
import { AttachmentService, UploadPartRequestSchema } from "@signet/proto/messaging/v1/attachment_service"
import { BlockService } from "@signet/proto/messaging/v1/block_service"
import {
  AppendMessageRequest_CommitSchema,
  AppendMessageRequestSchema,
  ConversationService,
} from "@signet/proto/messaging/v1/conversation_service"
import { DeviceService } from "@signet/proto/messaging/v1/device_service"
import {
  KeyPackageService,
  UploadKeyPackagesRequest_PackageSchema,
} from "@signet/proto/messaging/v1/key_package_service"
import { PushService } from "@signet/proto/messaging/v1/push_service"
import { WelcomeService } from "@signet/proto/messaging/v1/welcome_service"
import { expect, test } from "vitest"
import { requirementOf } from "../server/guard/requirement.ts"
import { checksIn, describe as told } from "../server/kernel/authz/requirement.ts"
import { bindingsOf } from "../server/serving/rest/http-rule.ts"

const services = [
  DeviceService,
  KeyPackageService,
  ConversationService,
  WelcomeService,
  AttachmentService,
  BlockService,
  ArchiveService,
  PushService,
]
const methods = services.flatMap((service) => service.methods)
const isPublic = (name: string) => name === "GetLimits" || name === "GetIssuerKeys"
/** Calls of administrators, with scopes of their own. */
const ofAdministrators = ["ListUserDevices", "RevokeUserDevices"]
const withoutDevice = ["RegisterDevice", "RevokeDevice", "ListDevices", "ListDeviceLists", ...ofAdministrators]
const isRead = (name: string) => /^(Get|List|Read|Subscribe|Download)/.test(name)

test.each(methods.map((method) => [method.name, method] as const))(
  "%s states its requirement and proof",
  (name, method) => {
    const requirement = requirementOf(method)
    if (isPublic(name)) return expect(requirement).toEqual({ is: "public" })
    const device = checksIn(requirement).find(({ is }) => is === "device")
    const area = ofAdministrators.includes(name) ? "messaging.devices" : "messaging"
    expect(told(requirement)).toContain(`kinds(USER) and scope(${area}.${isRead(name) ? "read" : "write"})`)
    const proof = !isRead(name) && name !== "AckMessages"
    expect(device).toEqual(withoutDevice.includes(name) ? undefined : { is: "device", proof })
    expect(method.methodKind === "unary" ? bindingsOf(method).length : 0).toBe(name === "Subscribe" ? 0 : 1)
  },
)

test("only reasons that exist are named", () => {
  for (const service of services) {
    const text = readFileSync(join(import.meta.dirname, `../proto/${service.file.name}.proto`), "utf8")
    const named = [...text.matchAll(/^\s*\/\/.*$/gm)].flatMap(([line]) => line.match(/\b[A-Z]+(?:_[A-Z]+)+\b/g) ?? [])
    const codes = Object.values(refusals).map(({ code }) => code.toUpperCase())
    expect(named.filter((word) => !Object.hasOwn(refusals, word) && !codes.includes(word))).toEqual([])
  }
})

test("each limit is one number, in the contract and in the kernel", () => {
  const most = (schema: DescMessage, name: string) => {
    const rule = getOption(schema.field[name] ?? expect.fail(name), field).type
    return rule.case === "bytes" ? Number(rule.value.maxLen) : undefined
  }
  expect(most(AppendMessageRequestSchema, "application")).toBe(maxBytes.application)
  expect(most(AppendMessageRequest_CommitSchema, "commit")).toBe(maxBytes.commit)
  expect(most(AppendMessageRequest_CommitSchema, "groupInfo")).toBe(maxBytes.groupInfo)
  expect(most(AppendMessageRequest_CommitSchema, "tree")).toBe(maxBytes.tree)
  expect(most(AppendMessageRequest_CommitSchema, "welcome")).toBe(maxBytes.welcome)
  expect(most(UploadKeyPackagesRequest_PackageSchema, "keyPackage")).toBe(maxBytes.keyPackage)
  expect(most(UploadPartRequestSchema, "data")).toBe(maxBytes.attachmentPart)
  expect(getOption(ConversationService.method.appendMessage, wire).maxRequestBytes).toBe(maxBytes.append)
  expect(maxBytes.attachment / maxBytes.attachmentPart).toBe(100)
  expect(maxCount.keyPackagesPerUpload).toBe(100)
})
