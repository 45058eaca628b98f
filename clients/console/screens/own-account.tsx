import { Account } from "@signet/react/account"
import { type ReactNode, useEffect, useRef } from "react"
import { t } from "../text/screens.ts"

export function OwnAccount(): ReactNode {
  const account = useRef<HTMLDivElement>(null)
  useEffect(() => {
    document.title = `${t.nav.account} · ${t.product}`
    // As on other screens: a screen reader announces the new page.
    const heading = account.current?.querySelector("h1")
    heading?.setAttribute("tabindex", "-1")
    heading?.focus({ preventScroll: true })
  }, [])
  return (
    <div ref={account}>
      <Account />
    </div>
  )
}
