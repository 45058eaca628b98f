// The history of a run: everything that passes between devices and their hosts, in its order.
import { createHash } from "node:crypto"
import { create, type DescMessage, type MessageShape, toBinary, toJsonString } from "@bufbuild/protobuf"
import type { Transport } from "@connectrpc/connect"
import { failureOf } from "../../../clients/core/errors.ts"
import type { MessagingStore, Op } from "../../../clients/core/messaging/store/store.ts"
import { reasonOf } from "../reason-of.ts"

interface Entry {
  /** The simulated time, the device, and the event, with a hash in the place of many bytes. */
  readonly text: string
  /** The same, readable. */
  readonly detail: (() => string) | undefined
}

export interface History {
  readonly entries: readonly Entry[]
  add(device: string, what: string, detail?: () => string): void
}

export function createHistory(nowMs: () => number): History {
  const entries: Entry[] = []
  const startMs = nowMs()
  return {
    entries,
    add: (device, what, detail) => void entries.push({ text: `${nowMs() - startMs} ${device} ${what}`, detail }),
  }
}

const context = 6

/** Describes the first entry at which two histories differ, with the entries around it; undefined for equal ones. */
export function differenceOf(one: History["entries"], other: History["entries"]): string | undefined {
  const length = Math.max(one.length, other.length)
  const isSame = (i: number) => one[i]?.text === other[i]?.text
  for (let at = 0; at < length; at++) {
    if (isSame(at)) continue
    const shown = (history: History["entries"]) => [
      history[at]?.detail?.() ?? "",
      ...history.slice(at, at + context).map(({ text }) => `  ${text}`),
    ]
    return [
      `the histories differ at entry ${at} of ${one.length} and ${other.length}. Before it:`,
      ...one.slice(Math.max(0, at - context), at).map(({ text }) => `  ${text}`),
      "the one:",
      ...shown(one),
      "the other:",
      ...shown(other),
    ].join("\n")
  }
  return undefined
}

const shortest = 40

export function bytesText(bytes: Uint8Array): string {
  if (bytes.length <= shortest) return Buffer.from(bytes).toString("hex")
  return `${bytes.length} bytes ${createHash("sha256").update(bytes).digest("hex").slice(0, 16)}`
}

/** Writes a value with sorted keys. An error is its reason: its text is the platform's. */
export function textOf(value: unknown): string {
  const replaced = (_: string, one: unknown): unknown => {
    if (typeof one === "bigint") return String(one)
    if (one instanceof Uint8Array) return bytesText(one)
    if (one instanceof Error) return `${reasonOf(one)} ${failureOf(one)?.code ?? ""}`
    if (typeof one !== "object" || one === null || Array.isArray(one)) return one
    return Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
  }
  return JSON.stringify(value, replaced) ?? "nothing"
}

/** Records the requests of a device that reach the service, with token and proof, and the service's answers. */
export function recordedService(service: Transport, device: string, history: History): Transport {
  const bytesOf = <Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>) =>
    bytesText(toBinary(schema, message))
  return {
    async unary(method, signal, timeoutMs, header, input, values) {
      const headers = new Headers(header)
      const credentials = ["authorization", "signet-device-proof"].map((name) => headers.get(name) ?? "-")
      const shown = bytesText(new TextEncoder().encode(credentials.join()))
      const { name } = method
      const message = create(method.input, input)
      const asJson = () => toJsonString(method.input, message)
      history.add(
        device,
        `requests ${name} ${shown} ${bytesOf(method.input, message)}`,
        () => `${credentials} ${asJson()}`,
      )
      try {
        const answer = await service.unary(method, signal, timeoutMs, header, input, values)
        history.add(device, `receives ${name} ${bytesOf(method.output, answer.message)}`)
        return answer
      } catch (error) {
        history.add(device, `receives ${name} ${textOf(error)}`)
        throw error
      }
    },
    stream: (...call) => service.stream(...call),
  }
}

/** Records the transactions of a store. The box of the simulation hides nothing, so rows are plaintext. */
export function recordedStore(store: MessagingStore, device: string, history: History): MessagingStore {
  const opText = (op: Op) =>
    [op.space ?? "", op.op, op.table, op.key, "value" in op ? bytesText(op.value) : ""].join(" ")
  const full = (op: Op) =>
    "value" in op
      ? Buffer.from(op.value)
          .toString("latin1")
          .replace(/[^ -~]/g, ".")
      : ""
  return {
    ...store,
    async transact(space, generation, ops) {
      const outcome = await store.transact(space, generation, ops)
      const detail = () => ops.map(full).join("\n")
      history.add(device, `writes ${space} ${generation} ${outcome}: ${ops.map(opText).join(", ")}`, detail)
      return outcome
    },
  }
}
