import type { ReactNode } from "react"
import { LinkedAccounts } from "./linked-accounts.tsx"
import { OwnData } from "./own-data.tsx"
import { Pats } from "./pats.tsx"
import { Sessions } from "./sessions.tsx"
import { useAccountText } from "./use-account-text.ts"

/** The signed-in person's account: sessions, linked accounts, personal access tokens, export and deletion. */
export function Account(): ReactNode {
  const { title } = useAccountText()
  return (
    <div className="signet-account">
      <h1>{title}</h1>
      <Sessions />
      <LinkedAccounts />
      <Pats />
      <OwnData />
    </div>
  )
}
