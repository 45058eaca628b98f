import { AccountService } from "@signet/proto/auth/v1/account_service"
import { Provider, type ProviderAccount, ProviderAccount_Status } from "@signet/proto/auth/v1/records"
import { type ReactNode, useState } from "react"
import { upTo1000 } from "../amount.ts"
import { useService } from "../calls.ts"
import { Counted } from "../counted.tsx"
import { List } from "../list.tsx"
import { Confirm, enumName, Status } from "../parts.tsx"
import { asList, useAction, useRead } from "../use-call.ts"
import { StepUp } from "./step-up.tsx"
import { useAccountText } from "./use-account-text.ts"

/** The provider accounts that sign the person in. */
export function LinkedAccounts(): ReactNode {
  const service = useService(AccountService)
  const account = useAccountText()
  const read = useRead((signal) => service.listProviderAccounts({}, { signal }))
  const [unlinking, setUnlinking] = useState<ProviderAccount>()
  const unlink = useAction(async ({ id }: ProviderAccount) => {
    await service.unlinkProviderAccount({ providerAccountId: id })
    setUnlinking(undefined)
    read.reload()
  })
  const othersOf = ({ id }: ProviderAccount) =>
    read.data?.providerAccounts.filter((one) => one.id !== id && one.status === ProviderAccount_Status.LINKED).length ??
    0
  const sessionsOf = async ({ id }: ProviderAccount, signal: AbortSignal) => {
    const { credentials } = await service.listProviderAccounts({}, { signal })
    if (credentials === undefined) throw new Error("the service has not counted")
    return account.linked.ends(upTo1000(credentials.sessionsByProviderAccount[id] ?? 0))
  }
  const nameOf = ({ email, subject }: ProviderAccount) => email || subject
  return (
    <section className="signet-section">
      <h2>{account.linked.title}</h2>
      <p className="signet-about">{account.linked.about}</p>
      <List
        list={asList(read, ({ providerAccounts }) => providerAccounts)}
        keyOf={({ id }) => id}
        none=""
        label={account.linked.title}
        columns={[
          { head: account.linked.address, cell: nameOf },
          {
            head: account.linked.provider,
            cell: ({ provider, issuer }) => (
              <>
                {enumName(Provider, provider)} <span className="signet-muted">{issuer}</span>
              </>
            ),
          },
          {
            head: account.linked.status,
            cell: ({ status }) => <Status name={enumName(ProviderAccount_Status, status)} />,
          },
          {
            head: "",
            cell: (one) =>
              one.status === ProviderAccount_Status.LINKED && (
                <button type="button" className="signet-button" onClick={() => setUnlinking(one)}>
                  {account.linked.unlink}
                </button>
              ),
          },
        ]}
      />
      {unlinking && (
        <Confirm
          title={account.linked.unlinkTitle}
          about={
            <>
              <Counted
                about={account.linked.unlinkAbout(nameOf(unlinking), othersOf(unlinking))}
                count={(signal) => sessionsOf(unlinking, signal)}
              />
              <StepUp error={unlink.error} />
            </>
          }
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
