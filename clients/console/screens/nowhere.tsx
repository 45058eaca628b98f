import type { ReactNode } from "react"
import { Page } from "../page.tsx"
import { Link } from "../router.tsx"
import { t } from "../text/screens.ts"

export function Nowhere(): ReactNode {
  return (
    <Page title={t.nowhere.title} about={t.nowhere.about}>
      <Link to="">{t.nav.overview}</Link>
    </Page>
  )
}
