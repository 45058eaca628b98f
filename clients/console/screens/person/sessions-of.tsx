import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import type { Session } from "@signet/proto/auth/v1/records"
import { Time, useService } from "@signet/react/core"
import type { ReactNode } from "react"
import { useAccess } from "../../access.tsx"
import { changed, useList } from "../../ask.ts"
import { Named, useNames } from "../../names.tsx"
import { Id } from "../../page.tsx"
import { t } from "../../text/screens.ts"
import { t as text } from "../../text/sessions.ts"
import { RevokeList } from "./revoke-list.tsx"

/** A principal's sessions where the signed-in person administers, with their devices. */
export function SessionsOf({ principalId }: { principalId: string }): ReactNode {
  const { appId, scopes } = useAccess()
  const admin = useService(AppAuthService)
  const { listPrincipalSessions } = AppAuthService.method
  const list = useList(listPrincipalSessions, { appId, principalId }, ({ sessions }) => sessions)
  const placeName = useNames(
    appId,
    list.items.map(({ tenantId, contextId }) => contextId || tenantId),
  )
  const placeOf = (id: string) => (id === "" ? text.wholeApp : <Named id={id} nameOf={placeName} />)
  const revoke = async (what: Session | "all") => {
    if (what === "all") await admin.revokePrincipalSessions({ appId, principalId })
    else await admin.revokePrincipalSession({ appId, sessionId: what.id })
    await changed()
  }
  return (
    <RevokeList
      {...{ list, text, nameOf, revoke }}
      title={t.person.sessions}
      isActive={() => true}
      canWrite={scopes.has("auth.members.write")}
      columns={[
        {
          head: text.device,
          cell: (session) => (
            <>
              {nameOf(session)}
              {session.current && <span className="signet-tag">{text.thisOne}</span>}
              <Id of={session.id} />
            </>
          ),
        },
        { head: text.place, cell: ({ tenantId, contextId }) => placeOf(contextId || tenantId) },
        { head: text.method, cell: ({ amr }) => amr.join(", ") },
        { head: text.started, cell: ({ createdAt }) => <Time at={createdAt} /> },
        { head: text.lastUsed, cell: (session) => <Time at={session.lastRefreshedAt ?? session.createdAt} /> },
        { head: text.expires, cell: ({ idleExpiresAt }) => <Time at={idleExpiresAt} /> },
      ]}
    />
  )
}

const nameOf = ({ device }: Session): string =>
  [device?.label || device?.os || text.unnamed, device?.appVersion].filter(Boolean).join(" · ")
