import { type Pat, Pat_Status, PatService } from "@signet/proto/auth/v1/pat_service"
import { type ReactNode, useState } from "react"
import { useService } from "../calls.ts"
import { Confirm, enumName, Failed, Loading, Status, Time } from "../parts.tsx"
import { useText } from "../provider.tsx"
import { useAction, useRead } from "../use-call.ts"
import { NewPat } from "./new-pat.tsx"

/** The person's personal access tokens in this app. */
export function Pats(): ReactNode {
  const service = useService(PatService)
  const { account } = useText()
  const read = useRead((signal) => service.listPats({ pageSize: 100 }, { signal }))
  const [isCreating, setCreating] = useState(false)
  const [revoking, setRevoking] = useState<Pat>()
  const revoke = useAction(async ({ id }: Pat) => {
    await service.revokePat({ patId: id })
    setRevoking(undefined)
    read.reload()
  })
  return (
    <section className="signet-section">
      <h2>{account.pats.title}</h2>
      <p className="signet-about">{account.pats.about}</p>
      <div className="signet-actions signet-actions-start">
        <button type="button" className="signet-button" onClick={() => setCreating(true)}>
          {account.pats.create}
        </button>
      </div>
      <Failed error={read.error} retry={read.reload} />
      {read.data === undefined && read.isPending && <Loading />}
      {read.data?.pats.length === 0 && <p className="signet-muted">{account.pats.none}</p>}
      {read.data !== undefined && read.data.pats.length > 0 && (
        <div className="signet-table">
          <table>
            <thead>
              <tr>
                <th scope="col">{account.pats.name}</th>
                <th scope="col">{account.pats.scopes}</th>
                <th scope="col">{account.pats.expires}</th>
                <th scope="col">{account.pats.lastUsed}</th>
                <th scope="col">{account.pats.status}</th>
                <td />
              </tr>
            </thead>
            <tbody>
              {read.data.pats.map((pat) => (
                <tr key={pat.id}>
                  <th scope="row">
                    {pat.name} <code>…{pat.last4}</code>
                  </th>
                  <td>{pat.scopes.join(", ")}</td>
                  <td>
                    <Time at={pat.expiresAt} />
                  </td>
                  <td>
                    <Time at={pat.lastUsedAt} none={account.pats.never} />
                  </td>
                  <td>
                    <Status name={enumName(Pat_Status, pat.status)} />
                  </td>
                  <td className="signet-row-actions">
                    {pat.status === Pat_Status.ACTIVE && (
                      <button type="button" className="signet-button" onClick={() => setRevoking(pat)}>
                        {account.pats.revoke}
                      </button>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {isCreating && <NewPat onCreated={read.reload} onClose={() => setCreating(false)} />}
      {revoking && (
        <Confirm
          title={account.pats.revokeTitle}
          about={account.pats.revokeAbout(revoking.name)}
          action={account.pats.revoke}
          error={revoke.error}
          isPending={revoke.isPending}
          onConfirm={() => revoke.run(revoking)}
          onClose={() => {
            revoke.clear()
            setRevoking(undefined)
          }}
        />
      )}
    </section>
  )
}
