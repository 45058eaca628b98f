import { createHash } from "node:crypto"
import { describe, expect, test } from "vitest"
import { chainAfter, decodeFile, encodeFile, type Left, spanOf } from "./folder-file.ts"

const span = { from: 2, to: 3 }
const left: Left = {
  generations: new Map([["cnv_a", 3n]]),
  rows: [
    { space: "cnv_a", table: "state", key: "x", value: Uint8Array.of(1, 2) },
    { space: "cnv_a", table: "state", key: "y", value: undefined },
  ],
}

/** A file with a valid checksum, whatever it says. */
function fileOf(table: unknown, values: Uint8Array, head = Buffer.from("SGFS\x01")): Uint8Array {
  const json = Buffer.from(JSON.stringify(table))
  const length = Buffer.alloc(4)
  length.writeUInt32BE(json.length)
  const body = Buffer.concat([length, json, values])
  return Buffer.concat([head, createHash("sha256").update(body).digest(), body])
}
const table = { span: [2, 3], generations: [["cnv_a", "3"]], rows: [["cnv_a", "state", "x", 2]] }
const two = Uint8Array.of(1, 2)

describe("a file of a folder store", () => {
  test("is read as it was written", () => {
    expect(decodeFile(span, encodeFile(span, left))).toEqual(left)
    expect(decodeFile(span, fileOf(table, two)).rows).toEqual(left.rows.slice(0, 1))
  })

  test.each<[string, Uint8Array]>([
    ["another magic number", fileOf(table, two, Buffer.from("SGFT\x01"))],
    ["format 0", fileOf(table, two, Buffer.from("SGFS\x00"))],
    ["a byte too many", fileOf(table, Uint8Array.of(1, 2, 3))],
    ["a byte too few", fileOf(table, Uint8Array.of(1))],
    ["another span", fileOf({ ...table, span: [1, 3] }, two)],
    ["no span", fileOf({ ...table, span: undefined }, two)],
  ])("with %s is damaged", (_, file) => {
    expect(() => decodeFile(span, file)).toThrow(expect.objectContaining({ reason: "STATE_TAMPERED" }))
  })

  test("of a later format is refused as such", () => {
    const file = fileOf(table, two, Buffer.from("SGFS\x02"))
    expect(() => decodeFile(span, file)).toThrow(expect.objectContaining({ reason: "STATE_NEWER_VERSION" }))
  })
})

test.each([
  ["000000000002-000000000003.rows", span],
  ["000000000003-000000000002.rows", undefined],
  ["000000000000-000000000002.rows", undefined],
  ["000000000002-000000000003.new", undefined],
])("the name %s is of the transactions %j", (name, of) => {
  expect(spanOf(name)).toEqual(of)
})

test("of two files with the same end the longer one is read, in any order", () => {
  const [longer, shorter] = [
    { from: 1, to: 5 },
    { from: 4, to: 5 },
  ]
  for (const spans of [
    [longer, shorter],
    [shorter, longer],
  ])
    expect(chainAfter(3, spans)).toEqual([longer])
})
