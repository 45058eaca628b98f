// The chat's own document: sign-in, then the messenger of this browser.
import { configure, type WebSignet } from "@signet/client-web"
import type { Messenger } from "@signet/client-web/messaging"
import { Failed, Loading, SignetProvider, SignIn, UserButton, useSession, useSignet } from "@signet/react/core"
import { type ReactNode, useEffect, useMemo, useState } from "react"
import { Mark } from "../mark.tsx"
import { base } from "../router.tsx"
import type { Settings } from "../settings.ts"
import { t } from "../text/chat.ts"
import { Chat } from "./chat.tsx"

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
          <UserButton />
        </header>
        {isFinishing ? <Loading /> : <Gate settings={settings} failure={failure} />}
      </div>
    </SignetProvider>
  )
}

function Gate({ settings, failure }: { settings: Settings; failure: unknown }): ReactNode {
  const state = useSession()
  if (settings.issuerRootKey === null) return <p className="notice">{t.chat.notHere}</p>
  if (state.is === "starting") return <Loading />
  if (state.is === "signedIn")
    return <Opened settings={settings} rootKey={settings.issuerRootKey} key={state.user.principalId} />
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

/** Opens the messenger: this browser becomes a device of the person. */
function Opened({ settings, rootKey }: { settings: Settings; rootKey: string }): ReactNode {
  const { session } = useSignet()
  const [messenger, setMessenger] = useState<Messenger>()
  const [failure, setFailure] = useState<unknown>()
  useEffect(() => {
    const ending = new AbortController()
    let opened: Messenger | undefined
    const open = async () => {
      const { createMessenger, messagingSession } = await import("@signet/client-web/messaging")
      const own = await messagingSession(session, { appId: settings.appId, audience: settings.messagingAudience })
      const messaging = { baseUrl: location.origin, issuerRootKeys: [bytesOf(rootKey)] }
      opened = await createMessenger({ messaging, session: own })
      if (ending.signal.aborted) return opened.close()
      setMessenger(opened)
      await opened.run(ending.signal)
    }
    open().catch((error: unknown) => !ending.signal.aborted && setFailure(error))
    return () => {
      ending.abort()
      void opened?.close()
    }
  }, [session, settings, rootKey])
  if (failure !== undefined) return <Failed error={failure} retry={() => location.reload()} />
  if (messenger === undefined) return <p className="signet-loading chat-opening">{t.chat.opening}</p>
  return <Chat messenger={messenger} audience={settings.messagingAudience} />
}

const bytesOf = (text: string): Uint8Array =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0))
