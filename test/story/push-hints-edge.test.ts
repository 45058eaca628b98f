// Push hints of the Worker: the alarm of a device's object sends them.
import { afterAll, beforeAll, expect, test } from "vitest"
import { failureOf } from "../../clients/core/errors.ts"
import { PushKind } from "../../gen/es/signet/messaging/v1/push_service_pb.ts"
import { pushLimits } from "../../server/kernel/messaging/push.ts"
import { type EdgeServer, startEdgeServer } from "../support/edge-server.ts"
import { isLong } from "../support/effort.ts"
import { newDevice, type TestDevice } from "../support/messaging/device.ts"
import { storyStore } from "../support/postgres.ts"
import { type FakePushProvider, pushSettings, startFakePushProvider } from "../support/push-provider.ts"

let server: EdgeServer
let provider: FakePushProvider

beforeAll(async () => {
  provider = await startFakePushProvider()
  server = await startEdgeServer({ store: storyStore, push: pushSettings() })
})
afterAll(async () => {
  await server?.close()
  await provider?.close()
})

let people = 0

async function deviceOf(): Promise<TestDevice> {
  const device = await newDevice(server.transport, await server.person(`person ${people++}`))
  await device.register()
  await device.upload(3)
  return device
}

const pathsOf = () => provider.received.map(({ path }) => path)
/** Calls the server meanwhile: it closes a connection that is idle for 5 seconds, perhaps while the next call is sent. */
async function pushes(caller: TestDevice, path: string, count: number): Promise<void> {
  const arrived = async () => {
    await caller.calls.pushes.getPushSettings({})
    return pathsOf().filter((one) => one === path).length
  }
  await expect.poll(arrived, { interval: 500, timeout: 60_000 }).toBe(count)
}
const refusal = (call: Promise<unknown>) =>
  call.then(
    () => "none",
    (error: unknown) => failureOf(error)?.reason,
  )

test.runIf(isLong)(
  "a message sends one push without content, a redirect is not followed, and 410 ends the endpoint",
  async () => {
    const [ann, ben] = [await deviceOf(), await deviceOf()]
    const room = await ann.createDirect(ben.userId)
    const { kinds, publicKey } = await ben.calls.pushes.getPushSettings({})
    expect([kinds, publicKey.length]).toEqual([[PushKind.WEB_PUSH], 65])
    await ben.calls.pushes.setPushEndpoint({ kind: PushKind.WEB_PUSH, url: `${provider.url}/a` })
    provider.answer({ status: 307, location: `${provider.url}/secret` }, { status: 410 })
    await ann.send(room, "one")
    await pushes(ann, "/a", 1)
    const [push] = provider.received
    expect(push?.body).toHaveLength(0)
    expect(push?.headers).toMatchObject({ topic: "signet", ttl: "86400" })
    expect(push?.headers.authorization).toMatch(/^vapid t=/)
    for (const named of [ann.userId, ben.userId, ben.id, room.id]) expect(JSON.stringify(push)).not.toContain(named)
    // Only in the long form: each next push waits for the device's interval.
    if (!isLong) return
    // The endpoint is deleted after the next push.
    await ann.send(room, "two")
    await pushes(ann, "/a", 2)
    await ann.send(room, "three")
    const setAtMs = Date.now()
    await ben.calls.pushes.setPushEndpoint({ kind: PushKind.WEB_PUSH, url: `${provider.url}/b` })
    await ann.send(room, "four")
    await pushes(ann, "/b", 1)
    // The deleted endpoint does not end the device's interval.
    expect(Date.now() - setAtMs).toBeGreaterThanOrEqual(pushLimits.everyMs)
    expect(pathsOf()).toEqual(["/a", "/a", "/b"])
  },
)

test.runIf(isLong)("the Worker refuses webhooks and hosts that are not listed", async () => {
  const ben = await deviceOf()
  const set = (kind: PushKind, url: string) => refusal(ben.calls.pushes.setPushEndpoint({ kind, url }))
  expect(await set(PushKind.WEBHOOK, `${provider.url}/a`)).toBe("INVALID_FIELD")
  expect(await set(PushKind.WEB_PUSH, "https://evil.example/a")).toBe("INVALID_FIELD")
  expect(await set(PushKind.WEB_PUSH, "http://169.254.169.254/a")).toBe("INVALID_FIELD")
})
