// Effects: work that the host performs, and completes later.
import { create, fromBinary, type MessageInitShape, type MessageShape, toBinary } from "@bufbuild/protobuf"
import { type EffectFailure, EffectFailure_Kind, EffectResultSchema, EffectSchema } from "@signet/proto/host/v1/host"
import { errorOf as clientErrorOf } from "../../core/messaging/remote/errors.ts"
import { boxError } from "./box-failure.ts"
import { emit, HostError, output, type PrimitiveNumber, primitive, type Value } from "./host.ts"

type Asked = NonNullable<MessageInitShape<typeof EffectSchema>["effect"]>
type Answer = MessageShape<typeof EffectResultSchema>["result"]
type AnswerCase = Exclude<Answer["case"], undefined | "failure">
type AnswerOf<Case extends AnswerCase> = Extract<Answer, { case: Case }>["value"]

interface PerformOptions {
  readonly signal?: AbortSignal | undefined
  /** Takes each pushed message. @throws Error for malformed bytes. */
  readonly onPush?: (bytes: Uint8Array) => void
}

interface Pending {
  readonly settle: (answer: Answer) => void
  readonly fail: (error: unknown) => void
  readonly onPush: ((bytes: Uint8Array) => void) | undefined
}

let lastId = 0
const pending = new Map<number, Pending>()

/**
 * Emits an effect, and waits for its answer. An abort cancels the effect.
 *
 * @throws HostError, SecretBoxError, or the signal's reason.
 */
export async function perform<Case extends AnswerCase>(
  effect: Asked,
  expected: Case,
  { signal, onPush }: PerformOptions = {},
): Promise<AnswerOf<Case>> {
  signal?.throwIfAborted()
  const id = ++lastId
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const cancel = () => {
    if (!pending.delete(id)) return
    emit(output.CANCEL, id)
    reject(signal?.reason)
  }
  pending.set(id, { settle: resolve, fail: reject, onPush })
  signal?.addEventListener("abort", cancel)
  emit(output.EFFECT, id, toBinary(EffectSchema, create(EffectSchema, { effect })))
  try {
    const answer = await promise
    if (answer.case === "failure") throw errorOf(answer.value)
    return valueIn(answer, expected, effect.case ?? "nothing")
  } finally {
    signal?.removeEventListener("abort", cancel)
  }
}

function valueIn<Case extends AnswerCase>(answer: Answer, expected: Case, asked: string): AnswerOf<Case> {
  if (answer.case !== expected) throw refused(`${asked} with ${answer.case ?? "nothing"}`)
  // The case was compared, which the compiler does not follow for a type parameter.
  return answer.value as AnswerOf<Case>
}

const refused = (what: string) => new HostError("HOST_REFUSED", `the host answered ${what}`)

function errorOf({ kind, box, message, refusal }: EffectFailure): Error {
  if (refusal !== undefined) return clientErrorOf(refusal)
  if (kind === EffectFailure_Kind.BOX) return boxError(box)
  const reason = Object.entries(EffectFailure_Kind).find(([, number]) => number === kind)?.[0] ?? "IO"
  return new HostError(reason, message === "" ? `the host failed: ${reason}` : message)
}

/** Called by the host. An unknown id is of a canceled effect. */
export function complete(id: number, bytes: Uint8Array): void {
  const waiting = pending.get(id)
  if (waiting === undefined) return
  pending.delete(id)
  try {
    waiting.settle(fromBinary(EffectResultSchema, bytes).result)
  } catch {
    waiting.fail(refused("with bytes that are no EffectResult"))
  }
}

/** Called by the host for each piece of a streamed answer, and for each change of a store. */
export function push(id: number, bytes: Uint8Array): void {
  const waiting = pending.get(id)
  if (waiting?.onPush === undefined) return
  try {
    waiting.onPush(bytes)
  } catch {
    pending.delete(id)
    emit(output.CANCEL, id)
    waiting.fail(refused("with malformed pieces"))
  }
}

const utf8 = new TextEncoder()

/** Calls a deferred primitive. Its arguments keep their order within each of the two kinds. */
export async function callLater(
  operation: PrimitiveNumber,
  args: readonly (number | string | Uint8Array)[],
): Promise<Value> {
  const numbers = args.filter((arg) => typeof arg === "number")
  const bytes = args
    .filter((arg) => typeof arg !== "number")
    .map((arg) => (typeof arg === "string" ? utf8.encode(arg) : arg))
  const isBox = operation === primitive.BOX_SEAL || operation === primitive.BOX_OPEN
  try {
    const value = { primitive: operation, bytes, numbers }
    const answer = await perform({ case: "primitive", value }, "primitive")
    return answer.bytes ?? answer.number
  } catch (error) {
    // A refusal of a box may come either way.
    if (isBox || !(error instanceof HostError)) throw error
    return undefined
  }
}
