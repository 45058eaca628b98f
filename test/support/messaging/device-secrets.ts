import { DeviceRecordSchema, KeyPackageRecordSchema, OutboxRecordSchema } from "@signet/proto/client/v1/records"
import { expect } from "vitest"
import type { Context } from "../../../clients/core/messaging/context.ts"
import { deviceSpace } from "../../../clients/core/messaging/store/store.ts"
import { secretsIn } from "../../../clients/core/messaging/testing/secrets.ts"

/** All secrets in a device's store and in its memory. */
export async function secretsOf(context: Context): Promise<Uint8Array[]> {
  const { store, rows } = context
  const secrets: Uint8Array[] = []
  for (const space of await store.spaces()) {
    for (const { key, value } of await store.list(space, "keyPackage")) {
      const { secret } = await rows.read({ space, table: "keyPackage", key }, KeyPackageRecordSchema, value)
      for (let at = 0; at + 32 <= secret.length; at++) secrets.push(secret.slice(at, at + 32))
    }
    if (space === deviceSpace) continue
    const conversation = context.conversation(space)
    for (const { record } of await conversation.pending("outbox", OutboxRecordSchema)) {
      secrets.push(record.plaintext, record.message)
    }
    const { local } = await conversation.stored()
    if (local !== undefined) secrets.push(...secretsIn(local.group))
  }
  const place = { space: deviceSpace, table: "device", key: "self" } as const
  const [sealed = new Uint8Array()] = (await store.read(deviceSpace, [place])).values
  const { key, formerKeys, nextKey } = await rows.read(place, DeviceRecordSchema, sealed)
  for (const one of [key, ...formerKeys, nextKey]) if (one !== undefined) secrets.push(one.seed)
  expect(secrets.length).toBeGreaterThan(100)
  return secrets.filter(({ length }) => length >= 10)
}
