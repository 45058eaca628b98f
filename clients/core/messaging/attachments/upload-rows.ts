import { type UploadRecord, UploadRecordSchema } from "@signet/proto/client/v1/records"
import type { Storage } from "../deps.ts"
import type { Op, Space } from "../store/store.ts"

type Needs = Storage

const placeOf = (space: Space, key: string) => ({ space, table: "upload", key }) as const

export const putUpload = ({ rows }: Needs, space: Space, id: string, record: UploadRecord): Promise<Op> =>
  rows.put(placeOf(space, id), UploadRecordSchema, record)

export const removeUpload = (id: string): Op => ({ op: "remove", table: "upload", key: id })

export async function readUpload({ store, rows }: Needs, space: Space, id: string): Promise<UploadRecord | undefined> {
  const place = placeOf(space, id)
  const [sealed] = (await store.read(space, [place])).values
  return sealed && rows.read(place, UploadRecordSchema, sealed)
}

export async function uploadsIn(
  { store, rows }: Needs,
  space: Space,
): Promise<{ readonly id: string; readonly record: UploadRecord }[]> {
  const found = await store.list(space, "upload")
  return Promise.all(
    found.map(async ({ key, value }) => ({
      id: key,
      record: await rows.read(placeOf(space, key), UploadRecordSchema, value),
    })),
  )
}
