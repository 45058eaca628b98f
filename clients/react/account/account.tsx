import type { ReactNode } from "react"
import { useText } from "../provider.tsx"
import { LinkedAccounts } from "./linked-accounts.tsx"
import { OwnData } from "./own-data.tsx"
import { Pats } from "./pats.tsx"
import { Sessions } from "./sessions.tsx"

/** The signed-in person's account: sessions, linked accounts, personal access tokens, export and deletion. */
export function Account(): ReactNode {
  const text = useText()
  return (
    <div className="signet-account">
      <h1>{text.account.title}</h1>
      <Sessions />
      <LinkedAccounts />
      <Pats />
      <OwnData />
    </div>
  )
}
