// A device renews its key, and the answer, the process or the session is lost: it stays the same device.
import { Code, ConnectError, type Transport } from "@connectrpc/connect"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { afterAll, beforeAll, expect, test } from "vitest"
import { hex } from "../../clients/core/messaging/crypto/bytes.ts"
import { openContext } from "../../clients/core/messaging/open.ts"
import type { MessagingStore } from "../../clients/core/messaging/store/store.ts"
import { renewCredential } from "../../clients/core/messaging/sync/sync.ts"
import { faultyStore, StoreFault } from "../../clients/core/messaging/testing/faulty-store.ts"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { isLong } from "../support/effort.ts"
import { type Messengers, messengersOn, type OpenedMessenger } from "../support/messaging/messengers.ts"
import { storyStore } from "../support/postgres.ts"

let server: Deployment
let messengers: Messengers
/** All tests share one device, and each leaves it usable. */
let ann: OpenedMessenger
let ben: OpenedMessenger
beforeAll(async () => {
  server = await startDeployment({ store: storyStore })
  messengers = messengersOn(server, { keyPackages: 2 })
  ;[ann, ben] = [await messengers.newcomer("ann"), await messengers.newcomer("ben")]
})
afterAll(async () => {
  await messengers?.close()
  await server?.close()
})

const utf8 = (text: string) => new TextEncoder().encode(text)

/** The service handles the requests, but its first answers to a renewal are lost. */
function losing(count: number): Transport {
  let lost = 0
  const { unary, stream } = messengers.transport
  return {
    stream,
    async unary(method, ...call) {
      const answer = await unary(method, ...call)
      if (method.name !== "RenewCredential" || lost++ >= count) return answer
      throw new ConnectError("lost on its way back", Code.Unavailable)
    },
  }
}

/** The same device in a new process. */
async function contextOf(
  { person, store, box }: OpenedMessenger,
  over: { transport?: Transport; store?: MessagingStore } = {},
) {
  return (await openContext(...messengers.optionsFor(person, { store, box, ...over }))).context
}

/**
 * Checks that it is the same device, that the service accepts its signatures, and that others read messages under its
 * new key.
 */
async function goesOn(opened: OpenedMessenger): Promise<void> {
  const anew = await messengers.open(opened.person, opened)
  expect(anew.messenger.deviceId).toBe(opened.messenger.deviceId)
  await anew.messenger.sync()
  const { id } = await anew.messenger.createDirectConversation(ben.person.userId)
  await anew.messenger.send(id, utf8("with the new key"))
  await ben.messenger.sync()
  expect((await ben.messenger.timeline(id)).at(-1)).toMatchObject({ plaintext: utf8("with the new key") })
}

test.each([2])("a device that loses the answer %i times has its new key in the end", async (count) => {
  const transport = losing(count)
  const first = (await contextOf(ann)).device.credentialHash()
  for (let i = 0; i < count; i++) {
    // A new process each time: it knows only the stored state.
    await expect(renewCredential(await contextOf(ann, { transport }))).rejects.toThrow("lost on its way back")
  }
  const context = await contextOf(ann, { transport })
  await renewCredential(context)
  expect(context.device.credentialHash()).not.toEqual(first)
  await goesOn(ann)
})

test.runIf(isLong)("a device whose process ends at any operation of its store continues", async () => {
  const counted = faultyStore(ann.store)
  await contextOf(ann, { store: counted })
  let ends = 0
  for (let at = 0; ; at++) {
    const store = faultyStore(ann.store, {
      at: counted.count + at,
      when: at % 2 === 0 ? "before" : "after",
      ends: true,
    })
    const context = await contextOf(ann, { store })
    const ended = await context.device.renew(context).then(
      () => undefined,
      (error: unknown) => error,
    )
    // The service accepts its signature.
    const { calls } = await contextOf(ann)
    await calls.keyPackages.retireKeyPackages({})
    if (ended === undefined) break
    expect(ended).toBeInstanceOf(StoreFault)
    ends++
  }
  // Before and after the key is stored, and twice between the answer and its storage.
  expect(ends).toBe(5)
  await goesOn(ann)
})

test.runIf(isLong)("a device that loses the answer, and whose user signs in again, is the same device", async () => {
  await expect(renewCredential(await contextOf(ann, { transport: losing(1) }))).rejects.toThrow("lost")
  await goesOn({ ...ann, person: await ann.person.again() })
})

test.runIf(isLong)(
  "a device that could not retire the key packages of its former key does so at the next sync",
  async () => {
    let retirements = 0
    const { unary, stream } = messengers.transport
    const transport: Transport = {
      stream,
      async unary(method, ...call) {
        if (method.name !== "RetireKeyPackages") return unary(method, ...call)
        if (retirements++ === 0) throw new ConnectError("out of reach", Code.Unavailable)
        return unary(method, ...call)
      },
    }
    const isMarked = async () => (await contextOf(ann)).device.marks.hasFormerKeyPackages
    await expect(renewCredential(await contextOf(ann, { transport }))).rejects.toThrow("out of reach")
    expect([retirements, await isMarked()]).toEqual([1, true])
    // A new process: it knows only the stored state.
    const { messenger } = await messengers.open(ann.person, { ...ann, transport })
    await messenger.sync()
    expect([retirements, await isMarked()]).toEqual([2, false])
    await messenger.sync()
    expect(retirements).toBe(2)
    await goesOn(ann)
  },
)

test("a device that returns when its former key is no longer accepted signs with the new one", async () => {
  await expect(renewCredential(await contextOf(ann, { transport: losing(1) }))).rejects.toThrow("lost")
  const signed: string[] = []
  const { unary, stream } = messengers.transport
  const transport: Transport = {
    stream,
    async unary(method, ...call) {
      if (method.name !== "RenewCredential") return unary(method, ...call)
      signed.push(hex(late.device.caller()?.signer.publicKey ?? new Uint8Array()))
      if (signed.length === 1) throw refusal("DEVICE_PROOF_INVALID")
      return unary(method, ...call)
    },
  }
  const late = await contextOf(ann, { transport })
  const former = hex(late.device.identity().signatureKey)
  await renewCredential(late)
  const now = hex(late.device.identity().signatureKey)
  expect(now).not.toBe(former)
  expect(signed).toEqual([former, now])
})

function refusal(reason: string): ConnectError {
  const value = { reason, domain: "signet" }
  return new ConnectError("refused", Code.Unauthenticated, undefined, [{ desc: ErrorInfoSchema, value }])
}
