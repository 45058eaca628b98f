import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { Platform, Provider } from "@signet/proto/auth/v1/records"
import { Dialog, Failed, useAction, useService } from "@signet/react/core"
import { type ReactNode, useState } from "react"
import { changed } from "../../ask.ts"
import { Choice, Field, words } from "../../page.tsx"
import { t } from "../../text/screens.ts"

const presets = ["google", "entra", "okta", "auth0"] as const

/** Creates a web connection of a known provider: the preset fills in its addresses. */
export function NewConnection({ appId, onClose }: { appId: string; onClose: () => void }): ReactNode {
  const admin = useService(AppAuthService)
  const [preset, setPreset] = useState<string>("google")
  const [presetTenant, setPresetTenant] = useState("")
  const [connection, setConnection] = useState("")
  const [displayName, setDisplayName] = useState("")
  const [clientId, setClientId] = useState("")
  const [clientSecret, setClientSecret] = useState("")
  const [redirects, setRedirects] = useState("")
  const create = useAction(async () => {
    await admin.createProviderClient({
      appId,
      providerClient: {
        ...{ provider: Provider.IDP_A, platform: Platform.WEB, preset, presetTenant, connection, displayName },
        ...{ clientId, clientSecret, redirectUris: words(redirects), signupEnabled: true },
      },
    })
    await changed()
    onClose()
  })
  return (
    <Dialog title={t.connection.create} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          create.run()
        }}
      >
        <Choice label={t.connection.preset} value={preset} onChange={setPreset} of={presets.map((one) => [one, one])} />
        {preset !== "google" && (
          <Field label={t.connection.presetTenant} value={presetTenant} onChange={setPresetTenant} isRequired />
        )}
        <div className="pair">
          <Field label={t.connection.key} value={connection} onChange={setConnection} hint={t.connection.keyHint} />
          <Field label={t.connection.name} value={displayName} onChange={setDisplayName} />
        </div>
        <Field label={t.connection.clientId} value={clientId} onChange={setClientId} isRequired />
        <Field label={t.connection.secret} value={clientSecret} onChange={setClientSecret} />
        <Field
          label={t.app.redirects}
          hint={t.onePerLine}
          rows={2}
          value={redirects}
          onChange={setRedirects}
          isRequired
        />
        <Failed error={create.error} />
        <div className="signet-actions">
          <button type="button" className="signet-button" onClick={onClose}>
            {t.cancel}
          </button>
          <button type="submit" className="signet-button signet-primary" disabled={create.isPending}>
            {t.connection.create}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
