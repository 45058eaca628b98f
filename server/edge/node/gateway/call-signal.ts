// The events that end a call from outside: its deadline, its caller, or the gateway's shutdown.
import type { ServerResponse } from "node:http"
import { Code, ConnectError } from "@connectrpc/connect"
import type { Refused } from "@signet/kernel/errors"
import { goneSignal } from "../../../node/gone-signal.ts"
import { longestTimerMs } from "../../../serving/call-context.ts"
import { endOf } from "../../../serving/interceptors/deadline.ts"
import type { GatewayContext } from "./gateway-context.ts"

export interface CallSignal {
  readonly signal: AbortSignal
  /** Resolves with the work. Rejects with the signal's refusal if the signal aborts first. */
  readonly whole: <Result>(work: Promise<Result>) => Promise<Result>
  /** Stops the timeout of the body, which has arrived. */
  readonly bodyIsRead: () => void
  readonly ended: () => Refused
  /** Stops the timers, and aborts the rest of the call. */
  readonly close: () => void
}

export function callSignal(
  { bodyMs, callMs, closing, shutdown }: GatewayContext,
  response: ServerResponse,
  { timeoutMs, isStream }: { timeoutMs: number | undefined; isStream: boolean },
): CallSignal {
  const own = new AbortController()
  const late = () => own.abort(new ConnectError("the deadline has passed", Code.DeadlineExceeded))
  const most = Math.min(timeoutMs ?? longestTimerMs, isStream ? longestTimerMs : callMs, longestTimerMs)
  const deadline = setTimeout(late, most)
  if (most <= 0) late()
  const body = setTimeout(late, bodyMs)
  const signal = AbortSignal.any([own.signal, goneSignal(response, isStream ? closing : shutdown)])
  const ended = Promise.withResolvers<never>()
  ended.promise.catch(() => undefined)
  signal.addEventListener("abort", () => ended.reject(endOf(signal)))
  if (signal.aborted) ended.reject(endOf(signal))
  return {
    signal,
    whole: (work) => {
      work.catch(() => undefined)
      return Promise.race([work, ended.promise])
    },
    bodyIsRead: () => clearTimeout(body),
    ended: () => endOf(signal),
    close() {
      clearTimeout(deadline)
      clearTimeout(body)
      own.abort(new ConnectError("the call has ended", Code.Canceled))
    },
  }
}
