import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { type App, PlaceStatus } from "@signet/proto/auth/v1/apps"
import { enumName, Status, useService } from "@signet/react/core"
import type { ReactNode } from "react"
import { useAccess } from "../../access.tsx"
import { changed } from "../../ask.ts"
import { EditFailed } from "../../edit-failed.tsx"
import type { Fields } from "../../edits.ts"
import { Card, Facts, Field, words } from "../../page.tsx"
import { t } from "../../text/screens.ts"
import { useEdit } from "../../use-edit.ts"
import { PlaceActions } from "./place-actions.tsx"
import { usePlaceCounts } from "./place-counts.ts"

/** The fields of the form, as a person edits them. */
interface Form extends Fields {
  readonly name: string
  readonly audiences: string
  readonly allowedOrigins: string
  readonly allowedRedirectUris: string
  readonly signupEnabled: boolean
}

const formOf = ({ name, audiences, settings }: App): Form => ({
  name,
  audiences: audiences.join("\n"),
  allowedOrigins: settings?.allowedOrigins.join("\n") ?? "",
  allowedRedirectUris: settings?.allowedRedirectUris.join("\n") ?? "",
  signupEnabled: settings?.signupEnabled === true,
})

/** The field mask of each field. */
const paths: Readonly<Record<string, string>> = {
  name: "name",
  audiences: "audiences",
  allowedOrigins: "settings.allowed_origins",
  allowedRedirectUris: "settings.allowed_redirect_uris",
  signupEnabled: "settings.signup_enabled",
}

export function AppSettings({ app }: { app: App }): ReactNode {
  const { scopes, isInstallation } = useAccess()
  const canWrite = scopes.has("auth.apps.write")
  return (
    <>
      <Card
        title={t.app.tabs.settings}
        actions={isInstallation && canWrite && !app.installation && <AppActions app={app} />}
      >
        {canWrite ? (
          <Form app={app} key={app.id} />
        ) : (
          <Facts of={Object.entries(formOf(app)).map(([k, v]) => [k, String(v)])} />
        )}
      </Card>
      <Card title={t.app.scopes}>
        <div className="signet-table">
          <table>
            <thead>
              <tr>
                <th scope="col">{t.app.scope}</th>
                <th scope="col">{t.app.audience}</th>
                <th scope="col">{t.app.isDefault}</th>
                <th scope="col">{t.app.tabs.permissions}</th>
              </tr>
            </thead>
            <tbody>
              {app.scopes.map(({ key, audience, isDefault, permissions }) => (
                <tr key={key}>
                  <th scope="row">
                    <code>{key}</code>
                  </th>
                  <td>{audience}</td>
                  <td>{isDefault ? t.yes : ""}</td>
                  <td>{permissions.join(", ")}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </Card>
    </>
  )
}

function Form({ app }: { app: App }): ReactNode {
  const admin = useService(AppAuthService)
  const { form, edited, isSaved, save, set, reload } = useEdit(app, {
    formOf,
    read: async () => (await admin.getApp({ appId: app.id })).app ?? app,
    async save(opened, { name, audiences, allowedOrigins, allowedRedirectUris, signupEnabled }, fields) {
      const lists = { allowedOrigins: words(allowedOrigins), allowedRedirectUris: words(allowedRedirectUris) }
      const settings = { ...lists, signupEnabled }
      const request = { appId: app.id, app: { etag: opened.etag, name, audiences: words(audiences), settings } }
      const updateMask = { paths: fields.map((field) => paths[field] ?? field) }
      return (await admin.updateApp({ ...request, updateMask })).app ?? opened
    },
    onSaved: changed,
  })
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault()
        save.run()
      }}
    >
      <Field label={t.app.name} value={form.name} onChange={(name) => set({ name })} isRequired />
      <Field
        label={t.app.audiences}
        hint={t.onePerLine}
        rows={2}
        value={form.audiences}
        onChange={(audiences) => set({ audiences })}
      />
      <Field
        label={t.app.origins}
        hint={t.onePerLine}
        rows={4}
        value={form.allowedOrigins}
        onChange={(allowedOrigins) => set({ allowedOrigins })}
      />
      <Field
        label={t.app.redirects}
        hint={t.onePerLine}
        rows={4}
        value={form.allowedRedirectUris}
        onChange={(allowedRedirectUris) => set({ allowedRedirectUris })}
      />
      <label className="check">
        <input
          type="checkbox"
          checked={form.signupEnabled}
          onChange={(event) => set({ signupEnabled: event.target.checked })}
        />
        {t.app.signup}
      </label>
      <EditFailed error={save.error} onReload={() => void reload()} />
      <div className="signet-actions signet-actions-start">
        <button type="submit" className="signet-button signet-primary" disabled={save.isPending || edited.length === 0}>
          {t.save}
        </button>
        <span role="status">{isSaved ? t.saved : edited.length > 0 ? t.edit.unsaved(edited.length) : ""}</span>
      </div>
    </form>
  )
}

function AppActions({ app }: { app: App }): ReactNode {
  const admin = useService(AppAuthService)
  const request = { appId: app.id }
  const countsOf = usePlaceCounts(app.id)
  return (
    <span className="buttons">
      <Status name={enumName(PlaceStatus, app.status)} />
      <PlaceActions
        name={app.name}
        status={app.status}
        ends={t.app.ends}
        count={countsOf({})}
        suspend={() => admin.suspendApp(request)}
        resume={() => admin.resumeApp(request)}
        archive={() => admin.archiveApp(request)}
      />
    </span>
  )
}
