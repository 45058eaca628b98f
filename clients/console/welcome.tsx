// The page for people who are not signed in.
import { Failed, SignIn, useAction } from "@signet/react/core"
import { type ReactNode, useRef, useState } from "react"
import { Mark } from "./mark.tsx"
import { Choice, Field } from "./page.tsx"
import { base } from "./router.tsx"
import { isAppId, parsePlace, readPlace, type Settings } from "./settings.ts"
import { t } from "./text/frame.ts"

interface WelcomeProps {
  readonly settings: Settings
  readonly appId: string
  readonly onChoose: (appId: string) => void
  readonly children: ReactNode
}

export function Welcome({ settings, appId, onChoose, children }: WelcomeProps): ReactNode {
  const here = location.pathname + location.search
  const returnTo = location.pathname === `${base}/callback` ? base : here
  const [as, setAs] = useState("administrator")
  const [inside, setInside] = useState(readPlace)
  const place = parsePlace(inside)
  const [invited, setInvited] = useState("")
  const isInside = inside !== "" || invited !== ""
  const code = useRef<string>(undefined)
  const enterInstallation = useAction(async () => {
    const made = await makeAdministrator("installation")
    code.current = made.invitationCode
    onChoose(made.appId)
  })
  const invitation = async () => {
    if (isInside) return invited.trim() || undefined
    if (!settings.isDevelopment || as === "member") return undefined
    const own = appId === settings.appId ? "development" : "installation"
    return code.current ?? (await makeAdministrator(own)).invitationCode
  }
  return (
    <main className="welcome">
      <div className="welcome-card">
        <Mark />
        <h1>{t.welcome.title}</h1>
        <p className="page-about">{t.welcome.about}</p>
        {children}
        {settings.isDevelopment ? (
          <>
            <Choice
              label={t.welcome.administer}
              value={appId === settings.appId ? "development" : "installation"}
              onChange={(value) => (value === "development" ? onChoose(settings.appId) : void enterInstallation.run())}
              of={[
                ["development", t.welcome.developmentApp],
                ["installation", t.welcome.installation],
              ]}
            />
            {!isInside && (
              <Choice
                label={t.welcome.as}
                value={as}
                onChange={setAs}
                of={[
                  ["administrator", t.welcome.administrator],
                  ["member", t.welcome.member],
                ]}
              />
            )}
            <Failed error={enterInstallation.error} />
          </>
        ) : (
          <OtherApp appId={appId} onChoose={onChoose} />
        )}
        <details className="welcome-inside" open={isInside}>
          <summary>{t.welcome.inside}</summary>
          <Field
            label={t.welcome.place}
            hint={t.welcome.placeHint}
            value={inside}
            onChange={(typed) => setInside(typed.trim())}
            placeholder="ten_…"
          />
          <Field
            label={t.welcome.invitation}
            hint={t.welcome.invitationHint}
            value={invited}
            onChange={setInvited}
            placeholder="sginv_…"
          />
        </details>
        {place ? (
          <SignIn returnTo={returnTo} invitation={invitation} {...place} />
        ) : (
          <p className="notice" role="alert">
            {t.welcome.noPlace}
          </p>
        )}
        {settings.isDevelopment && <p className="welcome-note">{t.welcome.development}</p>}
      </div>
    </main>
  )
}

/** Administrators of another app sign in there, if that app allows this page's origin. */
function OtherApp({ appId, onChoose }: Pick<WelcomeProps, "appId" | "onChoose">): ReactNode {
  const [typed, setTyped] = useState(appId)
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (isAppId(typed)) onChoose(typed)
      }}
    >
      <Field label={t.welcome.app} value={typed} onChange={setTyped} />
      {typed !== appId && (
        <button type="submit" className="signet-button">
          {t.welcome.choose}
        </button>
      )}
    </form>
  )
}

interface Made {
  readonly appId: string
  readonly invitationCode: string
}

/** The development profile makes anybody an administrator. */
async function makeAdministrator(app: "development" | "installation"): Promise<Made> {
  const response = await fetch(`/dev/console?app=${app}`, { method: "POST" })
  if (!response.ok) throw new Error(`/dev/console answered ${response.status}`)
  return response.json() as Promise<Made>
}
