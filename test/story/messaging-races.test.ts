// Races in large numbers on PostgreSQL, where transactions run concurrently, and a subscriber that does not read.
import { once } from "node:events"
import { connect } from "node:http2"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { afterAll, beforeAll, expect, test, vi } from "vitest"
import { commitRound } from "../conformance/rounds.ts"
import { refusal, type Scene, sceneOf } from "../conformance/scene.ts"
import { type Served, serve } from "../conformance/serve.ts"
import { effort, isLong } from "../support/effort.ts"
import { newClaimId } from "../support/messaging/committing.ts"
import type { TestDevice } from "../support/messaging/device.ts"
import { hexOf } from "../support/messaging/device-parts.ts"
import { developmentWorld } from "../support/messaging/world.ts"
import { createTestDatabase, describeOnPostgres } from "../support/postgres.ts"

vi.setConfig({ testTimeout: effort(120_000, 900_000, 3_600_000) })

describeOnPostgres("races of messaging", () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>
  let served: Served
  let scene: Scene
  beforeAll(async () => {
    database = await createTestDatabase()
    served = await serve(database.url)
    scene = sceneOf(developmentWorld(served.url), "gRPC", createGrpcTransport({ baseUrl: served.url }))
  })
  afterAll(async () => {
    await served?.close()
    await database?.drop()
  })

  test.runIf(isLong)(
    "of two to twelve commits at one epoch exactly one is accepted, and the log has no gap",
    async () => {
      const devices: TestDevice[] = []
      for (let i = 0; i < 4; i++) devices.push(await scene.device())
      const { id } = await scene.group(...devices)
      const rounds = effort(10, 50, 1_000)
      for (let round = 0; round < rounds; round++) {
        // Access tokens expire after ten minutes.
        if (round % 100 === 99) for (const one of devices) one.credentials.token = await one.session.refresh()
        await commitRound(id, devices, 2 + (round % 11))
      }
      const [room] = devices.map((device) => device.room(id))
      expect(room?.seq).toBe(BigInt(rounds + 1))
      expect(room?.epoch).toBe(BigInt(rounds + 1))
    },
  )

  test.runIf(isLong)("fifty parallel claims of ten packages get each package once", async () => {
    for (let round = 0; round < effort(1, 5, 50); round++) {
      const [one, two] = await scene.pair()
      const room = await scene.group(one, two)
      const target = await scene.device({ keyPackages: 10 })
      const outcomes = await Promise.allSettled(
        Array.from({ length: 50 }, (_, i) =>
          (i % 2 === 0 ? one : two).calls.keyPackages.claimKeyPackages({
            claimId: newClaimId(),
            conversationId: room.id,
            userIds: [target.userId],
          }),
        ),
      )
      const refused = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason] : []))
      const reasons = await Promise.all(refused.map(async (error) => (await refusal(Promise.reject(error))).reason))
      expect([...new Set(reasons)]).toEqual(["NO_KEY_PACKAGE"])
      const given = outcomes.flatMap((outcome) =>
        outcome.status === "fulfilled" ? (outcome.value.claim?.keyPackages ?? []) : [],
      )
      expect(given).toHaveLength(10)
      expect(new Set(given.map(({ keyPackageRef }) => hexOf(keyPackageRef))).size).toBe(10)
    }
  })

  test.runIf(isLong)(
    "a subscriber that reads nothing blocks nobody, and gets the newest hint when it reads again",
    async () => {
      const [one, two] = await scene.pair()
      const room = await scene.group(one, two)
      const stalled = await openAndStall(served.url, two)
      const controller = new AbortController()
      const reader = two.calls.conversations.subscribe({ includeEnvelopes: true }, { signal: controller.signal })
      let seen = 0n
      const reading = (async () => {
        for await (const { event } of reader) if (event.case === "envelopeAvailable") seen = event.value.headSeq
      })().catch(() => {})
      const large = "x".repeat(30_000)
      const times: number[] = []
      let last = 0n
      // More than all windows and queues together hold.
      for (let i = 0; i < 150; i++) {
        const began = performance.now()
        last = (await one.send(room, large)).seq
        times.push(performance.now() - began)
      }
      await expect.poll(() => seen).toBe(last)
      expect(times.toSorted((a, b) => a - b).at(-1)).toBeLessThan(20_000)
      await stalled.readUntil(`"headSeq":"${last}"`)
      controller.abort()
      await reading
    },
  )
})

/** A stream that reads 64 KiB and then stops until it is resumed. */
async function openAndStall(url: string, device: TestDevice) {
  const body = JSON.stringify({ includeEnvelopes: true })
  const head = Buffer.alloc(5)
  head.writeUInt32BE(body.length, 1)
  const session = connect(url)
  const stream = session.request({
    ":method": "POST",
    ":path": "/signet.messaging.v1.ConversationService/Subscribe",
    authorization: `Bearer ${device.credentials.token}`,
    "content-type": "application/connect+json",
    "connect-protocol-version": "1",
  })
  stream.end(Buffer.concat([head, Buffer.from(body)]))
  await once(stream, "response")
  return {
    async readUntil(words: string) {
      let text = ""
      for await (const part of stream) {
        text = text.slice(-words.length) + String(part)
        if (text.includes(words)) break
      }
      expect(text).toContain(words)
      session.destroy()
    },
  }
}
