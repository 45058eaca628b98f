import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { type ReactNode, useState } from "react"
import { useService } from "./calls.ts"
import { englishMembers } from "./members-text.ts"
import { Dialog, Failed, ShownOnce } from "./parts.tsx"
import { useText } from "./provider.tsx"
import { useAction } from "./use-call.ts"

export interface InviteMemberProps {
  readonly appId: string
  readonly tenantId: string
  readonly contextId: string
  readonly onClose: () => void
}

/** Creates an invitation and shows its code once. */
export function InviteMember({ appId, tenantId, contextId, onClose }: InviteMemberProps): ReactNode {
  const service = useService(AppAuthService)
  const text = useText()
  const { members = englishMembers } = text
  const [scopes, setScopes] = useState("")
  const [hours, setHours] = useState(168)
  const [code, setCode] = useState<string>()
  const invite = useAction(async () => {
    const asked = { appId, tenantId, contextId, scopes: scopes.split(/\s+/).filter(Boolean), expiresInHours: hours }
    setCode((await service.inviteMember(asked)).code)
  })
  return (
    <Dialog title={members.inviteTitle} onClose={onClose}>
      {code === undefined ? (
        <form
          onSubmit={(event) => {
            event.preventDefault()
            invite.run()
          }}
        >
          <p className="signet-about">{members.inviteAbout}</p>
          <label className="signet-field">
            {members.inviteScopes}
            <textarea rows={3} value={scopes} onChange={(event) => setScopes(event.target.value)} spellCheck={false} />
          </label>
          <label className="signet-field">
            {members.inviteHours}
            <input
              type="number"
              min={1}
              max={720}
              value={hours}
              onChange={(event) => setHours(Number(event.target.value))}
            />
          </label>
          <Failed error={invite.error} />
          <div className="signet-actions">
            <button type="button" className="signet-button" onClick={onClose}>
              {text.cancel}
            </button>
            <button type="submit" className="signet-button signet-primary" disabled={invite.isPending}>
              {members.invite}
            </button>
          </div>
        </form>
      ) : (
        <>
          <ShownOnce label={members.inviteCode} secret={code} />
          <div className="signet-actions">
            <button type="button" className="signet-button signet-primary" onClick={onClose}>
              {text.close}
            </button>
          </div>
        </>
      )}
    </Dialog>
  )
}
