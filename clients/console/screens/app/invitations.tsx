import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { type Invitation, Invitation_Status as Is } from "@signet/proto/auth/v1/memberships"
import { Confirm, enumName, Status, Time, useAction, useService } from "@signet/react/core"
import { type ReactNode, useState } from "react"
import { useAccess } from "../../access.tsx"
import { changed, useList } from "../../ask.ts"
import { Id, List } from "../../page.tsx"
import { t as counted } from "../../text/counted.ts"
import { t } from "../../text/screens.ts"

export function Invitations({ appId }: { appId: string }): ReactNode {
  const admin = useService(AppAuthService)
  const { scopes } = useAccess()
  const { listInvitations } = AppAuthService.method
  const list = useList(listInvitations, { appId, pageSize: 50 }, ({ invitations }) => invitations)
  const [revoking, setRevoking] = useState<Invitation>()
  const revoke = useAction(async ({ id: invitationId }: Invitation) => {
    await admin.revokeInvitation({ appId, invitationId })
    setRevoking(undefined)
    await changed()
  })
  return (
    <>
      <List
        list={list}
        keyOf={({ id }) => id}
        none={t.invitation.none}
        label={t.app.tabs.invitations}
        columns={[
          { head: t.invitation.id, cell: ({ id }) => <Id of={id} /> },
          { head: t.app.status, cell: ({ status }) => <Status name={enumName(Is, status)} /> },
          { head: t.invitation.scopes, cell: ({ scopes: of }) => of.join(", ") },
          { head: t.invitation.expires, cell: ({ expiresAt }) => <Time at={expiresAt} /> },
          {
            head: "",
            cell: (one) =>
              one.status === Is.PENDING &&
              scopes.has("auth.members.write") && (
                <button type="button" className="signet-button" onClick={() => setRevoking(one)}>
                  {t.invitation.revoke}
                </button>
              ),
          },
        ]}
      />
      {revoking && (
        <Confirm
          title={counted.invitationTitle}
          about={counted.invitation(revoking.id)}
          action={t.invitation.revoke}
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
