// Calls that require a device proof, without a valid one. Each is refused and changes nothing.
import { create, toBinary } from "@bufbuild/protobuf"
import { ConnectError } from "@connectrpc/connect"
import { issueDeviceProof } from "@signet/canonical/device-proof"
import { idOf, parseId } from "@signet/kernel/ids"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import {
  KeyPackageService,
  RetireKeyPackagesRequestSchema,
  UploadKeyPackagesRequestSchema,
} from "@signet/proto/messaging/v1/key_package_service"
import { CompiledQuery } from "kysely"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { sweepMessaging } from "../../server/store/postgres/messaging/sweep.ts"
import { protocols, refusal } from "../support/clients.ts"
import { proofHeader, proofOf } from "../support/messaging/calls.ts"
import { newDevice, type TestDevice } from "../support/messaging/device.ts"
import { bytesOf, newLeafKey, randomBytes } from "../support/messaging/device-parts.ts"
import { type MessagingServer, startMessagingServer } from "../support/messaging/test-server.ts"
import { storyStore } from "../support/postgres.ts"

let server: MessagingServer
let ada: TestDevice
let bob: TestDevice
const [overConnect] = Object.values(protocols)

beforeAll(async () => {
  server = await startMessagingServer({ store: storyStore })
  ada = await newDevice(connect(), await server.person("ada"))
  bob = await newDevice(connect(), await server.person("bob"))
  await ada.register()
  await bob.register()
})
afterAll(() => server?.close())

const connect = (over = overConnect) => over?.(server.url) ?? expect.fail()
const retire = KeyPackageService.method.retireKeyPackages
const request = create(RetireKeyPackagesRequestSchema, { keyPackageRefs: [new Uint8Array(32).fill(1)] })
const keyOf = ({ id, key }: TestDevice) => ({ id: bytesOf("dev", id), signer: key.signer })
const send = (proof: string, device = ada, message = request) =>
  device.calls.keyPackages.retireKeyPackages(message, { headers: { [proofHeader]: proof } })

/** Returns "CODE REASON" of the refusal, followed by the code of the proof's fault. */
async function whyRefused(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => undefined,
    (thrown) => ConnectError.from(thrown),
  )
  const info = error?.findDetails(ErrorInfoSchema)[0]
  return `${info?.reason} ${info?.metadata.code ?? ""}`.trim()
}

describe.each(Object.entries(protocols))("over %s", (_, over) => {
  test("a proof is required and is accepted once", async () => {
    const device = await newDevice(over(server.url), ada.session)
    Object.assign(device, { id: ada.id, key: ada.key })
    expect(await refusal(device.calls.keyPackages.retireKeyPackages(request))).toBe(
      "Unauthenticated PROOF_OF_POSSESSION_REQUIRED",
    )
    const proof = await proofOf(keyOf(ada), retire, request)
    await send(proof, device)
    expect(await whyRefused(send(proof, device))).toBe("DEVICE_PROOF_INVALID DEVICE_PROOF_REPLAYED")
  })
})

test("a used proof stays used after a sweep, for as long as it is valid", async () => {
  const second = 1_000
  const now = () => server.deps.clock.nowMs()
  const atMs = now() + 50 * second
  const proof = await proofOf(keyOf(ada), retire, request, { atMs })
  await send(proof)
  let advancedMs = 0
  /** Sets the time after the proof's own, whatever time the steps before took. */
  const advanceTo = (seconds: number) => {
    const ms = atMs + seconds * second - now()
    advancedMs += ms
    server.advance(ms)
  }
  try {
    for (const seconds of [10, 40]) {
      advanceTo(seconds)
      await sweepMessaging(server.store.db, now())
      expect(await whyRefused(send(proof))).toBe("DEVICE_PROOF_INVALID DEVICE_PROOF_REPLAYED")
    }
    advanceTo(65)
    expect(await whyRefused(send(proof))).toBe("DEVICE_PROOF_INVALID DEVICE_PROOF_EXPIRED")
  } finally {
    // The other tests use the system's time.
    server.advance(-advancedMs)
  }
})

