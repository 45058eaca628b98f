import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf"
import type { SecretBox, SecretScope } from "../../secret-box.ts"
import type { Named, Op, Space } from "./store.ts"

/** The location of a row, which its seal authenticates. */
export interface Place extends Named {
  readonly space: Space
  /** The generation of the write, if the seal also binds the row to it; otherwise absent or 0n. */
  readonly generation?: bigint
}

/** Seals rows for a store, and opens them. */
export interface SealedRows {
  seal(purpose: string, plaintext: Uint8Array): Promise<Uint8Array>
  open(purpose: string, sealed: Uint8Array): Promise<Uint8Array>
  /** Seals a record for its location. @returns The write. */
  put<Desc extends DescMessage>(place: Place, schema: Desc, record: MessageInitShape<Desc>): Promise<Op>
  putBytes(place: Place, bytes: Uint8Array): Promise<Op>
  read<Desc extends DescMessage>(place: Place, schema: Desc, sealed: Uint8Array): Promise<MessageShape<Desc>>
  readBytes(place: Place, sealed: Uint8Array): Promise<Uint8Array>
  /** Drops the keys in memory. */
  release(): void
}

const purposeOf = ({ space, table, key, generation = 0n }: Place) =>
  generation === 0n ? `messaging/${table}/v1 ${space} ${key}` : `messaging/${table}/v2 ${space} ${key} ${generation}`

/** @param scope The scope of one store. Its keys stay in memory for the lifetime of the messenger. */
export function sealedRows(box: SecretBox, scope: SecretScope): SealedRows {
  const stored = box.hold?.(scope)
  const rows: SealedRows = {
    seal: (purpose, plaintext) => stored?.seal(purpose, plaintext) ?? box.seal(scope, purpose, plaintext),
    open: (purpose, sealed) => stored?.open(purpose, sealed) ?? box.open(scope, purpose, sealed),
    release: () => stored?.release(),
    async putBytes(place, bytes) {
      const { space, table, key } = place
      return { op: "put", space, table, key, value: await rows.seal(purposeOf(place), bytes) }
    },
    put: (place, schema, record) => rows.putBytes(place, toBinary(schema, create(schema, record))),
    readBytes: (place, sealed) => rows.open(purposeOf(place), sealed),
    async read(place, schema, sealed) {
      return fromBinary(schema, await rows.readBytes(place, sealed))
    },
  }
  return rows
}
