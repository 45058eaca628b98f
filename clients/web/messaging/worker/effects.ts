import { create, type MessageInitShape } from "@bufbuild/protobuf"
import type { Performing } from "@signet/client-native/wasm"
import { ClientFailure_Kind } from "@signet/proto/client/v1/identity_service"
import {
  type Effect,
  type EffectResult,
  EffectResultSchema,
  EffectFailure_Kind as Kind,
} from "@signet/proto/host/v1/host"
import type { Suite } from "../../../core/messaging/crypto/suite.ts"
import { isMessagingError } from "../../../core/messaging/errors.ts"
import { CoreError } from "../../../core/messaging/remote/core.ts"
import { boxFailureOf, scopeOf, type WorkerBoxes } from "./boxes.ts"
import { callDeferred } from "./deferred.ts"
import type { createHttp } from "./http.ts"
import type { PageAnswers, PageRequest } from "./port.ts"
import type { StoreEffects } from "./store-effects.ts"

type Result = NonNullable<MessageInitShape<typeof EffectResultSchema>["result"]>

export interface EffectDeps {
  readonly suite: Suite
  readonly boxes: WorkerBoxes
  readonly store: StoreEffects
  readonly http: ReturnType<typeof createHttp>
  /** Asks the page. */
  ask<Request extends PageRequest>(request: Request): Promise<PageAnswers[Request["is"]]>
}

/** Performs an effect of the core. Never rejects. */
export async function performEffect(
  deps: EffectDeps,
  effect: Effect["effect"],
  how: Performing,
): Promise<EffectResult["result"]> {
  const result = await resultOf(deps, effect, how).catch((error: unknown): Result => {
    return { case: "failure", value: failureOf(error) }
  })
  return create(EffectResultSchema, { result }).result
}

const done: Result = { case: "done", value: {} }

async function resultOf(deps: EffectDeps, effect: Effect["effect"], how: Performing): Promise<Result> {
  const { suite, boxes, store, http, ask } = deps
  switch (effect.case) {
    case "primitive":
      return { case: "primitive", value: await callDeferred(suite, boxes, effect.value) }
    case "http":
      return { case: "http", value: await http(effect.value, how.signal, how.push) }
    case "storeRead":
      return store.read(effect.value)
    case "storeList":
      return store.list(effect.value)
    case "storeSpaces":
      return store.spaces()
    case "storeTransact":
      return store.transact(effect.value)
    case "storeWatch":
      return store.watch(how.pushChange, how.signal)
    case "storeTurn":
      return store.turn(effect.value.space, how.pushChange, how.signal)
    case "accessToken":
      return { case: "accessToken", value: { token: await ask({ is: "token", renew: effect.value.renew }) } }
    case "boxHold":
      return { case: "boxHold", value: { box: await boxes.hold(effect.value.scope, effect.value.create) } }
    case "boxRelease":
      boxes.release(effect.value.box)
      return done
    case "boxRotate":
      await boxes.box.rotate(scopeOf(effect.value.scope))
      return done
    case "boxDestroy":
      await boxes.box.destroy(scopeOf(effect.value.scope))
      await boxes.signing.destroy(scopeOf(effect.value.scope))
      return done
    default:
      return fileResult(ask, effect)
  }
}

async function fileResult(ask: EffectDeps["ask"], effect: Effect["effect"]): Promise<Result> {
  switch (effect.case) {
    case "fileInfo": {
      const size = await ask({ is: "fileSize", path: effect.value.path })
      if (size === undefined) return { case: "failure", value: { kind: Kind.FILE_STATE, message: "no such file" } }
      return { case: "fileInfo", value: { size: BigInt(size) } }
    }
    case "fileRead": {
      const { path, offset, length } = effect.value
      return { case: "fileRead", value: { bytes: await ask({ is: "fileRead", path, offset: Number(offset), length }) } }
    }
    case "fileWrite": {
      const { path, bytes } = effect.value
      // The last part may be empty: a page's file has no end to make durable.
      if (bytes.length > 0) await ask({ is: "fileWrite", path, bytes })
      return done
    }
    default:
      return { case: "failure", value: { kind: Kind.IO, message: `a Worker does not perform ${effect.case}` } }
  }
}

type Failure = Extract<Result, { case: "failure" }>["value"]

/** The failure of an effect. Its message has no secret: errors of the platform are named only. */
function failureOf(error: unknown): Failure {
  const box = boxFailureOf(error)
  if (box !== undefined) return { kind: Kind.BOX, box }
  if (error instanceof CoreError) return { kind: Kind.SESSION, refusal: error.failure }
  if (isMessagingError(error)) {
    const { reason, message } = error
    return { kind: Kind.IO, refusal: { kind: ClientFailure_Kind.MESSAGING, reason, message } }
  }
  const { name } = Object(error)
  if (name === "TimeoutError") return { kind: Kind.TIMED_OUT }
  // A fetch that did not get an answer is a TypeError.
  if (name === "TypeError" || name === "ConnectError" || name === "AbortError") return { kind: Kind.UNREACHABLE }
  return { kind: Kind.IO, message: String(name ?? "") }
}
