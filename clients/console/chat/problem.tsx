import { isMessagingError } from "@signet/client-web/messaging"
import { Failed } from "@signet/react/core"
import type { ReactNode } from "react"
import { t } from "../text/chat.ts"

/** Says what failed: an error of the messenger in this browser, or a refusal of the service. */
export function Problem({ error }: { error: unknown }): ReactNode {
  if (!isMessagingError(error)) return <Failed error={error} />
  return (
    <div className="signet-failed" role="alert">
      <p className="signet-failed-what">{t.problems[error.reason] ?? error.message}</p>
      <p className="signet-failed-reason">{error.reason}</p>
    </div>
  )
}
