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

export const callContext = (arrival: Arrival): CallContext => new ArrivedCall(arrival)

/** A class, because an open stream keeps its context: methods on a prototype need no memory for each call. */
class ArrivedCall implements CallContext {
  readonly values: ContextValues
  readonly #arrival: Arrival
  readonly #startedMs = performance.now()
  #signal: AbortSignal | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #requestHeader: Headers | undefined
  #responseHeader: Headers | undefined
  #responseTrailer: Headers | undefined

  constructor(arrival: Arrival) {
    this.#arrival = arrival
    this.values = arrival.values ?? createContextValues()
  }

  get method() {
    return this.#arrival.method
  }
  get service() {
    return this.#arrival.method.parent
  }
  get protocolName() {
    return this.#arrival.protocolName
  }
  get requestMethod() {
    return this.#arrival.requestMethod
  }
  get url() {
    return this.#arrival.url
  }
  get signal() {
    this.#signal ??= this.#openSignal()
    return this.#signal
  }
  get requestHeader() {
    this.#requestHeader ??= this.#arrival.requestHeader()
    return this.#requestHeader
  }
  get responseHeader() {
    this.#responseHeader ??= new Headers()
    return this.#responseHeader
  }
  get responseTrailer() {
    this.#responseTrailer ??= new Headers()
    return this.#responseTrailer
  }
  get writtenHeader() {
    return this.#responseHeader
  }
  get writtenTrailer() {
    return this.#responseTrailer
  }

  timeoutMs() {
    const { timeoutMs } = this.#arrival
    return timeoutMs === undefined ? undefined : timeoutMs - (performance.now() - this.#startedMs)
  }

  close() {
    clearTimeout(this.#timer)
  }

  #openSignal(): AbortSignal {
    const left = this.timeoutMs()
    if (left === undefined) return this.#arrival.gone()
    const late = new AbortController()
    const expire = () => late.abort(new ConnectError("the deadline has passed", Code.DeadlineExceeded))
    if (left <= 0) expire()
    else this.#timer = setTimeout(expire, Math.min(left, longestTimerMs))
    return AbortSignal.any([late.signal, this.#arrival.gone()])
  }
}
