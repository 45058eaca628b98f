import type { Session } from "@signet/proto/auth/v1/records"
import { SessionService } from "@signet/proto/auth/v1/session_service"
import { type ReactNode, useState } from "react"
import { useService } from "../calls.ts"
import { List } from "../list.tsx"
import { Confirm, Time } from "../parts.tsx"
import { useAction } from "../use-call.ts"
import { usePages } from "../use-pages.ts"
import { useAccountText } from "./use-account-text.ts"

/** The person's active sessions in this app. */
export function Sessions(): ReactNode {
  const service = useService(SessionService)
  const account = useAccountText()
  const list = usePages(["sessions"], async (pageToken, signal) => {
    const page = await service.listSessions({ pageToken, pageSize: 50 }, { signal })
    return { items: page.sessions, nextPageToken: page.nextPageToken }
  })
  const [ending, setEnding] = useState<Session>()
  const end = useAction(async ({ id }: Session) => {
    await service.revokeSession({ sessionId: id })
    setEnding(undefined)
    list.reload()
  })
  const nameOf = ({ device }: Session) => device?.label || device?.os || account.sessions.unnamed
  return (
    <section className="signet-section">
      <h2>{account.sessions.title}</h2>
      <p className="signet-about">{account.sessions.about}</p>
      <List
        list={list}
        keyOf={({ id }) => id}
        none={account.sessions.none}
        label={account.sessions.title}
        columns={[
          {
            head: account.sessions.device,
            cell: (session) => (
              <>
                {nameOf(session)}
                {session.current && <span className="signet-tag">{account.sessions.thisOne}</span>}
              </>
            ),
          },
          { head: account.sessions.method, cell: ({ amr }) => amr.join(", ") },
          { head: account.sessions.started, cell: ({ createdAt }) => <Time at={createdAt} /> },
          {
            head: account.sessions.lastUsed,
            cell: (session) => <Time at={session.lastRefreshedAt ?? session.createdAt} />,
          },
          {
            head: "",
            cell: (session) => (
              <button type="button" className="signet-button" onClick={() => setEnding(session)}>
                {account.sessions.revoke}
              </button>
            ),
          },
        ]}
      />
      {ending && (
        <Confirm
          title={account.sessions.revokeTitle}
          about={account.sessions.revokeAbout(nameOf(ending))}
          action={account.sessions.revoke}
          error={end.error}
          isPending={end.isPending}
          onConfirm={() => end.run(ending)}
          onClose={() => {
            end.clear()
            setEnding(undefined)
          }}
        />
      )}
    </section>
  )
}
