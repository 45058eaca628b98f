import { create } from "@bufbuild/protobuf"
import { AttachmentManifestSchema } from "@signet/proto/client/v1/attachment"
import { expect, test } from "vitest"
import { contentOfAttachment, contentOfResent, contentOfText, originalOf, parseContent } from "./content.ts"
import { utf8 } from "./crypto/bytes.ts"

const mark = "\0signet-content\0"
const manifest = create(AttachmentManifestSchema, { version: 1, fileName: "notes.txt" })

test("any bytes of an app are parsed as the same bytes", () => {
  for (const text of ["", "hello", mark, `${mark}\u0001`, mark.slice(0, -1)]) {
    expect(parseContent(contentOfText(utf8(text)))).toEqual({ is: "text", plaintext: utf8(text) })
  }
  expect(contentOfText(utf8("hello"))).toEqual(utf8("hello"))
})

test("a manifest is parsed without unknown fields", () => {
  const content = contentOfAttachment(manifest)
  expect(parseContent(content)).toEqual({ is: "attachment", manifest })
  // Field 200, of a later version.
  expect(parseContent(Uint8Array.of(...content, 0xc0, 0x0c, 1))).toEqual({ is: "attachment", manifest })
})

test.each(["", "\u0002", "\u0001\u00ff"])("marked content of an unknown kind is unknown: %j", (rest) => {
  expect(parseContent(utf8(mark + rest))).toEqual({ is: "unknown" })
})

test("resubmitted content names its first sequence number and contains the same bytes", () => {
  const content = contentOfText(utf8("hello"))
  const again = contentOfResent(2n ** 20n + 5n, content)
  expect(parseContent(again)).toEqual({ is: "resent", originalSeq: 2n ** 20n + 5n, content })
  expect([originalOf(again), originalOf(content)]).toEqual([content, content])
  expect(parseContent(again.slice(0, -content.length - 1))).toEqual({ is: "unknown" })
})
