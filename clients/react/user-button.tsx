import { lazy, type ReactNode, Suspense, useId, useState } from "react"
import { useSignet, useText } from "./provider.tsx"
import { useAction } from "./use-call.ts"
import { useSession } from "./use-session.ts"

const SignOutEverywhere = lazy(async () => ({
  default: (await import("./sign-out-everywhere.tsx")).SignOutEverywhere,
}))

export interface UserButtonProps {
  /** Called for "manage account". Without it the menu has no such entry. */
  readonly onManage?: () => void
}

/** The signed-in person, with a menu to manage the account and to sign out. Shows nothing while nobody is signed in. */
export function UserButton({ onManage }: UserButtonProps): ReactNode {
  const { session } = useSignet()
  const state = useSession()
  const text = useText()
  const id = useId()
  const out = useAction(() => session.logout())
  const [isAsking, setAsking] = useState(false)
  if (state.is !== "signedIn") return null
  const name = state.user.primaryEmail ?? state.user.principalId
  const close = () => document.getElementById(id)?.hidePopover()
  return (
    <div className="signet-user">
      <button type="button" className="signet-user-button" popoverTarget={id}>
        <span aria-hidden="true" className="signet-avatar">
          {name.charAt(0).toUpperCase()}
        </span>
        <span className="signet-user-name">{name}</span>
      </button>
      <div id={id} popover="auto" className="signet-menu">
        <p className="signet-menu-name">{name}</p>
        {onManage && (
          <button
            type="button"
            onClick={() => {
              close()
              onManage()
            }}
          >
            {text.user.manage}
          </button>
        )}
        <button type="button" disabled={out.isPending} onClick={() => out.run()}>
          {text.user.signOut}
        </button>
        <button
          type="button"
          onClick={() => {
            close()
            setAsking(true)
          }}
        >
          {text.user.signOutEverywhere}
        </button>
      </div>
      {isAsking && (
        <Suspense fallback={null}>
          <SignOutEverywhere onClose={() => setAsking(false)} />
        </Suspense>
      )}
    </div>
  )
}
