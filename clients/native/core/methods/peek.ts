// PeekService beside the messenger: it has its own keys in the host, so an open messenger of this core keeps its own.
import { verifyEd25519 } from "@signet/canonical/ed25519"
import { PeekOutcome, type PeekRequest, type PeekService } from "@signet/proto/client/v1/peek_service"
import type { openEngine } from "../../../core/messaging/mls.ts"
import { boundedTransport } from "../../../core/messaging/peek/bounded-transport.ts"
import { type Peeked, peekLimits, peekWith } from "../../../core/messaging/peek/peek.ts"
import type { MessagingSession } from "../../../core/messaging/session.ts"
import type { SecretBoxDescription } from "../../../core/secret-box.ts"
import { checkServiceUrl } from "../../../core/service-url.ts"
import { createHostBox } from "../boxes.ts"
import { clock } from "../clock.ts"
import { entryTo } from "../convert.ts"
import { ArgumentError } from "../failure.ts"
import { random } from "../host.ts"
import { fetchInPieces } from "../pieces.ts"
import { createHostStore, type HostStoreOptions } from "../store.ts"
import { createSuite } from "../suite.ts"
import type { Handlers } from "./handlers.ts"
import { checkRootKeys } from "./root-keys.ts"

interface PeekDeps {
  /** @param audience Undefined for the auth service's own. */
  sessionFor(audience: string | undefined): Promise<MessagingSession>
  readonly box: SecretBoxDescription
  readonly store: HostStoreOptions
  readonly engineOnce: typeof openEngine
}

/**
 * More time than in a page, because the renewal of the access token is part of it. Fewer envelopes at once: a push extension
 * has little memory.
 */
const limits = { ...peekLimits, ms: 10_000, page: 8 }

export function peekHandlers(deps: PeekDeps): Handlers<(typeof PeekService)["method"]> {
  let isRunning = false
  return {
    async peek(request) {
      checkServiceUrl(request.baseUrl)
      checkRootKeys(request.issuerRootKeys)
      if (isRunning) throw new ArgumentError("the call runs already: wait for its answer")
      isRunning = true
      try {
        return answerOf(await peekOnce(deps, request))
      } finally {
        isRunning = false
      }
    },
  }
}

async function peekOnce(deps: PeekDeps, { baseUrl, issuerRootKeys, audience }: PeekRequest): Promise<Peeked> {
  const ending = new AbortController()
  const box = createHostBox(deps.box)
  // A read-ahead that its time limit ended may still run: from then on it gets no key, no token and no answer.
  const unlessEnded = async <T>(work: () => Promise<T>): Promise<T> => {
    ending.signal.throwIfAborted()
    return work()
  }
  const late = new Promise<Peeked>((resolve) => {
    ending.signal.addEventListener("abort", () => resolve({ is: "newMessages" }))
  })
  const stop = clock.after(limits.ms, () => ending.abort())
  const work = async (): Promise<Peeked> => {
    const session = await deps.sessionFor(audience || undefined)
    const options = {
      messaging: { baseUrl, issuerRootKeys },
      session: { ...session, accessToken: () => unlessEnded(() => session.accessToken()) },
      transport: boundedTransport(baseUrl, fetchInPieces(ending.signal)),
      store: createHostStore({ ...deps.store, isShared: false }),
      secretBox: {
        ...box,
        open: (...of: Parameters<typeof box.open>) => unlessEnded(() => box.open(...of)),
      },
      clock,
      random: { bytes: random },
    }
    const primitives = { suite: createSuite(box.signingBox), verify: verifyEd25519, openEngine: deps.engineOnce }
    return peekWith(options, primitives, limits)
  }
  try {
    // Whatever fails, such as a sign-in that has ended: a notification without a preview is right.
    return await Promise.race([work().catch((): Peeked => ({ is: "newMessages" })), late])
  } finally {
    stop()
    ending.abort()
    await box.releaseAll()
  }
}

function answerOf(peeked: Peeked) {
  if (peeked.is === "newMessages") return { outcome: PeekOutcome.NEW_MESSAGES }
  const previews = peeked.previews.map(({ conversationId, entry }) => ({ conversationId, entry: entryTo(entry) }))
  return { outcome: PeekOutcome.PREVIEWS, previews, hasMore: peeked.hasMore }
}
