// Signing in at a provider's page: this page goes there, or a window does.
import { type BeginSignIn, isSignetError, type SignedIn, type Signet, SignetError } from "@signet/client"
import { createBroadcast } from "./broadcast.ts"
import { encodeOutcome, type Outcome, parseOutcome } from "./outcome.ts"

export interface PageSignInOptions extends Omit<BeginSignIn, "redirectUri" | "display"> {
  /** Where the app goes on: a path of this origin, with query and fragment. Default: where the page is now. */
  readonly returnTo?: string
}

/** What a callback page shows or does next. */
export interface HandledCallback extends SignedIn {
  /** A path of this origin: `location.replace(returnTo)` is safe. */
  readonly returnTo: string
}

export interface PageSignIn {
  /** Leaves for the provider's page. Resolves never; the callback page goes on. */
  signInWithRedirect(options?: PageSignInOptions): Promise<never>
  /**
   * Opens the provider's page in a window of its own. Call it from a click, or the browser opens none.
   *
   * @throws SignetError POPUP_BLOCKED, CANCELED when the window is closed, and what `handleCallback` throws there.
   */
  signInWithPopup(options?: PageSignInOptions): Promise<SignedIn>
  /**
   * Finishes a sign-in on the callback page, after a redirect and in a pop-up alike. A pop-up then closes itself.
   *
   * @returns Undefined on any other page.
   * @throws SignetError CALLBACK_INVALID, CALLBACK_ISSUER_MISMATCH, PROVIDER_REFUSED, and what the service refuses.
   */
  handleCallback(): Promise<HandledCallback | undefined>
}

interface Deps {
  readonly signet: Signet
  readonly place: string
  readonly callbackPath: string
}

/** As long as a sign-in that was begun is remembered. */
const lifeMs = 600_000
const lookMs = 500
/** How long what another window has kept may take to be read here. */
const arrivalMs = 5_000
/** A provider's own policy may cut a window off, which then looks closed: it counts once the person is back here. */
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
      // A link that somebody crafted must not keep a person from signing in.
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
      // At once, while the click counts.
      const popup = window.open("about:blank", "_blank", "popup,width=480,height=640")
      if (popup === null) {
        throw new SignetError("POPUP_BLOCKED", "the browser opened no window: call signInWithPopup from a click")
      }
      try {
        // The provider's page gets no hold of this one.
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
        // Neither the history nor a Referer has the code, and a reload does not bring it again.
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
        if (looks === looksUntilClosed) cancel("the window was closed before anybody had signed in")
      }, lookMs)
      const expiry = setTimeout(() => cancel("nobody signed in within ten minutes"), lifeMs)
    })
  }

  /** When the session here says so, too. */
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

/** @returns When the browser has not closed it: it was opened by no script. */
async function closeWindow(): Promise<void> {
  // What was posted is on its way before the window goes.
  await new Promise((resolve) => setTimeout(resolve, 50))
  window.close()
  await new Promise((resolve) => setTimeout(resolve, 1_000))
}
