// A Connect transport that calls with the session's token. It retries a call that a service refused before any effect: once
// with another token, and once after the wait that the service asks for.
import type { DescMessage, DescMethodStreaming, DescMethodUnary, MessageShape } from "@bufbuild/protobuf"
import { MethodOptions_IdempotencyLevel as Idempotency } from "@bufbuild/protobuf/wkt"
import { Code, ConnectError, type StreamResponse, type Transport } from "@connectrpc/connect"
import type { AccessToken } from "./access-tokens.ts"
import { signetErrorOf } from "./auth-calls.ts"
import { type FailureReason, failureOf, retryAfterOf, staleTokenReasons } from "./errors.ts"
import type { Clock } from "./ports.ts"

interface TransportDeps {
  readonly inner: Transport
  readonly clock: Clock
  token(refused?: AccessToken): Promise<AccessToken>
}

/** Reasons for which a refresh helps, or reveals that the session has ended. */
const refreshable: readonly FailureReason[] = [...staleTokenReasons, "SESSION_REVOKED", "SESSION_EXPIRED"]

/** The longest wait that the service may demand. Milliseconds. */
const longestWaitMs = 30_000

export function createSessionTransport(deps: TransportDeps): Transport {
  const { inner } = deps
  return {
    async unary(method, signal, timeoutMs, header, input, contextValues) {
      const call = beginCall(deps, signal, timeoutMs, isRepeatable(method))
      for (;;) {
        const headers = await call.headers(header)
        try {
          return await inner.unary(method, signal, call.leftMs(), headers, input, contextValues)
        } catch (error) {
          await call.mend(error)
        }
      }
    },

    async stream(method, signal, timeoutMs, header, input, contextValues) {
      const call = beginCall(deps, signal, timeoutMs, isRepeatable(method))
      // A consumed input cannot be sent again, unless it was one message.
      const isOpenAgain = method.methodKind === "server_streaming"
      const first = isOpenAgain ? await collect(input) : []
      const open = async () => {
        const sent = isOpenAgain ? replay(first) : input
        return inner.stream(method, signal, call.leftMs(), await call.headers(header), sent, contextValues)
      }
      const opened = async (): ReturnType<typeof open> => {
        for (;;) {
          try {
            return await open()
          } catch (error) {
            if (!isOpenAgain) throw error
            await call.mend(error)
          }
        }
      }
      const stream = await opened()
      return { ...stream, message: messagesOf(stream, call, isOpenAgain ? opened : undefined) }
    },
  }
}

/** One call: its token, its deadline, and the retries that are left. */
interface Call {
  /** Milliseconds until the deadline; undefined without one. */
  leftMs(): number | undefined
  /** The headers with the token. */
  headers(header: HeadersInit | undefined): Promise<Headers>
  /** Returns when the call may be sent again. @throws The error, if it may not. */
  mend(error: unknown): Promise<void>
}

function beginCall(
  { clock, token }: TransportDeps,
  signal: AbortSignal | undefined,
  timeoutMs: number | undefined,
  isRepeatable: boolean,
): Call {
  const startMs = clock.nowMs()
  // As everywhere in Connect, a limit of zero or less is none.
  const limitMs = timeoutMs !== undefined && timeoutMs > 0 ? timeoutMs : undefined
  const leftMs = () => (limitMs === undefined ? undefined : limitMs - (clock.nowMs() - startMs))
  let mayRefresh = true
  let mayWait = true
  let current: AccessToken | undefined

  return {
    leftMs,
    async headers(header) {
      current ??= await orGivenUp(token().catch(throwConnect), signal, leftMs(), clock)
      if ((leftMs() ?? 1) <= 0) throw new ConnectError("the deadline has passed", Code.DeadlineExceeded)
      const headers = new Headers(header)
      headers.set("authorization", `Bearer ${current.token}`)
      return headers
    },
    async mend(error) {
      const failed = ConnectError.from(error)
      if (mayRefresh && isRefreshable(failed)) {
        mayRefresh = false
        const next = await orGivenUp(token(current).catch(throwConnect), signal, leftMs(), clock)
        if (next.token === current?.token) throw failed
        current = next
        return
      }
      const waitMs = mayWait && isSafeToRepeat(failed, isRepeatable) ? retryAfterOf(failed) : undefined
      if (waitMs === undefined || waitMs > Math.min(longestWaitMs, leftMs() ?? longestWaitMs)) throw failed
      mayWait = false
      await orGivenUp(new Promise<void>((resolve) => clock.after(waitMs, resolve)), signal, leftMs(), clock)
    },
  }
}

/**
 * The messages of a stream. A refusal arrives when the stream is read; after its first message it is never opened again.
 *
 * @param reopen undefined for a stream that cannot be opened again.
 */
async function* messagesOf<I extends DescMessage, O extends DescMessage>(
  stream: StreamResponse<I, O>,
  call: Call,
  reopen: (() => Promise<StreamResponse<I, O>>) | undefined,
): AsyncIterable<MessageShape<O>> {
  for (let at = stream; ; ) {
    let isBegun = false
    try {
      for await (const message of at.message) {
        isBegun = true
        yield message
      }
      return
    } catch (error) {
      if (isBegun || reopen === undefined) throw error
      await call.mend(error)
      at = await reopen()
    }
  }
}

/** A typed refusal says whether another token helps; without a reason, 401 is all that is known. */
function isRefreshable(error: ConnectError): boolean {
  const failure = failureOf(error)
  return failure === undefined ? error.code === Code.Unauthenticated : refreshable.includes(failure.reason)
}

/** Limits are checked before any effect; other failures may have had effects. */
function isSafeToRepeat(error: ConnectError, isRepeatable: boolean): boolean {
  return failureOf(error)?.reason === "RATE_LIMITED" || (isRepeatable && error.code === Code.Unavailable)
}

const isRepeatable = ({ idempotency }: DescMethodUnary | DescMethodStreaming) =>
  idempotency === Idempotency.NO_SIDE_EFFECTS || idempotency === Idempotency.IDEMPOTENT

function throwConnect(error: unknown): never {
  const failure = signetErrorOf(error)
  throw new ConnectError(failure.message, failure.code, undefined, undefined, failure)
}

/** Waiting ends with the call: a caller that gave up does not hear of a refresh. */
async function orGivenUp<T>(
  work: Promise<T>,
  signal: AbortSignal | undefined,
  leftMs: number | undefined,
  clock: Clock,
): Promise<T> {
  if (signal?.aborted) throw new ConnectError("the call was canceled", Code.Canceled)
  let stop = () => {}
  const givenUp = new Promise<never>((_, reject) => {
    const abort = () => reject(new ConnectError("the call was canceled", Code.Canceled))
    signal?.addEventListener("abort", abort)
    const late = () => reject(new ConnectError("the deadline has passed", Code.DeadlineExceeded))
    const cancel = leftMs === undefined ? () => {} : clock.after(Math.max(0, leftMs), late)
    stop = () => {
      signal?.removeEventListener("abort", abort)
      cancel()
    }
  })
  try {
    return await Promise.race([work, givenUp])
  } finally {
    stop()
  }
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

async function* replay<T>(items: readonly T[]): AsyncIterable<T> {
  yield* items
}
