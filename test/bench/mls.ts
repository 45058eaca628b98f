import { encodeGroupState } from "ts-mls/clientState.js"
import { generateKeyPackage } from "ts-mls/keyPackage.js"
import { encodeMlsMessage } from "ts-mls/message.js"
import { utf8 } from "../../clients/core/messaging/crypto/bytes.ts"
import { makeWebSuite } from "../../clients/core/messaging/crypto/web-suite.ts"
import { encodeEpoch, encodeSecrets } from "../../clients/core/messaging/mls.ts"
import { bareCapabilities, bareSeat, bareSuite } from "../../clients/core/messaging/testing/bare-seat.ts"
import { lifetime, ourSeat, realTime, testEngine } from "../../clients/core/messaging/testing/our-seat.ts"
import type { Seat } from "../../clients/core/messaging/testing/seat.ts"
import { makeNodeSuite } from "../../clients/node/crypto/suite.ts"
import { clientName, loadOpenMls, openMlsGroupId, openMlsSeat } from "../interop/openmls-seat.ts"

/** One operation at one size. Milliseconds of CPU, the median of a few runs; absent where an engine has no such thing. */
export interface Row {
  readonly operation: string
  readonly members: number
  readonly ours: number
  readonly oursInBrowser: number | undefined
  readonly bare: number | undefined
  readonly openMls: number | undefined
  readonly "bare/ours": number | undefined
  readonly "OpenMLS/ours": number | undefined
}

/** An engine under test: two seats of it, and what writes its state down, if it can be asked. */
interface Contender {
  readonly key: "ours" | "oursInBrowser" | "bare" | "openMls"
  seat(number: number): Promise<Seat>
  encode?(seat: Seat): { readonly epoch?: () => unknown; readonly message: () => unknown }
}

/** `members` of the groups, each 2 to 1000. */
export const sizes = { usual: { members: [2, 10, 100] }, smallest: { members: [2] } }

/**
 * Measures our engine with the Node and the browser suite, ts-mls as published with its own provider, and OpenMLS
 * (core-crypto WASM), in one process.
 */
export async function run({ members: groupSizes }: typeof sizes.usual): Promise<Row[]> {
  await loadOpenMls()
  const contenders = await everyContender()
  const fillers = await keyPackages(Math.max(...groupSizes))
  // Once for nothing: the first run of every engine pays for its compilation.
  for (const contender of contenders) await measure(contender, Math.min(10, fillers.length), fillers)
  const rows: Row[] = []
  for (const members of groupSizes) {
    const results = new Map<Contender["key"], Map<string, number>>()
    for (const contender of contenders) results.set(contender.key, await measure(contender, members, fillers))
    const of = (key: Contender["key"], operation: string) => results.get(key)?.get(operation)
    for (const [operation, ours] of results.get("ours") ?? []) {
      const [bare, openMls] = [of("bare", operation), of("openMls", operation)]
      const others = { oursInBrowser: of("oursInBrowser", operation), bare, openMls }
      const ratios = { "bare/ours": bare && bare / ours, "OpenMLS/ours": openMls && openMls / ours }
      rows.push({ operation, members, ours, ...others, ...ratios })
    }
  }
  return rows
}

async function everyContender(): Promise<Contender[]> {
  const node = makeNodeSuite()
  const web = await makeWebSuite()
  const ours = (suite: typeof node, key: "ours" | "oursInBrowser"): Contender => {
    const seats = new Map<Seat, Awaited<ReturnType<typeof ourSeat>>>()
    return {
      key,
      async seat(number) {
        const seat = await ourSeat(suite, clientName(number), { engine: testEngine(suite, realTime) })
        seats.set(seat, seat)
        return seat
      },
      encode(seat) {
        const state = seats.get(seat)?.current()
        if (state === undefined) throw new Error("no state")
        return { epoch: () => encodeEpoch(state), message: () => encodeSecrets(state) }
      },
    }
  }
  const bare = new Map<Seat, Awaited<ReturnType<typeof bareSeat>>>()
  return [
    ours(node, "ours"),
    ours(web, "oursInBrowser"),
    {
      key: "bare",
      async seat(number) {
        const seat = await bareSeat(clientName(number))
        bare.set(seat, seat)
        return seat
      },
      encode(seat) {
        const state = bare.get(seat)?.state
        if (state === undefined) throw new Error("no state")
        return { message: () => encodeGroupState(state) }
      },
    },
    { key: "openMls", seat: openMlsSeat },
  ]
}

/** Members that only fill the tree; core-crypto wants them to know X.509 too. */
async function keyPackages(count: number): Promise<Uint8Array[]> {
  const cs = await bareSuite()
  const capabilities = { ...bareCapabilities, credentials: ["basic" as const, "x509" as const] }
  const span = { notBefore: BigInt(lifetime.notBefore), notAfter: BigInt(lifetime.notAfter) }
  const made: Uint8Array[] = []
  for (let i = 0; i < count; i++) {
    const credential = { credentialType: "basic" as const, identity: utf8(clientName(10 + i)) }
    const { publicPackage: keyPackage } = await generateKeyPackage(credential, capabilities, span, [], cs)
    made.push(encodeMlsMessage({ version: "mls10", wireformat: "mls_key_package", keyPackage }))
  }
  return made
}

async function measure(
  contender: Contender,
  members: number,
  fillers: readonly Uint8Array[],
): Promise<Map<string, number>> {
  const results = new Map<string, number>()
  const time = async <T>(operation: string, runs: number, act: () => Promise<T> | T): Promise<T> => {
    const { median, last } = await medianOf(runs, act)
    results.set(operation, median)
    return last
  }
  const [founder, other] = [await contender.seat(1), await contender.seat(2)]
  await time("key package", 15, () => founder.keyPackage())
  await time("create", 1, () => founder.create(openMlsGroupId))
  const joining = [...fillers.slice(0, members - 2), await other.keyPackage()]
  const added = await time("add all", 1, () => founder.add(joining))
  await time("join", 1, () => other.join(added.welcome ?? new Uint8Array(), added.tree))
  const updates: number[] = []
  const processes: number[] = []
  for (let i = 0; i < 3; i++) {
    const update = await medianOf(1, () => founder.update())
    updates.push(update.median)
    processes.push((await medianOf(1, () => other.process(update.last.commit))).median)
  }
  results.set("update", middle(updates))
  results.set("process update", middle(processes))
  const messages: Uint8Array[] = []
  await time("encrypt", 25, async () =>
    messages.push(await founder.encrypt("a message of ordinary length, say sixty bytes")),
  )
  const queue = messages.values()
  await time("decrypt", 25, async () => other.decrypt(queue.next().value ?? new Uint8Array()))
  const encode = contender.encode?.(other)
  if (encode?.epoch !== undefined) await time("encode, a commit", 5, encode.epoch)
  if (encode !== undefined) await time("encode, a message", 5, encode.message)
  return results
}

async function medianOf<T>(runs: number, act: () => Promise<T> | T): Promise<{ median: number; last: T }> {
  const times: number[] = []
  const timed = async (): Promise<T> => {
    const before = process.cpuUsage()
    const result = await act()
    const { user, system } = process.cpuUsage(before)
    times.push((user + system) / 1000)
    return result
  }
  let last = await timed()
  while (times.length < runs) last = await timed()
  return { median: middle(times), last }
}

function middle(times: readonly number[]): number {
  return [...times].sort((a, b) => a - b)[times.length >> 1] ?? 0
}
