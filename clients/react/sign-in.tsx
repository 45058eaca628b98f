import { type ReactNode, useState } from "react"
import { Failed, Loading } from "./parts.tsx"
import { useSignet, useText } from "./provider.tsx"
import { useAction, useRead } from "./use-call.ts"

export interface SignInProps {
  /** The path after the sign-in, on this origin. Default: the current page. */
  readonly returnTo?: string
  /** Code of an invitation that the sign-in accepts; called when the person presses a button. */
  readonly invitation?: () => Promise<string | undefined>
  /** Signs in to this tenant instead of the app as a whole. */
  readonly tenantId?: string
  /** Signs in to this context. */
  readonly contextId?: string
  /** Asks the person again if the provider did so longer ago. Default: 30 days, so that the provider states the time. */
  readonly maxAgeSeconds?: number
}

const monthSeconds = 30 * 86_400

/** A button for each of the app's connections that a browser can be redirected to. */
export function SignIn(props: SignInProps): ReactNode {
  const { returnTo, invitation, tenantId, contextId, maxAgeSeconds = monthSeconds } = props
  const signet = useSignet()
  const text = useText()
  const options = useRead(() => signet.signInOptions())
  const [chosen, setChosen] = useState<string>()
  const begin = useAction(async (connection: string) => {
    setChosen(connection)
    const invitationCode = await invitation?.()
    await signet.signInWithRedirect({
      ...{ connection, maxAgeSeconds },
      ...(returnTo !== undefined && { returnTo }),
      ...(invitationCode !== undefined && { invitationCode }),
      ...(tenantId !== undefined && { tenantId }),
      ...(contextId !== undefined && { contextId }),
    })
  })
  if (options.data === undefined) {
    return options.isPending ? <Loading /> : <Failed error={options.error} retry={options.reload} />
  }
  const redirecting = options.data.filter(({ canRedirect }) => canRedirect)
  return (
    <div className="signet-sign-in">
      {redirecting.length === 0 && <p>{text.signIn.none}</p>}
      {redirecting.map(({ connection, displayName }, index) => (
        <button
          key={connection}
          type="button"
          className={`signet-button${index === 0 ? " signet-primary" : ""}`}
          disabled={begin.isPending}
          onClick={() => begin.run(connection)}
        >
          {begin.isPending && chosen === connection ? text.signIn.working : text.signIn.with(displayName)}
        </button>
      ))}
      <Failed error={begin.error} />
    </div>
  )
}
