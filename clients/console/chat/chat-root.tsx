// The chat's own document: sign-in, then the messenger of this browser.
import { configure, type FailureReason, failureOf, type WebSignet } from "@signet/client-web"
import { isMessagingError, type Messenger } from "@signet/client-web/messaging"
import {
  Failed,
  Loading,
  SignetProvider,
  SignIn,
  UserButton,
  useAction,
  useSession,
  useSignet,
} from "@signet/react/core"
import { type ReactNode, useEffect, useMemo, useState } from "react"
import { Mark } from "../mark.tsx"
import { base } from "../router.tsx"
import type { Settings } from "../settings.ts"
import { t } from "../text/chat.ts"
import { type Backend, backendsOf, chooseBackend, chosenBackend } from "./backends.ts"
import { Chat } from "./chat.tsx"
import { Problem } from "./problem.tsx"

const home = `${base}/chat`

const clientFor = ({ appId, authAudience }: Settings): WebSignet =>
  configure({
    appId,
    authAudience,
    authBaseUrl: location.origin,
    providers: ["IDP_A"],
    callbackPath: `${home}/callback`,
    device: { label: "Signet chat" },
  })

export function ChatRoot({ settings }: { settings: Settings }): ReactNode {
  const signet = useMemo(() => clientFor(settings), [settings])
  const [failure, setFailure] = useState<unknown>()
  const [backend, setBackend] = useState(() => chosenBackend(settings))
  const [isFinishing, setFinishing] = useState(location.pathname === `${home}/callback`)
  useEffect(() => {
    if (!isFinishing) return
    signet
      .handleCallback()
      .then(
        (handled) => history.replaceState(null, "", handled?.returnTo ?? home),
        (error: unknown) => {
          setFailure(error)
          history.replaceState(null, "", home)
        },
      )
      .finally(() => setFinishing(false))
  }, [signet, isFinishing])
  return (
    <SignetProvider signet={signet}>
      <div className="chat-page">
        <header className="top">
          <a href={base} className="brand">
            <Mark />
            <span>{t.product}</span>
          </a>
          <span className="strong">{t.chat.title}</span>
          <BackendChoice settings={settings} chosen={backend} onChoose={setBackend} />
          <UserButton />
        </header>
        {isFinishing ? <Loading /> : <Gate {...{ settings, failure, backend }} />}
      </div>
    </SignetProvider>
  )
}

interface ChoiceProps {
  readonly settings: Settings
  readonly chosen: Backend
  readonly onChoose: (backend: Backend) => void
}

/** Switches between two messaging backends. Both have the same people, and devices and conversations of their own. */
function BackendChoice({ settings, chosen, onChoose }: ChoiceProps): ReactNode {
  const backends = backendsOf(settings)
  if (backends.length < 2) return null
  return (
    <select
      className="chat-backend"
      aria-label={t.chat.backend}
      value={chosen.url}
      onChange={(event) => {
        const next = backends.find(({ url }) => url === event.target.value)
        if (next === undefined) return
        chooseBackend(next)
        onChoose(next)
      }}
    >
      {backends.map(({ name, url }) => (
        <option key={url} value={url}>
          {name}
        </option>
      ))}
    </select>
  )
}

interface GateProps {
  readonly settings: Settings
  readonly failure: unknown
  readonly backend: Backend
}

function Gate({ settings, failure, backend }: GateProps): ReactNode {
  const state = useSession()
  const { issuerRootKey: rootKey } = settings
  if (rootKey === null) return <p className="notice">{t.chat.notHere}</p>
  if (state.is === "starting") return <Loading />
  if (state.is === "signedIn") {
    return <Opened {...{ settings, rootKey, backend }} key={`${state.user.principalId} ${backend.url}`} />
  }
  return (
    <main className="welcome">
      <div className="welcome-card">
        <h1>{t.chat.title}</h1>
        <p className="page-about">{t.chat.about}</p>
        <Failed error={failure} />
        <SignIn returnTo={location.pathname.endsWith("/callback") ? home : location.pathname + location.search} />
      </div>
    </main>
  )
}

/** The service has ended the session, for example because the device was revoked. */
const endedReasons: ReadonlySet<FailureReason | undefined> = new Set([
  "SESSION_REVOKED",
  "SESSION_EXPIRED",
  // Its token is still valid: the session ends with the next refresh.
  "DEVICE_REVOKED",
])

interface OpenedProps {
  readonly settings: Settings
  readonly rootKey: string
  readonly backend: Backend
}

/** The end of the last messenger. While two are open, each binds the session to its own device. */
let closing: Promise<unknown> = Promise.resolve()

/** Opens the messenger: this browser becomes a device of the person. */
function Opened({ settings, rootKey, backend }: OpenedProps): ReactNode {
  const { session } = useSignet()
  const [messenger, setMessenger] = useState<Messenger>()
  const [failure, setFailure] = useState<unknown>()
  const [round, setRound] = useState(0)
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new round opens the messenger again.
  useEffect(() => {
    const ending = new AbortController()
    let opened: Messenger | undefined
    const open = async () => {
      await closing
      if (ending.signal.aborted) return
      const { createMessenger, messagingSession } = await import("@signet/client-web/messaging")
      const own = await messagingSession(session, { appId: settings.appId, audience: settings.messagingAudience })
      const messaging = { baseUrl: backend.url, issuerRootKeys: [bytesOf(rootKey)] }
      opened = await createMessenger({ messaging, session: own, ...storeOf(backend, own.userId) })
      if (ending.signal.aborted) return opened.close()
      setMessenger(opened)
      await opened.run(ending.signal)
    }
    const opening = open().catch((error: unknown) => {
      if (ending.signal.aborted) return
      // The session ends here, too, and the page asks for a new sign-in.
      if (endedReasons.has(failureOf(error)?.reason)) void session.logout()
      setFailure(error)
    })
    return () => {
      ending.abort()
      closing = Promise.allSettled([opening, opened?.close()])
    }
  }, [session, settings, rootKey, backend, round])
  const again = () => {
    setMessenger(undefined)
    setFailure(undefined)
    setRound((last) => last + 1)
  }
  if (messenger !== undefined && isMessagingError(failure, "DEVICE_ENDED")) {
    return <Anew messenger={messenger} onStarted={again} />
  }
  if (failure !== undefined) {
    return (
      <main className="chat-empty">
        <Problem error={failure} />
        <button type="button" className="signet-button" onClick={again}>
          {t.chat.again}
        </button>
      </main>
    )
  }
  if (messenger === undefined) return <p className="signet-loading chat-opening">{t.chat.opening}</p>
  return <Chat messenger={messenger} audience={settings.messagingAudience} backend={backend} />
}

/** Asks before this browser becomes a new device, after another device has revoked the old one. */
function Anew({ messenger, onStarted }: { messenger: Messenger; onStarted: () => void }): ReactNode {
  const start = useAction(async () => {
    await messenger.startAnew()
    onStarted()
  })
  return (
    <main className="chat-empty">
      <h1>{t.anew.title}</h1>
      <p className="page-about">{t.anew.about}</p>
      <Problem error={start.error} />
      <button
        type="button"
        className="signet-button signet-primary"
        disabled={start.isPending}
        onClick={() => start.run()}
      >
        {t.anew.start}
      </button>
    </main>
  )
}

const storeOf = ({ storeSuffix }: Backend, userId: string): { storeName?: string } =>
  storeSuffix === undefined ? {} : { storeName: `signet-messages ${userId} at ${storeSuffix}` }

const bytesOf = (text: string): Uint8Array =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0))
