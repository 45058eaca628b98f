import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { type Grant, Grant_Status } from "@signet/proto/auth/v1/grants"
import { Confirm, enumName, Status, Time, useAction, useService } from "@signet/react/core"
import { type ReactNode, useState } from "react"
import { useAccess } from "../../access.tsx"
import { changed, useList } from "../../ask.ts"
import { type Column, List } from "../../page.tsx"
import { Link, navigate } from "../../router.tsx"
import { t as counted } from "../../text/counted.ts"
import { t } from "../../text/screens.ts"
import { NewGrant } from "./new-grant.tsx"
import { RoleChoice } from "./role-choice.tsx"

interface GrantsProps {
  readonly appId: string
  readonly principalId?: string
  readonly roleId?: string
}

/** Grants of an app, of one principal or of one role. */
export function Grants({ appId, principalId = "", roleId = "" }: GrantsProps): ReactNode {
  const admin = useService(AppAuthService)
  const { scopes } = useAccess()
  const canWrite = scopes.has("auth.grants.write")
  const [isCreating, setCreating] = useState(false)
  const [revoking, setRevoking] = useState<Grant>()
  const request = { appId, principalId, roleId, pageSize: 50 }
  const list = useList(AppAuthService.method.listGrants, request, ({ grants }) => grants)
  const revoke = useAction(async ({ id }: Grant) => {
    await admin.revokeGrant({ appId, grantId: id })
    setRevoking(undefined)
    await changed()
  })
  return (
    <>
      {canWrite && (
        <div className="buttons">
          <button type="button" className="signet-button" onClick={() => setCreating(true)}>
            {t.grant.create}
          </button>
        </div>
      )}
      {principalId === "" && scopes.has("auth.roles.read") && (
        <div className="bar">
          <RoleChoice
            {...{ appId, value: roleId, none: t.grant.anyRole }}
            onChange={(chosen) => navigate(`/apps/${appId}/grants${chosen && `/${chosen}`}`)}
          />
        </div>
      )}
      <List
        list={list}
        keyOf={({ id }) => id}
        none={t.grant.none}
        label={t.grant.title}
        columns={[
          { head: t.grant.role, cell: ({ roleKey }) => <code>{roleKey}</code> },
          { head: t.grant.where, cell: whereOf },
          // The page of one principal names it in its heading.
          ...(principalId === "" ? [principalColumn] : []),
          { head: t.grant.status, cell: (grant) => <Status name={enumName(Grant_Status, grant.status)} /> },
          { head: t.grant.expires, cell: (grant) => <Time at={grant.expiresAt} none={t.grant.never} /> },
          { head: t.grant.reason, cell: ({ reason }) => reason },
          {
            head: "",
            cell: (grant) =>
              canWrite &&
              grant.status === Grant_Status.ACTIVE && (
                <button type="button" className="signet-button" onClick={() => setRevoking(grant)}>
                  {t.grant.revoke}
                </button>
              ),
          },
        ]}
      />
      {isCreating && <NewGrant {...{ appId, principalId, roleId }} onClose={() => setCreating(false)} />}
      {revoking && (
        <Confirm
          title={t.grant.revokeTitle}
          about={counted.grant(revoking.roleKey, whereOf(revoking))}
          action={t.grant.revoke}
          error={revoke.error}
          isPending={revoke.isPending}
          onConfirm={() => revoke.run(revoking)}
          onClose={() => {
            revoke.clear()
            setRevoking(undefined)
          }}
        />
      )}
    </>
  )
}

const principalColumn: Column<Grant> = {
  head: t.grant.principal,
  cell: (grant) => <Link to={`/people/${grant.principalId}`}>{grant.principalId}</Link>,
}

function whereOf({ tenantId, contextId, resource }: Grant): string {
  const place = [tenantId, contextId].filter(Boolean).join(" · ")
  if (resource) return [`${resource.type} ${resource.id}`, place].filter(Boolean).join(" · ")
  return place || t.grant.wholeApp
}
