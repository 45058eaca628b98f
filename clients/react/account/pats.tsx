import { type Pat, Pat_Status, PatService } from "@signet/proto/auth/v1/pat_service"
import { type ReactNode, useState } from "react"
import { useService } from "../calls.ts"
import { List } from "../list.tsx"
import { Confirm, enumName, Status, Time } from "../parts.tsx"
import { useAction } from "../use-call.ts"
import { usePages } from "../use-pages.ts"
import { NewPat } from "./new-pat.tsx"
import { useAccountText } from "./use-account-text.ts"

/** The person's personal access tokens in this app. */
export function Pats(): ReactNode {
  const service = useService(PatService)
  const account = useAccountText()
  const list = usePages(["pats"], async (pageToken, signal) => {
    const page = await service.listPats({ pageToken, pageSize: 50 }, { signal })
    return { items: page.pats, nextPageToken: page.nextPageToken }
  })
  const [isCreating, setCreating] = useState(false)
  const [revoking, setRevoking] = useState<Pat>()
  const revoke = useAction(async ({ id }: Pat) => {
    await service.revokePat({ patId: id })
    setRevoking(undefined)
    list.reload()
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
      <List
        list={list}
        keyOf={({ id }) => id}
        none={account.pats.none}
        label={account.pats.title}
        columns={[
          {
            head: account.pats.name,
            cell: ({ name, last4 }) => (
              <>
                {name} <code>…{last4}</code>
              </>
            ),
          },
          { head: account.pats.scopes, cell: ({ scopes }) => scopes.join(", ") },
          { head: account.pats.expires, cell: ({ expiresAt }) => <Time at={expiresAt} /> },
          {
            head: account.pats.lastUsed,
            cell: ({ lastUsedAt }) => <Time at={lastUsedAt} none={account.pats.never} />,
          },
          { head: account.pats.status, cell: ({ status }) => <Status name={enumName(Pat_Status, status)} /> },
          {
            head: "",
            cell: (pat) =>
              pat.status === Pat_Status.ACTIVE && (
                <button type="button" className="signet-button" onClick={() => setRevoking(pat)}>
                  {account.pats.revoke}
                </button>
              ),
          },
        ]}
      />
      {isCreating && <NewPat onCreated={list.reload} onClose={() => setCreating(false)} />}
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
