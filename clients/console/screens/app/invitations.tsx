import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { Invitation_Status as Is } from "@signet/proto/auth/v1/memberships"
import { enumName, Failed, Status, Time, useAction, useService } from "@signet/react/core"
import type { ReactNode } from "react"
import { useAccess } from "../../access.tsx"
import { changed, useList } from "../../ask.ts"
import { Id, List } from "../../page.tsx"
import { t } from "../../text/screens.ts"

export function Invitations({ appId }: { appId: string }): ReactNode {
  const admin = useService(AppAuthService)
  const { scopes } = useAccess()
  const list = useList(["invitations", appId], async (pageToken, signal) => {
    const page = await admin.listInvitations({ appId, pageToken, pageSize: 50 }, { signal })
    return { items: page.invitations, nextPageToken: page.nextPageToken }
  })
  const revoke = useAction(async (invitationId: string) => {
    await admin.revokeInvitation({ appId, invitationId })
    await changed("invitations", appId)
  })
  return (
    <>
      <Failed error={revoke.error} />
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
            cell: ({ id, status }) =>
              status === Is.PENDING &&
              scopes.has("auth.members.write") && (
                <button
                  type="button"
                  className="signet-button"
                  disabled={revoke.isPending}
                  onClick={() => revoke.run(id)}
                >
                  {t.invitation.revoke}
                </button>
              ),
          },
        ]}
      />
    </>
  )
}