describe("a proof", () => {
  test.each<[string, string, () => Promise<string>]>([
    ["that is malformed", "DEVICE_PROOF_MALFORMED", async () => "no proof"],
    ["that is empty bytes", "DEVICE_PROOF_MALFORMED", async () => "AA"],
    ["that is too long", "DEVICE_PROOF_MALFORMED", async () => "A".repeat(513)],
    [
      "with a byte after its end",
      "DEVICE_PROOF_MALFORMED",
      async () => {
        const bytes = Buffer.from(await proofOf(keyOf(ada), retire, request), "base64url")
        return Buffer.concat([bytes, Buffer.of(0)]).toString("base64url")
      },
    ],
    [
      "with a flipped bit",
      "DEVICE_PROOF_BAD_SIGNATURE",
      async () => {
        const bytes = Buffer.from(await proofOf(keyOf(ada), retire, request), "base64url")
        return bytes.fill((bytes.at(-1) ?? 0) ^ 1, bytes.length - 1).toString("base64url")
      },
    ],
    ["of another device", "DEVICE_PROOF_KEY_MISMATCH", () => proofOf(keyOf(bob), retire, request)],
    [
      "by another device's key in this one's name",
      "DEVICE_PROOF_KEY_MISMATCH",
      () => proofOf({ ...keyOf(bob), id: bytesOf("dev", ada.id) }, retire, request),
    ],
    [
      "by this key in another device's name",
      "DEVICE_PROOF_WRONG_DEVICE",
      () => proofOf({ ...keyOf(ada), id: bytesOf("dev", bob.id) }, retire, request),
    ],
    [
      "for another request",
      "DEVICE_PROOF_WRONG_BODY",
      () => proofOf(keyOf(ada), retire, create(RetireKeyPackagesRequestSchema)),
    ],
    [
      "for another method",
      "DEVICE_PROOF_WRONG_METHOD",
      () => proofOf(keyOf(ada), { ...retire, name: "ClaimKeyPackages", parent: retire.parent }, request),
    ],
    [
      "for a method of another service",
      "DEVICE_PROOF_WRONG_METHOD",
      () =>
        proofOf(keyOf(ada), { ...retire, name: retire.name, parent: { typeName: "signet.messaging.v2.X" } }, request),
    ],
    [
      "of a minute ago",
      "DEVICE_PROOF_EXPIRED",
      () => proofOf(keyOf(ada), retire, request, { atMs: Date.now() - 62_000 }),
    ],
    [
      "of a minute ahead",
      "DEVICE_PROOF_NOT_YET_VALID",
      () => proofOf(keyOf(ada), retire, request, { atMs: Date.now() + 62_000 }),
    ],
  ])("%s is refused", async (_, code, proof) => {
    expect(await whyRefused(send(await proof()))).toBe(`DEVICE_PROOF_INVALID ${code}`)
  })

  test("that was refused does not use up its nonce", async () => {
    const nonce = randomBytes(16)
    const call = { deviceId: bytesOf("dev", ada.id), method: "/x/y", request: toBinary(retire.input, request) }
    const wrong = await issueDeviceProof(call, nonce, BigInt(Math.floor(Date.now() / 1_000)), ada.key.signer)
    expect(await whyRefused(send(Buffer.from(wrong).toString("base64url")))).toContain("WRONG_METHOD")
    await send(await proofOf(keyOf(ada), retire, request, { nonce }))
  })

  test("with a nonce that another device used is accepted", async () => {
    const nonce = randomBytes(16)
    await send(await proofOf(keyOf(ada), retire, request, { nonce }))
    await send(await proofOf(keyOf(bob), retire, request, { nonce }), bob)
  })

  test("in concurrent calls is accepted once", async () => {
    const proof = await proofOf(keyOf(ada), retire, request)
    const done = await Promise.allSettled(Array.from({ length: 8 }, () => send(proof)))
    expect(done.filter(({ status }) => status === "fulfilled")).toHaveLength(1)
  })

  test("by the key before a renewal is accepted until the former credential expires", async () => {
    const device = await newDevice(connect(), await server.person("cleo"))
    await device.register()
    const former = keyOf(device)
    await device.renew(newLeafKey())
    await send(await proofOf(former, retire, request), device)
    await send(await proofOf(keyOf(device), retire, request), device)
  })
})

