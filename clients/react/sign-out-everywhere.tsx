// Its own module, which the button's menu loads: a page that only signs in does not need it.
import { SessionService } from "@signet/proto/auth/v1/session_service"
import type { ReactNode } from "react"
import { amountOf } from "./amount.ts"
import { useService } from "./calls.ts"
import { Counted } from "./counted.tsx"
import { Confirm } from "./parts.tsx"
import { useSignet, useText } from "./provider.tsx"
import { useAction } from "./use-call.ts"

/** Counts the person's sessions in the app, and ends them after a question. */
export function SignOutEverywhere({ onClose }: { onClose: () => void }): ReactNode {
  const { session } = useSignet()
  const service = useService(SessionService)
  const { user } = useText()
  const out = useAction(() => session.logoutAll())
  const count = async (signal: AbortSignal) => {
    const { sessions, nextPageToken } = await service.listSessions({ pageSize: 100 }, { signal })
    return user.sessionsEnd(amountOf(sessions, nextPageToken))
  }
  return (
    <Confirm
      title={user.everywhereTitle}
      about={<Counted about={user.everywhereAbout} count={count} />}
      action={user.signOutEverywhere}
      error={out.error}
      isPending={out.isPending}
      onConfirm={() => out.run()}
      onClose={onClose}
    />
  )
}
