import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import type { ProviderClient } from "@signet/proto/auth/v1/provider_clients"
import { useService } from "@signet/react/core"
import type { ReactNode } from "react"
import { changed } from "../../ask.ts"
import { EditDialog } from "../../edit-dialog.tsx"
import { Field, words } from "../../page.tsx"
import { t } from "../../text/screens.ts"
import { useEdit } from "../../use-edit.ts"

const formOf = ({ displayName, clientId, redirectUris, signupEnabled }: ProviderClient) => ({
  displayName,
  clientId,
  redirectUris: redirectUris.join("\n"),
  signupEnabled,
  // The service never returns it. Empty keeps the stored one.
  clientSecret: "",
})

/** The field mask of each field. */
const paths = {
  displayName: "display_name",
  clientId: "client_id",
  redirectUris: "redirect_uris",
  signupEnabled: "signup_enabled",
  clientSecret: "client_secret",
} as const

interface EditConnectionProps {
  readonly appId: string
  readonly connection: ProviderClient
  readonly name: string
  readonly onClose: () => void
}

export function EditConnection({ appId, connection, name, onClose }: EditConnectionProps): ReactNode {
  const admin = useService(AppAuthService)
  const request = { appId, providerClientId: connection.id }
  const edit = useEdit(connection, {
    formOf,
    read: async () => (await admin.getProviderClient(request)).providerClient ?? connection,
    async save(opened, form, fields) {
      const providerClient = { ...form, redirectUris: words(form.redirectUris), etag: opened.etag }
      const updateMask = { paths: fields.map((field) => paths[field]) }
      return (await admin.updateProviderClient({ ...request, providerClient, updateMask })).providerClient ?? opened
    },
    async onSaved() {
      await changed()
      onClose()
    },
  })
  const { form, set } = edit
  return (
    <EditDialog {...{ edit, onClose }} title={t.edit.of(name)}>
      <Field label={t.connection.name} value={form.displayName} onChange={(displayName) => set({ displayName })} />
      <Field
        label={t.connection.clientId}
        value={form.clientId}
        onChange={(clientId) => set({ clientId })}
        isRequired
      />
      <Field
        label={t.edit.newSecret}
        hint={t.edit.newSecretHint}
        value={form.clientSecret}
        onChange={(clientSecret) => set({ clientSecret })}
      />
      <Field
        label={t.app.redirects}
        hint={t.onePerLine}
        rows={2}
        value={form.redirectUris}
        onChange={(redirectUris) => set({ redirectUris })}
      />
      <label className="check">
        <input
          type="checkbox"
          checked={form.signupEnabled}
          onChange={(event) => set({ signupEnabled: event.target.checked })}
        />
        {t.edit.connectionSignup}
      </label>
    </EditDialog>
  )
}
