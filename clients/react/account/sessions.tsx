import type { Session } from "@signet/proto/auth/v1/records"
import { SessionService } from "@signet/proto/auth/v1/session_service"
import { type ReactNode, useState } from "react"
import { useService } from "../calls.ts"
import { Confirm, Failed, Loading, Time } from "../parts.tsx"
import { useText } from "../provider.tsx"
import { useAction, useRead } from "../use-call.ts"

/** The person's active sessions in this app. */
export function Sessions(): ReactNode {
  const service = useService(SessionService)
  const text = useText()
  const { account } = text
  const read = useRead((signal) => service.listSessions({ pageSize: 100 }, { signal }))
  const [ending, setEnding] = useState<Session>()
  const end = useAction(async ({ id }: Session) => {
    await service.revokeSession({ sessionId: id })
    setEnding(undefined)
    read.reload()
  })
  const nameOf = ({ device }: Session) => device?.label || device?.os || account.sessions.unnamed
  return (
    <section className="signet-section">
      <h2>{account.sessions.title}</h2>
      <p className="signet-about">{account.sessions.about}</p>
      <Failed error={read.error} retry={read.reload} />
      {read.data === undefined && read.isPending && <Loading />}
      {read.data?.sessions.length === 0 && <p>{account.sessions.none}</p>}
      {read.data !== undefined && read.data.sessions.length > 0 && (
        <div className="signet-table">
          <table>
            <thead>
              <tr>
                <th scope="col">{account.sessions.device}</th>
                <th scope="col">{account.sessions.method}</th>
                <th scope="col">{account.sessions.started}</th>
                <th scope="col">{account.sessions.lastUsed}</th>
                <td />
              </tr>
            </thead>
            <tbody>
              {read.data.sessions.map((session) => (
                <tr key={session.id}>
                  <th scope="row">
                    {nameOf(session)}
                    {session.current && <span className="signet-tag">{account.sessions.thisOne}</span>}
                  </th>
                  <td>{session.amr.join(", ")}</td>
                  <td>
                    <Time at={session.createdAt} />
                  </td>
                  <td>
                    <Time at={session.lastRefreshedAt ?? session.createdAt} />
                  </td>
                  <td className="signet-row-actions">
                    <button type="button" className="signet-button" onClick={() => setEnding(session)}>
                      {account.sessions.revoke}
                    </button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
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
