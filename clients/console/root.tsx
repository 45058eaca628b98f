// From the address to a screen: the client, the callback of a sign-in, and who is signed in.
import { configure, type WebSignet } from "@signet/client-web"
import { Failed, Loading, SignetProvider, useSession } from "@signet/react/core"
import { lazy, type ReactNode, Suspense, useEffect, useMemo, useRef, useState } from "react"
import { base, navigate } from "./router.tsx"
import { readAppId, type Settings, writeAppId } from "./settings.ts"
import { Welcome } from "./welcome.tsx"

/** Loaded after the sign-in. */
const SignedIn = lazy(async () => ({ default: (await import("./signed-in.tsx")).SignedIn }))

/** A client of the console for an app. */
export const clientFor = (appId: string, { authAudience }: Settings): WebSignet =>
  configure({
    appId,
    authAudience,
    authBaseUrl: location.origin,
    providers: ["IDP_A", "IDP_B", "IDP_C"],
    callbackPath: `${base}/callback`,
    device: { label: "Signet console" },
  })

export function Root({ settings }: { settings: Settings }): ReactNode {
  const [appId, setAppId] = useState(() => readAppId(settings))
  const signet = useMemo(() => clientFor(appId, settings), [appId, settings])
  useEffect(() => () => signet.close(), [signet])
  const [failure, setFailure] = useState<unknown>()
  const isCallback = location.pathname === `${base}/callback`
  const [isFinishing, setFinishing] = useState(isCallback)
  useEffect(() => {
    if (!isFinishing) return
    signet
      .handleCallback()
      .then(
        (handled) => navigate((handled?.returnTo ?? base).slice(base.length), { replace: true }),
        (error: unknown) => {
          setFailure(error)
          navigate("", { replace: true })
        },
      )
      .finally(() => setFinishing(false))
  }, [signet, isFinishing])
  const choose = (next: string) => {
    writeAppId(settings, next)
    setAppId(next)
  }
  return (
    <SignetProvider signet={signet} key={appId}>
      {isFinishing ? <Loading /> : <Gate settings={settings} appId={appId} onChoose={choose} failure={failure} />}
    </SignetProvider>
  )
}

interface GateProps {
  readonly settings: Settings
  readonly appId: string
  readonly onChoose: (appId: string) => void
  readonly failure: unknown
}

function Gate({ settings, appId, onChoose, failure }: GateProps): ReactNode {
  const state = useSession()
  const sessionId = state.is === "signedIn" ? state.user.sessionId : undefined
  const shown = useRef(sessionId)
  useEffect(() => {
    // Another tab has signed in again, perhaps elsewhere: nothing that this page has read may stay.
    if (sessionId !== undefined && shown.current !== undefined && shown.current !== sessionId) location.reload()
    shown.current = sessionId
  }, [sessionId])
  if (state.is === "starting") return <Loading />
  if (state.is === "loggedOut") {
    return (
      <Welcome settings={settings} appId={appId} onChoose={onChoose}>
        <Failed error={failure} />
      </Welcome>
    )
  }
  return (
    <Suspense fallback={<Loading />}>
      <SignedIn settings={settings} appId={appId} user={state.user} />
    </Suspense>
  )
}
