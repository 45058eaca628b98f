import type { ReactNode } from "react"
import { useAccess } from "./access.tsx"
import type { Refusal } from "./offer.ts"
import { Link } from "./router.tsx"
import { t } from "./text/frame.ts"

/** Says why a part of the console is not for the signed-in person, and who can change it. */
export function Refused({ why }: { why: Refusal }): ReactNode {
  const { tenantId, contextId } = useAccess()
  return (
    <div className="notice" role="note">
      {why.is === "scope" ? (
        <p>{t.refused.scope(why.scopes)}</p>
      ) : (
        <p>
          {t.refused.level[why.level]} {t.refused.here(contextId ?? tenantId)}
        </p>
      )}
      <p>
        <Link to="">{t.nav.overview}</Link>
      </p>
    </div>
  )
}
