import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { type Grant, Grant_Status } from "@signet/proto/auth/v1/grants"
import { Confirm, enumName, Status, Time, useAction, useService } from "@signet/react/core"
import { type ReactNode, useState } from "react"
import { useAccess } from "../../access.tsx"
import { changed, useList } from "../../ask.ts"
import { Named, type NameOf, useNames } from "../../names.tsx"
import { type Column, List } from "../../page.tsx"
import { navigate } from "../../router.tsx"
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
  const nameOf = useNames(
    appId,
    list.items.flatMap((one) => [one.tenantId, one.contextId, ...(principalId === "" ? [one.principalId] : [])]),
  )
  const principalColumn: Column<Grant> = {
    head: t.grant.principal,
    cell: ({ principalId: id }) => <Named {...{ id, nameOf }} to={`/people/${id}`} />,
  }
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
          { head: t.grant.where, cell: (grant) => <Where {...{ grant, nameOf }} /> },
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
          about={counted.grant(revoking.roleKey, whereOf(revoking, nameOf))}
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

/** The place of a grant: its resource, context and tenant. */
function Where({ grant, nameOf }: { grant: Grant; nameOf: NameOf }): ReactNode {
  const { tenantId, contextId, resource } = grant
  const places = [contextId, tenantId].filter(Boolean)
  return (
    <>
      {resource && <span className="line">{`${resource.type} ${resource.id}`}</span>}
      {places.map((id) => (
        <span key={id} className="line">
          <Named {...{ id, nameOf }} />
        </span>
      ))}
      {resource === undefined && places.length === 0 && t.grant.wholeApp}
    </>
  )
}

function whereOf({ tenantId, contextId, resource }: Grant, nameOf: NameOf): string {
  const place = [tenantId, contextId].filter(Boolean).map((id) => nameOf(id) ?? id)
  return [...(resource ? [`${resource.type} ${resource.id}`] : []), ...place].join(" · ") || t.grant.wholeApp
}
