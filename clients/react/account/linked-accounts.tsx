import { AccountService } from "@signet/proto/auth/v1/account_service"
import { Provider, type ProviderAccount, ProviderAccount_Status } from "@signet/proto/auth/v1/records"
import { type ReactNode, useState } from "react"
import { useService } from "../calls.ts"
import { Confirm, enumName, Failed, Loading, Status } from "../parts.tsx"
import { useText } from "../provider.tsx"
import { useAction, useRead } from "../use-call.ts"

/** The provider accounts that sign the person in. */
export function LinkedAccounts(): ReactNode {
  const service = useService(AccountService)
  const { account } = useText()
  const read = useRead((signal) => service.listProviderAccounts({}, { signal }))
  const [unlinking, setUnlinking] = useState<ProviderAccount>()
  const unlink = useAction(async ({ id }: ProviderAccount) => {
    await service.unlinkProviderAccount({ providerAccountId: id })
    setUnlinking(undefined)
    read.reload()
  })
  const nameOf = ({ email, subject }: ProviderAccount) => email || subject
  return (
    <section className="signet-section">
      <h2>{account.linked.title}</h2>
      <p className="signet-about">{account.linked.about}</p>
      <Failed error={read.error} retry={read.reload} />
      {read.data === undefined && read.isPending && <Loading />}
      {read.data !== undefined && (
        <div className="signet-table">
          <table>
            <thead>
              <tr>
                <th scope="col">{account.linked.address}</th>
                <th scope="col">{account.linked.provider}</th>
                <th scope="col">{account.linked.status}</th>
                <td />
              </tr>
            </thead>
            <tbody>
              {read.data.providerAccounts.map((one) => (
                <tr key={one.id}>
                  <th scope="row">{nameOf(one)}</th>
                  <td>
                    {enumName(Provider, one.provider)} <span className="signet-muted">{one.issuer}</span>
                  </td>
                  <td>
                    <Status name={enumName(ProviderAccount_Status, one.status)} />
                  </td>
                  <td className="signet-row-actions">
                    {one.status === ProviderAccount_Status.LINKED && (
                      <button type="button" className="signet-button" onClick={() => setUnlinking(one)}>
                        {account.linked.unlink}
                      </button>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {unlinking && (
        <Confirm
          title={account.linked.unlinkTitle}
          about={account.linked.unlinkAbout(nameOf(unlinking))}
          action={account.linked.unlink}
          error={unlink.error}
          isPending={unlink.isPending}
          onConfirm={() => unlink.run(unlinking)}
          onClose={() => {
            unlink.clear()
            setUnlinking(undefined)
          }}
        />
      )}
    </section>
  )
}
