// Etags of administered records (AIP-154). An etag has a short digest of each field, so that a refusal names the fields
// that have changed. It depends on the values alone: no store has a column for it.
import { create, type DescField, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf"
import { BinaryReader } from "@bufbuild/protobuf/wire"
import { sha256 } from "@noble/hashes/sha2.js"
import { Refused } from "@signet/kernel/errors"
import { encode } from "../base64url.ts"

/** `updated_at` also moves where no other field does, such as after a change and its reversal. */
const unversioned = new Set(["etag", "updated_at"])

/** 32 bits distinguish versions of one field. They authenticate nothing: a writer could always write again. */
const digestBytes = 4

/**
 * The shape with its etag.
 *
 * @param unseen Fields that no response contains, such as sealed secrets, for the etag only.
 */
export function withEtag<Desc extends DescMessage>(
  desc: Desc,
  shape: MessageInitShape<Desc>,
  unseen: Partial<MessageInitShape<Desc>> = {},
): MessageInitShape<Desc> & { etag: string } {
  const init: MessageInitShape<Desc> = { ...shape, ...unseen }
  const digests = digestsIn(desc, toBinary(desc, create(desc, init)))
  const etag = [...digests].map(([path, digest]) => `${path}:${digest}`).join(",")
  return { ...shape, etag }
}

/**
 * Call it after the comparison of values: an update that is already in effect succeeds with any etag, as RFC 9110
 * section 13.1.1 allows, so that a retry after a lost response does.
 *
 * @param given The record as the request has it; without an etag it is not checked.
 * @throws Refused ETAG_MISMATCH, with the changed fields.
 */
export function refuseStale(desc: DescMessage, current: object, given: object): void {
  const [old, now] = [etagIn(given), etagIn(current)]
  if (old === "" || old === now) return
  const [was, is] = [parse(old), parse(now)]
  const paths = new Set([...was.keys(), ...is.keys()])
  const names = [...paths].filter((path) => was.get(path) !== is.get(path)).flatMap((path) => nameOf(desc, path))
  throw new Refused("ETAG_MISMATCH", { metadata: { changed: names.join(",") } })
}

const etagIn = (message: object): string => ("etag" in message && typeof message.etag === "string" ? message.etag : "")

/** The digest of each set field by the path of its field numbers: "2", or "6.1" within a message. */
function digestsIn(desc: DescMessage, bytes: Uint8Array, above = ""): Map<string, string> {
  const parts = new Map<string, Uint8Array[]>()
  const found = new Map<string, string>()
  const reader = new BinaryReader(bytes)
  while (reader.pos < reader.len) {
    const start = reader.pos
    const [number, wireType] = reader.tag()
    const field = desc.fields.find((one) => one.number === number)
    const path = `${above}${number}`
    if (isOpen(field)) {
      for (const [inner, digest] of digestsIn(field.message, reader.bytes(), `${path}.`)) found.set(inner, digest)
      continue
    }
    reader.skip(wireType, number)
    if (field !== undefined && unversioned.has(field.name)) continue
    parts.set(path, [...(parts.get(path) ?? []), bytes.subarray(start, reader.pos)])
  }
  for (const [path, all] of parts) found.set(path, digestOf(all))
  return found
}

function digestOf(parts: readonly Uint8Array[]): string {
  const state = sha256.create()
  for (const part of parts) state.update(part)
  return encode(state.digest().subarray(0, digestBytes))
}

/** True for a message whose fields an update mask can name. */
const isOpen = (field: DescField | undefined): field is DescField & { fieldKind: "message"; message: DescMessage } =>
  field?.fieldKind === "message" && !field.message.typeName.startsWith("google.protobuf.")

const parse = (etag: string): Map<string, string> =>
  new Map(
    etag.split(",").map((part): [string, string] => {
      const [path = "", digest = ""] = part.split(":")
      return [path, digest]
    }),
  )

/** The proto path of the field; nothing for a path that no field has, as in a forged etag. */
function nameOf(desc: DescMessage, path: string): string[] {
  const names: string[] = []
  let inside: DescMessage | undefined = desc
  for (const number of path.split(".")) {
    const field: DescField | undefined = inside?.fields.find((one) => String(one.number) === number)
    if (field === undefined) return []
    names.push(field.name)
    inside = isOpen(field) ? field.message : undefined
  }
  return [names.join(".")]
}
