import { PatService } from "@signet/proto/auth/v1/pat_service"
import { type ReactNode, useState } from "react"
import { useService } from "../calls.ts"
import { Dialog, Failed, Loading, ShownOnce } from "../parts.tsx"
import { useSignet, useText } from "../provider.tsx"
import { claimsIn } from "../token-claims.ts"
import { useAction, useRead } from "../use-call.ts"
import { StepUp } from "./step-up.tsx"
import { useAccountText } from "./use-account-text.ts"

export interface NewPatProps {
  readonly onCreated: () => void
  readonly onClose: () => void
}

/** Creates a token for the auth service with some of the caller's own scopes, and shows it once. */
export function NewPat({ onCreated, onClose }: NewPatProps): ReactNode {
  const service = useService(PatService)
  const { session } = useSignet()
  const text = useText()
  const { pats } = useAccountText()
  const held = useRead(async () => claimsIn(await session.accessToken()))
  const [name, setName] = useState("")
  const [days, setDays] = useState(90)
  const [scopes, setScopes] = useState<ReadonlySet<string>>(new Set())
  const [token, setToken] = useState<string>()
  const create = useAction(async () => {
    const allowedAudiences = [held.data?.audience ?? ""]
    const made = await service.createPat({ name, allowedAudiences, scopes: [...scopes], expiresInDays: days })
    setToken(made.token)
    onCreated()
  })
  if (token !== undefined) {
    return (
      <Dialog title={pats.created} onClose={onClose}>
        <ShownOnce label={name} secret={token} />
        <div className="signet-actions">
          <button type="button" className="signet-button signet-primary" onClick={onClose}>
            {text.close}
          </button>
        </div>
      </Dialog>
    )
  }
  const toggle = (scope: string) => {
    const next = new Set(scopes)
    if (!next.delete(scope)) next.add(scope)
    setScopes(next)
  }
  return (
    <Dialog title={pats.createTitle} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          create.run()
        }}
      >
        <label className="signet-field">
          {pats.name}
          <input value={name} onChange={(event) => setName(event.target.value)} required maxLength={100} />
        </label>
        <label className="signet-field">
          {pats.days}
          <input
            type="number"
            min={1}
            max={365}
            value={days}
            onChange={(event) => setDays(Number(event.target.value))}
            required
          />
        </label>
        <fieldset className="signet-choices">
          <legend>{pats.scopes}</legend>
          {held.data === undefined && held.isPending && <Loading />}
          <Failed error={held.error} retry={held.reload} />
          {[...(held.data?.scopes ?? [])].sort().map((scope) => (
            <label key={scope}>
              <input type="checkbox" checked={scopes.has(scope)} onChange={() => toggle(scope)} />
              <code>{scope}</code>
            </label>
          ))}
        </fieldset>
        <Failed error={create.error} />
        <StepUp error={create.error} />
        <div className="signet-actions">
          <button type="button" className="signet-button" onClick={onClose}>
            {text.cancel}
          </button>
          <button
            type="submit"
            className="signet-button signet-primary"
            disabled={create.isPending || scopes.size === 0}
          >
            {pats.create}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
