import { toJsonString } from "@bufbuild/protobuf"
import { AccountService, ExportIdentityResponseSchema } from "@signet/proto/auth/v1/account_service"
import { type ReactNode, useState } from "react"
import { upTo1000 } from "../amount.ts"
import { useService } from "../calls.ts"
import { Counted } from "../counted.tsx"
import { Confirm, dateOf, Failed } from "../parts.tsx"
import { useAction } from "../use-call.ts"
import { StepUp } from "./step-up.tsx"
import { useAccountText } from "./use-account-text.ts"

/** Export and deletion. */
export function OwnData(): ReactNode {
  const service = useService(AccountService)
  const account = useAccountText()
  const [isDeleting, setDeleting] = useState(false)
  const [erasedOn, setErasedOn] = useState<string>()
  const take = useAction(async () => {
    save(
      "signet-export.json",
      toJsonString(ExportIdentityResponseSchema, await service.exportIdentity({}), { prettySpaces: 2 }),
    )
  })
  const remove = useAction(async () => {
    const { deletesAt } = await service.requestIdentityDeletion({})
    setErasedOn(deletesAt && dateOf(deletesAt).toLocaleDateString())
    setDeleting(false)
  })
  const count = async (signal: AbortSignal) => {
    const { credentials } = await service.listProviderAccounts({}, { signal })
    if (credentials === undefined) throw new Error("the service has not counted")
    return account.data.ends(upTo1000(credentials.sessions), upTo1000(credentials.pats))
  }
  return (
    <section className="signet-section">
      <h2>{account.data.title}</h2>
      <p className="signet-about">{account.data.about}</p>
      <div className="signet-actions signet-actions-start">
        <button type="button" className="signet-button" disabled={take.isPending} onClick={() => take.run()}>
          {account.data.export}
        </button>
        <button type="button" className="signet-button signet-danger" onClick={() => setDeleting(true)}>
          {account.data.delete}
        </button>
      </div>
      <Failed error={take.error} />
      <StepUp error={take.error} />
      {erasedOn !== undefined && <p role="status">{account.data.deleted(erasedOn)}</p>}
      {isDeleting && (
        <Confirm
          title={account.data.deleteTitle}
          about={
            <>
              <Counted about={account.data.deleteAbout} count={count} />
              <StepUp error={remove.error} />
            </>
          }
          word={account.data.deleteWord}
          action={account.data.delete}
          error={remove.error}
          isPending={remove.isPending}
          onConfirm={() => remove.run()}
          onClose={() => {
            remove.clear()
            setDeleting(false)
          }}
        />
      )}
    </section>
  )
}

/** Lets the browser save a file. */
function save(name: string, content: string): void {
  const url = URL.createObjectURL(new Blob([content], { type: "application/json" }))
  const link = document.createElement("a")
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
