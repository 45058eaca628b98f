import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import type { Session } from "@signet/proto/auth/v1/records"
import { Confirm, Time, useAction, useService } from "@signet/react/core"
import { type ReactNode, useState } from "react"
import { useAccess } from "../access.tsx"
import { changed, useList } from "../ask.ts"
import { Card, Id, List } from "../page.tsx"
import { t } from "../text/screens.ts"
import { t as text } from "../text/sessions.ts"

/** A principal's sessions where the signed-in person administers, with their devices. */
export function SessionsOf({ principalId }: { principalId: string }): ReactNode {
  const { appId, scopes } = useAccess()
  const admin = useService(AppAuthService)
  const key = ["sessions", appId, principalId]
  const list = useList(key, async (pageToken, signal) => {
    const page = await admin.listPrincipalSessions({ appId, principalId, pageToken }, { signal })
    return { items: page.sessions, nextPageToken: page.nextPageToken }
  })
  const [ending, setEnding] = useState<Session | "all">()
  const revoke = useAction(async (what: Session | "all") => {
    if (what === "all") await admin.revokePrincipalSessions({ appId, principalId })
    else await admin.revokePrincipalSession({ appId, sessionId: what.id })
    setEnding(undefined)
    await Promise.all([changed(...key), changed("audit")])
  })
  const canWrite = scopes.has("auth.members.write")
  const count = list.items.length
  return (
    <Card
      title={t.person.sessions}
      actions={
        canWrite &&
        count > 0 && (
          <button type="button" className="signet-button signet-danger" onClick={() => setEnding("all")}>
            {text.endAll}
          </button>
        )
      }
    >
      <List
        list={list}
        keyOf={({ id }) => id}
        none={text.none}
        label={t.person.sessions}
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
          { head: text.place, cell: ({ tenantId, contextId }) => contextId || tenantId || text.wholeApp },
          { head: text.method, cell: ({ amr }) => amr.join(", ") },
          { head: text.started, cell: ({ createdAt }) => <Time at={createdAt} /> },
          { head: text.lastUsed, cell: (session) => <Time at={session.lastRefreshedAt ?? session.createdAt} /> },
          { head: text.expires, cell: ({ idleExpiresAt }) => <Time at={idleExpiresAt} /> },
          {
            head: "",
            cell: (session) =>
              canWrite && (
                <button type="button" className="signet-button" onClick={() => setEnding(session)}>
                  {text.end}
                </button>
              ),
          },
        ]}
      />
      {ending && (
        <Confirm
          title={ending === "all" ? text.endAllTitle : text.endTitle}
          about={ending === "all" ? text.endAllAbout(count, list.hasMore) : text.endAbout(nameOf(ending))}
          action={ending === "all" ? text.endAll : text.end}
          error={revoke.error}
          isPending={revoke.isPending}
          onConfirm={() => revoke.run(ending)}
          onClose={() => {
            revoke.clear()
            setEnding(undefined)
          }}
        />
      )}
    </Card>
  )
}

const nameOf = ({ device }: Session): string =>
  [device?.label || device?.os || text.unnamed, device?.appVersion].filter(Boolean).join(" · ")
