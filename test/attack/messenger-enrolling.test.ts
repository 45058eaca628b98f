// What a hostile service may answer to a registration: a validly signed credential of another device, or for another
// purpose. And what a messenger reports about itself: the newest commit that it saw.
import { decode } from "@signet/canonical/canonical"
import { parseEnvelopeAad } from "@signet/canonical/envelope-aad"
import { hash } from "@signet/canonical/hash"
import { parseSigned } from "@signet/canonical/signed"
import type { DeviceId, PrincipalId } from "@signet/kernel/ids"
import { idOf } from "@signet/kernel/ids"
import type { CredentialFacts } from "@signet/kernel/messaging/authority"
import { DeviceCredentialBodyV1Schema } from "@signet/proto/credential/v1/device_credential"
import { EnvelopeKind } from "@signet/proto/credential/v1/envelope_aad"
import type { ListDevicesResponse, RegisterDeviceResponse } from "@signet/proto/messaging/v1/device_service"
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest"
import { frameOf } from "../../clients/core/messaging/mls.ts"
import { isLong } from "../support/effort.ts"
import { newDevice } from "../support/messaging/device.ts"
import { bytesOf, newLeafKey, randomBytes } from "../support/messaging/device-parts.ts"
import { type LyingTransport, lyingTransport } from "../support/messaging/lying-transport.ts"
import { type Messengers, messengersOn } from "../support/messaging/messengers.ts"
import { type MessagingServer, startMessagingServer } from "../support/messaging/test-server.ts"
import { storyStore } from "../support/postgres.ts"

let server: MessagingServer
let messengers: Messengers
let transport: LyingTransport
beforeAll(async () => {
  server = await startMessagingServer({ store: storyStore })
  messengers = messengersOn(server, { keyPackages: 2 })
  transport = lyingTransport(messengers.transport)
})
beforeEach(() => {
  transport.bend = undefined
})
afterAll(async () => {
  await messengers?.close()
  await server?.close()
})

/** Returns the credential, issued again with a change. */
async function reissued(credential: Uint8Array, change: Partial<CredentialFacts>): Promise<Uint8Array> {
  const said = decode(DeviceCredentialBodyV1Schema, parseSigned(DeviceCredentialBodyV1Schema, credential).body)
  const facts: CredentialFacts = {
    place: { appId: server.app.id, tenantId: null },
    userId: idOf("prn", said.userId),
    deviceId: idOf("dev", said.deviceId),
    leafKey: said.leafSignatureKey,
    serial: said.serial,
    notBeforeMs: Number(said.notBefore) * 1_000,
    notAfterMs: Number(said.notAfter) * 1_000,
    flags: said.flags,
    ...change,
  }
  return (await server.messaging.deps.authority.issueCredential(facts, new Uint8Array())).bytes
}

const day = 86_400_000

test.each<[string, () => Partial<CredentialFacts>]>([
  ["of another user", () => ({ userId: idOf("prn", randomBytes(16)) as PrincipalId })],
  ["of another device", () => ({ deviceId: idOf("dev", randomBytes(16)) as DeviceId })],
  ["of another app", () => ({ place: { appId: idOf("app", randomBytes(16)), tenantId: null } })],
  ["of a tenant", () => ({ place: { appId: server.app.id, tenantId: idOf("ten", randomBytes(16)) } })],
  ["for another key", () => ({ leafKey: newLeafKey().publicKey })],
  ["of tomorrow", () => ({ notBeforeMs: Date.now() + day, notAfterMs: Date.now() + 9 * day })],
])("a device does not take a credential %s for its own", async (name, change) => {
  transport.bend = {
    method: "RegisterDevice",
    async answer(truth) {
      const { device } = truth as RegisterDeviceResponse
      if (device !== undefined) device.credential = await reissued(device.credential, change())
    },
  }
  const opening = messengers.newcomer(`registers with a credential ${name}`, { transport })
  await expect(opening).rejects.toMatchObject({ name: "MessagingError", reason: "ANSWER_REFUSED" })
})

test("a device accepts its own credential, issued again", async () => {
  transport.bend = {
    method: "RegisterDevice",
    async answer(truth) {
      const { device } = truth as RegisterDeviceResponse
      if (device !== undefined) device.credential = await reissued(device.credential, {})
    },
  }
  const { messenger } = await messengers.newcomer("registers as it should", { transport })
  expect(messenger.deviceId).toMatch(/^dev_/)
})

test.runIf(isLong)("a device that the service falsely shows as the user's own is not added", async () => {
  const ann = await messengers.newcomer("ann", { transport })
  const ben = await messengers.newcomer("ben")
  const { id } = await ann.messenger.createGroupConversation([ben.person.userId])
  await messengers.open(await ann.person.again())
  transport.bend = {
    method: "ListDevices",
    answer(truth) {
      const other = (truth as ListDevicesResponse).devices.find((one) => one.id !== ann.messenger.deviceId)
      if (other !== undefined) other.id = idOf("dev", randomBytes(16))
    },
  }
  const failures: unknown[] = []
  const stop = ann.messenger.subscribe((event) => event.is === "failed" && failures.push(event.error))
  await ann.messenger.sync()
  stop()
  expect(failures).toContainEqual(expect.objectContaining({ name: "MessagingError", reason: "ANSWER_REFUSED" }))
  const { conversation } = await (await seat(ann.person, id)).getConversation()
  expect(conversation?.members).toHaveLength(2)
})

test.runIf(isLong)("a message names the newest commit that its sender saw, so that others detect a fork", async () => {
  const eve = await messengers.newcomer("eve")
  const hal = await messengers.newcomer("hal")
  const { id } = await eve.messenger.createGroupConversation([hal.person.userId])
  await eve.messenger.send(id, new TextEncoder().encode("hello"))
  await eve.messenger.sync()
  await hal.messenger.sync()
  const ida = await messengers.newcomer("ida")
  await hal.messenger.addMembers(id, [ida.person.userId])
  await hal.messenger.send(id, new TextEncoder().encode("hello to three"))
  await hal.messenger.sync()
  await eve.messenger.sync()
  const { envelopes } = await server.messaging.deps.store.conversations.messages(idOf("cnv", bytesOf("cnv", id)), 0n, {
    limit: 50,
    maxBytes: 2 ** 20,
  })
  const kinds = envelopes.map(({ kind }) => kind)
  expect(kinds).toEqual(["COMMIT", "APPLICATION", "COMMIT", "APPLICATION"])
  let newest = new Uint8Array()
  for (const { kind, message, receipt } of envelopes) {
    const aad = parseEnvelopeAad(frameOf(message).aad, {
      conversationId: bytesOf("cnv", id),
      kind: kind === "COMMIT" ? EnvelopeKind.COMMIT : EnvelopeKind.APPLICATION,
    })
    expect(aad.lastReceiptHash).toEqual(newest)
    if (receipt !== null) newest = new Uint8Array(hash("commit-receipt", receipt))
  }
})

/** Registers a new device of the user, and returns how that device reads the conversation. */
async function seat(person: Parameters<typeof newDevice>[1], conversationId: string) {
  const device = await newDevice(messengers.transport, await person.again())
  await device.register()
  return { getConversation: () => device.calls.conversations.getConversation({ conversationId }) }
}
