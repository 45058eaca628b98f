import { Failed } from "@signet/react/core"
import type { ReactNode } from "react"
import { EditConflict } from "./edits.ts"
import { t } from "./text/screens.ts"

/** The labels of the forms' fields. */
const labels: Readonly<Record<string, string>> = {
  ...{ name: t.app.name, audiences: t.app.audiences, allowedOrigins: t.app.origins, signupEnabled: t.app.signup },
  ...{ allowedRedirectUris: t.app.redirects, redirectUris: t.app.redirects, scopes: t.invitation.scopes },
  ...{ displayName: t.connection.name, clientId: t.connection.clientId, description: t.role.description },
  ...{ permissions: t.role.permissions, inheritable: t.role.inherits },
}

/** A failed save. A conflict shows what somebody else has changed, and keeps what the person typed. */
export function EditFailed({ error, onReload }: { error: unknown; onReload: () => void }): ReactNode {
  if (!(error instanceof EditConflict)) return <Failed error={error} />
  return (
    <div className="signet-failed" role="alert">
      <p className="signet-failed-what">{t.edit.conflict}</p>
      <p>{t.edit.conflictNext}</p>
      <table className="changes">
        <thead>
          <tr>
            <th scope="col">{t.edit.field}</th>
            <th scope="col">{t.edit.opened}</th>
            <th scope="col">{t.edit.now}</th>
          </tr>
        </thead>
        <tbody>
          {error.conflicts.map(({ field, opened, now }) => (
            <tr key={field}>
              <th scope="row">{labels[field] ?? field}</th>
              <td>{opened || "–"}</td>
              <td>{now || "–"}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <button type="button" className="signet-button" onClick={onReload}>
        {t.edit.reload}
      </button>
    </div>
  )
}
