// Sign-in at a provider's page, by redirect or pop-up.
import { type BeginSignIn, isSignetError, type SignedIn, type Signet, SignetError } from "@signet/client"
import { createBroadcast } from "./broadcast.ts"
import { encodeOutcome, type Outcome, parseOutcome } from "./outcome.ts"

export interface PageSignInOptions extends Omit<BeginSignIn, "redirectUri" | "display"> {
  /** The path after the sign-in, on this origin, with query and fragment. Default: the current page. */
  readonly returnTo?: string
}

/** The result of a callback page. */
export interface HandledCallback extends SignedIn {
  /** A path of this origin: `location.replace(returnTo)` is safe. */
  readonly returnTo: string
}

export interface PageSignIn {
  /** Redirects to the provider's page. Never resolves; the callback page continues. */
  signInWithRedirect(options?: PageSignInOptions): Promise<never>
  /**
   * Opens the provider's page in a window. Call it from a click, otherwise the browser blocks the window.
   *
   * @throws SignetError POPUP_BLOCKED, CANCELED when the window is closed, and the errors of `handleCallback` there.
   */
  signInWithPopup(options?: PageSignInOptions): Promise<SignedIn>
  /**
   * Finishes a sign-in on the callback page, after a redirect or in a pop-up. A pop-up then closes itself.
   *
   * @returns Undefined on any other page.
   * @throws SignetError CALLBACK_INVALID, CALLBACK_ISSUER_MISMATCH, PROVIDER_REFUSED, and the service's reasons.
   */
  handleCallback(): Promise<HandledCallback | undefined>
}

interface Deps {
  readonly signet: Signet
  readonly place: string
  readonly callbackPath: string
}

/** The lifetime of a pending sign-in. */
const lifeMs = 600_000
const lookMs = 500
/** How long another window's write may take to become readable here. */
const arrivalMs = 5_000
/**
 * A provider's policy may sever a window, which then looks closed: it counts as closed only after the person is back
 * here.
 */
const looksUntilClosed = 4

export function createPageSignIn({ signet, place, callbackPath }: Deps): PageSignIn & { close(): void } {
  const outcomes = createBroadcast(`${place} callback`)
  let handled: Promise<HandledCallback | undefined> = Promise.resolve(undefined)

  const begin = async ({ returnTo, ...options }: PageSignInOptions, display: "page" | "popup") => {
    const { origin, pathname, search, hash } = location
    const here = pathname === callbackPath ? "/" : pathname + search + hash
    const beginAt = (path: string) =>
      signet.beginSignIn({ ...options, ...{ display, redirectUri: origin + callbackPath, returnTo: path } })
    if (returnTo !== undefined) return beginAt(returnTo)
    try {
      return await beginAt(here)
    } catch (error) {
      // A crafted link must not prevent a sign-in.
      if (!isSignetError(error) || error.reason !== "RETURN_PATH_INVALID") throw error
      return beginAt("/")
    }
  }

  async function handle(address: string): Promise<HandledCallback | undefined> {
    const state = new URL(address).searchParams.get("state") ?? ""
    try {
      const callback = await signet.openCallback(address)
      if (callback === undefined) return undefined
      const { returnTo, display } = callback
      try {
        const signedIn = await callback.finish()
        const { sessionId } = signedIn.user
        outcomes.post(encodeOutcome({ is: "signedIn", state, sessionId, created: signedIn.created }))
        if (display === "popup") await closeWindow()
        return { ...signedIn, returnTo }
      } catch (error) {
        outcomes.post(encodeOutcome({ is: "failed", state, ...failureIn(error) }))
        if (display === "popup") await closeWindow()
        throw error
      }
    } finally {
      outcomes.suspend()
    }
  }

  return {
    async signInWithRedirect(options = {}) {
      const { url } = await begin(options, "page")
      location.assign(url)
      return new Promise<never>(() => {})
    },

    async signInWithPopup(options = {}) {
      // Opened synchronously, while the click permits it.
      const popup = window.open("about:blank", "_blank", "popup,width=480,height=640")
      if (popup === null) {
        throw new SignetError("POPUP_BLOCKED", "the browser opened no window: call signInWithPopup from a click")
      }
      try {
        // The provider's page gets no reference to this one.
        popup.opener = null
        const { url, state } = await begin(options, "popup")
        const outcome = outcomeOf(state, popup)
        popup.location.href = url
        return await signedInHere(await outcome)
      } catch (error) {
        popup.close()
        throw error
      }
    },

    handleCallback() {
      const { href, pathname, search } = location
      const isAnswer = pathname === callbackPath && /[?&](code|error|state)=/.test(search)
      if (isAnswer) {
        // Removes the code from history and Referer, and from a reload.
        history.replaceState(history.state, "", callbackPath)
        handled = handle(href)
      }
      // Frameworks that call twice in a row get one answer.
      return handled
    },

    close: () => outcomes.suspend(),
  }

  function outcomeOf(state: string, popup: Window): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      let looks = 0
      const end = () => {
        clearInterval(looking)
        clearTimeout(expiry)
        unsubscribe()
        outcomes.suspend()
      }
      const cancel = (message: string) => {
        end()
        reject(new SignetError("CANCELED", message))
      }
      outcomes.resume()
      const unsubscribe = outcomes.subscribe((message) => {
        const outcome = parseOutcome(message)
        if (outcome?.state !== state) return
        end()
        resolve(outcome)
      })
      const looking = setInterval(() => {
        looks = popup.closed && document.hasFocus() ? looks + 1 : 0
        if (looks === looksUntilClosed) cancel("the window was closed before the sign-in finished")
      }, lookMs)
      const expiry = setTimeout(() => cancel("the sign-in did not finish within ten minutes"), lifeMs)
    })
  }

  /** Resolves when the session in this page has the sign-in. */
  async function signedInHere(outcome: Outcome): Promise<SignedIn> {
    if (outcome.is === "failed") {
      throw new SignetError(outcome.reason, outcome.message, { metadata: outcome.metadata })
    }
    const { sessionId, created } = outcome
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        end()
        reject(new SignetError("CANCELED", "the sign-in of the other window has ended already"))
      }, arrivalMs)
      const end = () => {
        clearTimeout(late)
        queueMicrotask(() => unsubscribe())
      }
      const unsubscribe = signet.session.subscribe((state) => {
        if (state.is !== "signedIn" || state.user.sessionId !== sessionId) return
        end()
        resolve({ user: state.user, created })
      })
      signet.wake()
    })
  }
}

const failureIn = (error: unknown) =>
  isSignetError(error)
    ? { reason: error.reason, message: error.message, metadata: error.metadata }
    : { reason: "ANSWER_INVALID" as const, message: "the callback page failed", metadata: {} }

/** @returns If the browser has not closed the window, because no script opened it. */
async function closeWindow(): Promise<void> {
  // Posted messages are delivered before the window closes.
  await new Promise((resolve) => setTimeout(resolve, 50))
  window.close()
  await new Promise((resolve) => setTimeout(resolve, 1_000))
}
