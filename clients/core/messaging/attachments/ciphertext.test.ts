import type { MessageInitShape } from "@bufbuild/protobuf"
import { createRouterTransport } from "@connectrpc/connect"
import { AttachmentService } from "@signet/proto/messaging/v1/attachment_service"
import { Attachment_Status, type AttachmentSchema } from "@signet/proto/messaging/v1/records"
import { describe, expect, test } from "vitest"
import { makeCalls } from "../calls.ts"
import type { Context } from "../context.ts"
import { idOf } from "../ids.ts"
import { remoteCiphertext } from "./ciphertext.ts"

describe("an attachment that the service describes as", () => {
  const sealedSize = 1_000
  const good = { status: Attachment_Status.COMPLETE, size: BigInt(sealedSize), partSize: 4_096 }
  const part = async () => ({ data: new Uint8Array(sealedSize).fill(7) })
  function remote(attachment: MessageInitShape<typeof AttachmentSchema> | undefined, downloadPart = part) {
    const transport = createRouterTransport(({ service }) => {
      service(AttachmentService, {
        getAttachment: () => ({ attachment }),
        downloadPart,
      })
    })
    const clock = { nowMs: () => 0, after: () => () => undefined }
    const random = { bytes: (length: number) => new Uint8Array(length) }
    const session = { accessToken: async () => "", renewToken: async () => "" }
    const calls = makeCalls({ transport, session, device: () => undefined, clock, random })
    // Only the fields that a download needs.
    const context = { calls, clock, random } as unknown as Context
    return remoteCiphertext(context, idOf("att", new Uint8Array(16)), sealedSize)()
  }

  test("complete is read until the reader stops, also while the service does not answer", async () => {
    const ending = new AbortController()
    const parts = await remote(good, () => {
      ending.abort(new Error("stopped"))
      return new Promise(() => undefined)
    })
    await expect(parts.read(0, 10, ending.signal)).rejects.toThrow("stopped")
  })

  test("complete and of the sent size is read", async () => {
    expect(await (await remote(good)).read(998, 1_000)).toEqual(new Uint8Array([7, 7]))
  })

  test.each<[string, Parameters<typeof remote>[0]]>([
    ["unknown", undefined],
    ["incomplete", { ...good, status: Attachment_Status.UPLOADING }],
    ["of another size", { ...good, size: 1_001n }],
    ["in parts that are too small", { ...good, partSize: 4_095 }],
  ])("%s is not read", async (_, attachment) => {
    await expect(remote(attachment)).rejects.toMatchObject({ reason: "ATTACHMENT_TAMPERED" })
  })
})
