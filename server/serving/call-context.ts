import type { DescMethod } from "@bufbuild/protobuf"
import { Code, ConnectError, type ContextValues, createContextValues, type HandlerContext } from "@connectrpc/connect"

/** The facts that a transport knows of a call when its headers have arrived. */
interface Arrival {
  readonly method: DescMethod
  readonly protocolName: string
  readonly requestMethod: string
  readonly url: string
  readonly requestHeader: () => Headers
  /** The caller's timeout in milliseconds; undefined without a deadline. */
  readonly timeoutMs: number | undefined
  /** Aborts when the caller disconnects or the server stops. */
  readonly gone: () => AbortSignal
  readonly values: ContextValues | undefined
}

/** A handler context that creates its costly parts (headers, signals) on first use. */
export interface CallContext extends HandlerContext {
  /** The response's headers, if any were accessed. */
  readonly writtenHeader: Headers | undefined
  readonly writtenTrailer: Headers | undefined
  /** Stops the deadline's timer. */
  readonly close: () => void
}

/** 24 days: longer timers fire at once. */
export const longestTimerMs = 2 ** 31 - 1

export function callContext(arrival: Arrival): CallContext {
  const { method, timeoutMs } = arrival
  const startedMs = performance.now()
  const leftMs = () => (timeoutMs === undefined ? undefined : timeoutMs - (performance.now() - startedMs))
  let signal: AbortSignal | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let requestHeader: Headers | undefined
  let responseHeader: Headers | undefined
  let responseTrailer: Headers | undefined

  const openSignal = (): AbortSignal => {
    const left = leftMs()
    if (left === undefined) return arrival.gone()
    const late = new AbortController()
    const expire = () => late.abort(new ConnectError("the deadline has passed", Code.DeadlineExceeded))
    if (left <= 0) expire()
    else timer = setTimeout(expire, Math.min(left, longestTimerMs))
    return AbortSignal.any([late.signal, arrival.gone()])
  }
  return {
    method,
    service: method.parent,
    protocolName: arrival.protocolName,
    requestMethod: arrival.requestMethod,
    url: arrival.url,
    values: arrival.values ?? createContextValues(),
    timeoutMs: leftMs,
    get signal() {
      signal ??= openSignal()
      return signal
    },
    get requestHeader() {
      requestHeader ??= arrival.requestHeader()
      return requestHeader
    },
    get responseHeader() {
      responseHeader ??= new Headers()
      return responseHeader
    },
    get responseTrailer() {
      responseTrailer ??= new Headers()
      return responseTrailer
    },
    get writtenHeader() {
      return responseHeader
    },
    get writtenTrailer() {
      return responseTrailer
    },
    close: () => clearTimeout(timer),
  }
}
