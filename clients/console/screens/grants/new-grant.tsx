import { timestampFromDate } from "@bufbuild/protobuf/wkt"
import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { Dialog, Failed, useAction, useService } from "@signet/react/core"
import { type ReactNode, useState } from "react"
import { useAccess } from "../../access.tsx"
import { changed } from "../../ask.ts"
import { Field } from "../../page.tsx"
import { t } from "../../text/screens.ts"
import { RoleChoice } from "./role-choice.tsx"

interface NewGrantProps {
  readonly appId: string
  readonly principalId: string
  readonly roleId: string
  readonly onClose: () => void
}

export function NewGrant({ appId, principalId, roleId, onClose }: NewGrantProps): ReactNode {
  const admin = useService(AppAuthService)
  const [principal, setPrincipal] = useState(principalId)
  const [role, setRole] = useState(roleId)
  const { tenantId: own, contextId: ownContext } = useAccess()
  const [tenant, setTenant] = useState(own ?? "")
  const [context, setContext] = useState(ownContext ?? "")
  const [type, setType] = useState("")
  const [resource, setResource] = useState("")
  const [until, setUntil] = useState("")
  const [reason, setReason] = useState("")
  const create = useAction(async () => {
    await admin.createGrant({
      ...{ appId, principalId: principal, roleId: role, tenantId: tenant, contextId: context, reason },
      ...(resource !== "" && { resource: { type, id: resource } }),
      ...(until !== "" && { expiresAt: timestampFromDate(new Date(until)) }),
    })
    await changed()
    onClose()
  })
  return (
    <Dialog title={t.grant.createTitle} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          create.run()
        }}
      >
        <Field label={t.grant.principal} value={principal} onChange={setPrincipal} isRequired placeholder="prn_…" />
        <RoleChoice {...{ appId, value: role, none: t.choose }} onChange={setRole} />
        {own === undefined && (
          <Field
            label={t.grant.tenant}
            value={tenant}
            onChange={setTenant}
            placeholder="ten_…"
            hint={t.grant.tenantHint}
          />
        )}
        {ownContext === undefined && (
          <Field label={t.grant.context} value={context} onChange={setContext} placeholder="ctx_…" />
        )}
        <div className="pair">
          <Field label={t.grant.resourceType} value={type} onChange={setType} placeholder="note" />
          <Field label={t.grant.resourceId} value={resource} onChange={setResource} />
        </div>
        <Field label={t.grant.expires} type="datetime-local" value={until} onChange={setUntil} />
        <Field label={t.grant.reason} value={reason} onChange={setReason} />
        <Failed error={create.error} />
        <div className="signet-actions">
          <button type="button" className="signet-button" onClick={onClose}>
            {t.cancel}
          </button>
          <button type="submit" className="signet-button signet-primary" disabled={create.isPending || role === ""}>
            {t.grant.create}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
