import { Account } from "@signet/react/account"
import { type ReactNode, useEffect } from "react"
import { t } from "../text/screens.ts"

export function OwnAccount(): ReactNode {
  useEffect(() => {
    document.title = `${t.nav.account} · ${t.product}`
  }, [])
  return <Account />
}