describe("without a device", () => {
  test("a call that requires a device is refused, even with a device's proof", async () => {
    const session = await server.person("dora")
    const nobody = await newDevice(connect(), session)
    expect(await refusal(nobody.calls.keyPackages.getInventory({}))).toBe("Unauthenticated DEVICE_REQUIRED")
    expect(await refusal(nobody.calls.welcomes.listWelcomes({}))).toBe("Unauthenticated DEVICE_REQUIRED")
    expect(await whyRefused(send(await proofOf(keyOf(ada), retire, request), nobody))).toBe("DEVICE_REQUIRED")
  })

  test("a token from before the registration names no device", async () => {
    const session = await server.person("eve")
    const device = await newDevice(connect(), session)
    const before = session.accessToken
    await device.register()
    device.credentials.token = before
    expect(await refusal(device.calls.keyPackages.getInventory({}))).toBe("Unauthenticated DEVICE_REQUIRED")
  })
})

describe("a token", () => {
  test("of a device that was revoked later is refused in each call", async () => {
    const device = await newDevice(connect(), await server.person("fay"))
    await device.register()
    const id = parseId("dev", device.id) ?? expect.fail()
    // Revokes the device but not its session, as if the session's end had not been propagated yet.
    const revoke = "update messaging_device set status = 'REVOKED', revoked_at = now() where id = $1"
    await server.store.db.executeQuery(CompiledQuery.raw(revoke, [id]))
    expect(await refusal(device.calls.keyPackages.getInventory({}))).toBe("PermissionDenied DEVICE_REVOKED")
    expect(await refusal(device.upload(1))).toBe("PermissionDenied DEVICE_REVOKED")
    expect(await refusal(device.renew())).toBe("PermissionDenied DEVICE_REVOKED")
  })

  test("cannot renew another device or a missing one, with the same refusal", async () => {
    const missing = idOf("dev", randomBytes(16))
    const ask = (deviceId: string) =>
      refusal(ada.calls.devices.renewCredential({ deviceId, deviceRequest: new Uint8Array(1) }))
    expect(await ask(bob.id)).toBe("PermissionDenied RESOURCE_UNRESOLVED")
    expect(await ask(missing)).toBe("PermissionDenied RESOURCE_UNRESOLVED")
  })

  test("cannot revoke another user's device or a missing one, with the same refusal", async () => {
    const ask = (deviceId: string) => refusal(ada.calls.devices.revokeDevice({ deviceId }))
    expect(await ask(bob.id)).toBe("NotFound NOT_FOUND")
    expect(await ask(idOf("dev", randomBytes(16)))).toBe("NotFound NOT_FOUND")
  })
})

test("the proof of a JSON request covers its binary encoding", async () => {
  const message = create(UploadKeyPackagesRequestSchema, { packages: [{ keyPackage: new Uint8Array([1]) }] })
  for (const over of Object.values(protocols)) {
    const device = await newDevice(over(server.url), ada.session)
    device.credentials.token = ada.session.accessToken
    device.credentials.device = keyOf(ada)
    // The proof is accepted; the package is refused.
    expect(await refusal(device.calls.keyPackages.uploadKeyPackages(message))).toBe("InvalidArgument MLS_MALFORMED")
  }
})
